package mxkv

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const sectionLines = "HD Ow\r\nWS Ow\r\nWB 2\r\nWV 6 kuser:1 c17 f5 s6 t-1\r\n\r\nWE O\r\nWP ka2V5IA== b c18 t30 X\r\nWE Ow\r\n" +
	"WS Ow\r\nWG ka Rd\r\nWG ka2V5IA== b Re\r\nWG kb Rx\r\nWT ka t9\r\nWT kb t-1\r\nWX ka Hc o i Rd\r\nWX k Rf t2\r\n" +
	"WX kYSA= HYyA= b Rf\r\nWY kuser: Huser; t5\r\nWP klarge s70000\r\nWE Ow G9c41e07a55d2b813.1042 m7\r\nWO Ow ends G1.2\r\n"

var sectionChanges = []Change{
	{Kind: ChangePut, Key: "user:1", Value: []byte("\r\nWE O"), Size: 6, Flags: 5, Unique: 17, TTL: -1},
	{Kind: ChangePut, Key: "key ", Unique: 18, TTL: 30 * time.Second, Stale: true},
	{Kind: ChangeDeleted, Key: "a"}, {Kind: ChangeEvicted, Key: "key "}, {Kind: ChangeExpired, Key: "b"},
	{Kind: ChangeTouched, Key: "a", TTL: 9 * time.Second}, {Kind: ChangeTouched, Key: "b", TTL: -1},
	{Kind: ChangeRangeDeleted, Range: Between("a", "c").ExcludeStart().IncludeStop()},
	{Kind: ChangeFlushed, Delay: 2 * time.Second}, {Kind: ChangeFlushed, Range: Between("a ", "c ")},
	{Kind: ChangeRangeTouched, Range: Between("user:", "user;"), TTL: 5 * time.Second},
	{Kind: ChangePut, Key: "large", Size: 70000, TTL: -1},
}

func TestSectionsReadTheSameHoweverTheyAreCut(t *testing.T) {
	for _, source := range []io.Reader{strings.NewReader(sectionLines), iotest.OneByteReader(strings.NewReader(sectionLines))} {
		in := replies{bufio.NewReaderSize(source, 16)}
		first, err := in.section()
		if err != nil || first.Position != "" || first.marked || !reflect.DeepEqual(first.Changes, sectionChanges[:2]) {
			t.Errorf("%+v, %v", first, err)
		}
		second, err := in.section()
		if err != nil || second.Position != "9c41e07a55d2b813.1042" || second.mark != "7" || !second.marked {
			t.Errorf("%+v, %v", second, err)
		}
		for number, change := range second.Changes {
			if !reflect.DeepEqual(change, sectionChanges[2+number]) {
				t.Errorf("%+v, not %+v", change, sectionChanges[2+number])
			}
		}
		if _, err := in.section(); !errors.Is(err, ErrConnection) {
			t.Error(err)
		}
	}
}

func TestTheEndsOfAWatchHaveKinds(t *testing.T) {
	for line, kind := range map[string]error{"WO Ow old G1.2": ErrTooOld, "WO Ow lost": ErrHistoryLost, "CLIENT_ERROR x": ErrClient} {
		if _, err := (replies{bufio.NewReader(strings.NewReader(line + "\r\n"))}).section(); !errors.Is(err, kind) || !isAnswer(err) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestWhatNoServerPushesIsRefused(t *testing.T) {
	for _, wrong := range []string{"WP ka", "WE Ow G1.1", "WO Ow", "WO Ow why", "WO", "WS Ow\r\nHD", "WS Ow\r\nWS Ow", "WS Ow\r\nWP",
		"WS Ow\r\nWQ ka", "WS Ow\r\nWG ka", "WS Ow\r\nWG ka Rq", "WS Ow\r\nWG k% b Rd", "WS Ow\r\nWX ka Re", "WS Ow\r\nWX kYQ== H% b Rd",
		"WS Ow\r\nWP ka cx", "WS Ow\r\nWT ka tx", "WS Ow\r\nWV x ka", "WS Ow\r\nWV 1 ka\r\nxyz", "WS Ow\r\nWE Ow G", "WS Ow\r\nWV",
		strings.Repeat("x", 1<<17)} {
		if _, err := (replies{bufio.NewReader(strings.NewReader(wrong + "\r\n"))}).section(); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.40q: %v", wrong, err)
		}
	}
}

func TestDamagedSectionsAreReadOrHaveAKindOfError(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	marks := "\r\n 0A9WSEPVXGbkHRt-"
	for range 3000 {
		damaged := []byte(sectionLines)
		for range 1 + chance.IntN(4) {
			damaged[chance.IntN(len(damaged))] = marks[chance.IntN(len(marks))]
		}
		in := replies{bufio.NewReader(bytes.NewReader(damaged))}
		for {
			_, err := in.section()
			if err == nil {
				continue
			}
			if !isAnswer(err) && !errors.Is(err, ErrProtocol) && !errors.Is(err, ErrConnection) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%q: %v", damaged, err)
			}
			break
		}
	}
}

func TestAWatchBeginsByALine(t *testing.T) {
	for wanted, form := range map[string]struct {
		where   Range
		options []WatchOption
	}{
		"mw user: p Ow\r\n":          {Prefix("user:"), nil},
		"mw a Hc Ow v f G1.2\r\n":    {Between("a", "c"), []WatchOption{Values(), From("1.2")}},
		"mw - Ow v c f s t Mtp\r\n":  {Range{}, []WatchOption{Values(), Details(), Kinds(ChangeTouched, ChangePut)}},
		"refused: an empty position": {Range{}, []WatchOption{From("")}},
		"refused: two lines":         {Range{}, []WatchOption{From("1.2\r\nflush_all")}},
		"refused: no kinds":          {Range{}, []WatchOption{Kinds()}},
		"refused: a kind of ranges":  {Range{}, []WatchOption{Kinds(ChangeFlushed)}},
	} {
		var how watching
		for _, option := range form.options {
			option(&how)
		}
		line, err := how.line(form.where)
		if strings.HasPrefix(wanted, "refused") {
			if !errors.Is(err, ErrClient) {
				t.Errorf("%s: %q, %v", wanted, line, err)
			}
		} else if line != wanted || err != nil {
			t.Errorf("%q, %v, not %q", line, err, wanted)
		}
	}
}

func TestARangeKnowsItsKeys(t *testing.T) {
	for _, one := range []struct {
		where           Range
		inside, outside string
	}{{Between("b", "d"), "bc", "ad"}, {Between("b", "d").ExcludeStart().IncludeStop(), "cd", "be"}, {Range{}, "a\xff", ""},
		{Between("", "b"), "a", "bc"}, {Prefix("b"), "b", "ac"}} {
		for _, key := range strings.Split(one.inside, "") {
			if !one.where.Contains(key) {
				t.Errorf("%+v: %q", one.where, key)
			}
		}
		for _, key := range strings.Split(one.outside, "") {
			if one.where.Contains(key) {
				t.Errorf("%+v: %q", one.where, key)
			}
		}
	}
}
