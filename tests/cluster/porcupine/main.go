// Judges a history of history.py by Porcupine, key by key: a second opinion beside judge_history.
//
//	porcupine FILE    exit code 0: linearizable, 1: not, 2: not a history, 3: no contradiction, but some key took too long
//
// It leaves out operations that are known not to have been done. Operations of unknown outcome may take effect at any
// time after their invocation; at the very end is as good as never. No number is written twice, so it judges a cas
// by the number that its unique stood for, not by the unique.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const timePerKey = 60 * time.Second

type entry struct {
	Client   int     `json:"client"`
	Key      string  `json:"key"`
	Op       string  `json:"op"`
	Value    uint64  `json:"value"`
	Expect   uint64  `json:"expect"`
	Invoked  int64   `json:"invoked"`
	Returned int64   `json:"returned"`
	Outcome  string  `json:"outcome"`
	Result   string  `json:"result"`
	Number   *uint64 `json:"number"`
}

// The state of a key.
type item struct {
	there  bool
	number uint64
}

// after returns the item that an operation leaves, and the result that its client gets.
func after(before item, op entry) (item, string) {
	if !before.there && op.Op != "set" {
		return before, "missing"
	}
	switch op.Op {
	case "set":
		return item{true, op.Value}, "done"
	case "cas":
		if before.number != op.Expect {
			return before, "exists"
		}
		return item{true, op.Value}, "done"
	case "incr":
		return item{true, before.number + op.Value}, "done"
	case "delete":
		return item{}, "done"
	}
	return before, "done" // get
}

func step(state, input, _ interface{}) (bool, interface{}) {
	op := input.(entry)
	next, told := after(state.(item), op)
	if op.Outcome == "unknown" {
		return true, next
	}
	tells := told == "done" && op.Number != nil && (op.Op == "get" || op.Op == "incr")
	return told == op.Result && (!tells || next.number == *op.Number), next
}

func read(path string) (map[string][]porcupine.Operation, int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	keys := map[string][]porcupine.Operation{}
	unknown := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var op entry
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, 0, err
		}
		switch op.Outcome {
		case "ok":
		case "unknown":
			op.Returned = math.MaxInt64
			if op.Op == "get" {
				continue
			}
			unknown++
		case "failed":
			continue
		default:
			return nil, 0, fmt.Errorf("no outcome: %s", lines.Text())
		}
		keys[op.Key] = append(keys[op.Key],
			porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Invoked, Return: op.Returned})
	}
	return keys, unknown, lines.Err()
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: porcupine FILE")
		os.Exit(2)
	}
	keys, unknown, err := read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "porcupine:", err)
		os.Exit(2)
	}
	model := porcupine.Model{Init: func() interface{} { return item{} }, Step: step}
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	sort.Strings(names)
	operations, wrong, late := 0, 0, 0
	for _, name := range names {
		operations += len(keys[name])
		switch porcupine.CheckOperationsTimeout(model, keys[name], timePerKey) {
		case porcupine.Illegal:
			wrong++
			fmt.Println("key", name, "is not linearizable")
		case porcupine.Unknown:
			late++
			fmt.Println("key", name, "took too long")
		}
	}
	fmt.Printf("%d keys, %d operations, %d of unknown outcome: %d keys are not linearizable, %d took too long\n",
		len(keys), operations, unknown, wrong, late)
	if wrong != 0 {
		os.Exit(1)
	}
	if late != 0 {
		os.Exit(3)
	}
}
