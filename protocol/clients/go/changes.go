package mxkv

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// ChangeKind is what happened to an item, or to all items of a range.
type ChangeKind int

// Kinds of changes. The last three are of all items of a range.
const (
	ChangePut ChangeKind = iota + 1
	ChangeDeleted
	ChangeEvicted
	ChangeExpired
	ChangeTouched
	ChangeRangeDeleted
	ChangeFlushed
	ChangeRangeTouched
)

const kindLetters = "?pdext"

func (k ChangeKind) String() string {
	names := []string{"", "put", "deleted", "evicted", "expired", "touched", "range deleted", "flushed", "range touched"}
	if k < ChangePut || int(k) >= len(names) {
		return fmt.Sprintf("ChangeKind(%d)", int(k))
	}
	return names[k]
}

// Change is a change of the item Key, or of all items of Range.
type Change struct {
	Kind   ChangeKind
	Key    string
	Range  Range
	Value  []byte        // of a put with Values; nil without, or if it is above the server's watch.value_bytes
	Size   int64         // bytes of the value of a put with Details, or of a value that is too large to be sent
	Flags  uint32        // of a put with Values or Details
	Unique uint64        // of a put with Details
	TTL    time.Duration // when the line was sent: of a put with Details, and of touched items; negative for ever
	Delay  time.Duration // flushed: so much later
	Stale  bool          // a put: the item was marked as stale
}

// Changes are in the order in which they happened to each key.
type Changes struct {
	Changes []Change
	// Position is not empty if all changes up to this point were sent. Together they make one consistent state, and a watch may go on
	// behind it. If it is empty, changes of the same moment follow.
	Position string

	mark   string // of the request for a mark that this answers
	marked bool
}

// WatchOption says what a watch sends, and where it begins.
type WatchOption func(*watching)

type watching struct {
	values, details bool
	kinds           string
	position        *string
}

// Values sends values and flags.
func Values() WatchOption { return func(w *watching) { w.values = true } }

// Details sends uniques, flags, lengths and times to live.
func Details() WatchOption { return func(w *watching) { w.details = true } }

// Kinds sends these kinds only; they are kinds of single items. Deletes of ranges come with ChangeDeleted, touches with ChangeTouched.
func Kinds(kinds ...ChangeKind) WatchOption {
	return func(w *watching) {
		w.kinds = ""
		for _, kind := range kinds {
			letter := "?"
			if kind > 0 && int(kind) < len(kindLetters) {
				letter = kindLetters[kind : kind+1]
			}
			w.kinds += letter
		}
		if len(kinds) == 0 {
			w.kinds = "?"
		}
	}
}

// From goes on behind the position of an earlier watch.
func From(position string) WatchOption { return func(w *watching) { w.position = &position } }

func (w watching) line(where Range) (string, error) {
	line := "mw " + where.words(false) + " Ow"
	if w.values {
		line += " v"
	}
	if w.details {
		line += " c f s t"
	} else if w.values {
		line += " f"
	}
	if strings.Contains(w.kinds, "?") {
		return "", wrong("Kinds takes kinds of single items")
	}
	if w.kinds != "" {
		line += " M" + w.kinds
	}
	if w.position != nil {
		if *w.position == "" || needsBase64(*w.position) {
			return "", wrong("a position is a word without blanks and control bytes")
		}
		line += " G" + *w.position
	}
	return line + "\r\n", nil
}

// begun returns the position behind which a watch begins, from the answer to its line.
func begun(answer reply) (string, error) {
	if answer.words[0] == "EX" {
		if err := overOf(answer); err != nil {
			return "", err
		}
	}
	position, told := answer.flag("G")
	if answer.words[0] != "HD" || !told || position == "" {
		return "", unexpected(answer)
	}
	return position, nil
}

// section reads the next changes. ErrTooOld, ErrHistoryLost and ErrConnection tell that the watch is over.
func (r replies) section() (Changes, error) {
	for {
		got, err := r.next()
		if err != nil {
			return Changes{}, err
		}
		switch {
		case got.words[0] == "WS":
			return r.restOfSection()
		case got.words[0] == "WO":
			if err := overOf(got); err != nil {
				return Changes{}, err
			}
			return Changes{}, fmt.Errorf("%w: the server ends", ErrConnection)
		case strings.HasPrefix(got.words[0], "W"):
			return Changes{}, unexpected(got)
		}
		// The answer to a request for a mark.
	}
}

func (r replies) restOfSection() (found Changes, err error) {
	for {
		got, err := r.next()
		if err != nil {
			return found, err
		}
		switch got.words[0] {
		case "WE":
			var positioned bool
			found.Position, positioned = got.flag("G")
			found.mark, found.marked = got.flag("m")
			if positioned && found.Position == "" {
				return found, unexpected(got)
			}
			return found, nil
		case "WB": // an application that wants batches whole applies all changes up to a position at once
		default:
			change, err := changeOf(got)
			if err != nil {
				return found, err
			}
			found.Changes = append(found.Changes, change)
		}
	}
}

var reasons = map[string]ChangeKind{"WG d": ChangeDeleted, "WG e": ChangeEvicted, "WG x": ChangeExpired, "WX d": ChangeRangeDeleted,
	"WX f": ChangeFlushed}

// changeOf returns the change that a line of a section stands for.
func changeOf(got reply) (change Change, err error) {
	reason, _ := got.flag("R")
	change.Kind = reasons[got.words[0]+" "+reason]
	switch got.words[0] {
	case "WP", "WV":
		item, err := itemOf(got, "")
		if err != nil {
			return change, err
		}
		_, change.Stale = got.flag("X")
		change.Kind, change.Key, change.Value, change.Flags = ChangePut, item.Key, item.Value, item.Flags
		change.Unique, change.TTL = item.Unique, item.TTL
		change.Size, err = got.number("s")
		return change, err
	case "WG", "WT":
		if got.words[0] == "WT" {
			change.Kind = ChangeTouched
		}
		change.Key, err = got.key()
	case "WX", "WY":
		if got.words[0] == "WY" {
			change.Kind = ChangeRangeTouched
		}
		change.Range, err = rangeOf(got)
	}
	if err != nil {
		return change, err
	}
	seconds, err := got.number("t")
	switch change.Kind {
	case 0:
		err = unexpected(got)
	case ChangeFlushed:
		change.Delay = time.Duration(seconds) * time.Second
	case ChangeTouched, ChangeRangeTouched:
		change.TTL = -1
		if seconds >= 0 {
			change.TTL = time.Duration(seconds) * time.Second
		}
	}
	return change, err
}

func rangeOf(got reply) (Range, error) {
	start, err := got.key()
	if err != nil {
		return Range{}, err
	}
	stop, _ := got.flag("H")
	if _, encoded := got.flag("b"); encoded {
		bytes, err := base64.StdEncoding.DecodeString(stop)
		if err != nil {
			return Range{}, unexpected(got)
		}
		stop = string(bytes)
	}
	found := Between(start, stop)
	_, found.excludeStart = got.flag("o")
	_, found.includeStop = got.flag("i")
	return found, nil
}

// overOf returns the error of EX or WO, nil if the server ends, and the watch may go on when it is back.
func overOf(got reply) error {
	if len(got.words) > 2 {
		switch got.words[2] {
		case "old":
			return &Error{"", -1, []error{ErrTooOld}}
		case "lost":
			return &Error{"", -1, []error{ErrHistoryLost}}
		case "ends":
			return nil
		}
	}
	return unexpected(got)
}
