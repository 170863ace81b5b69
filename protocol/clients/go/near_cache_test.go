package mxkv

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is a server that answers in the order that a test chooses. It answers `mw` by `answers` one after the other, the last of them
// for ever, and marks unless it is mute. Other requests wait.
type scripted struct {
	mutex   sync.Mutex
	answers []string
	lines   []string // of watches
	mute    bool
	watch   net.Conn
	all     []net.Conn
	waiting chan func(answer string)
}

func (s *scripted) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.mutex.Lock()
	s.all = append(s.all, far)
	s.mutex.Unlock()
	go s.serve(far)
	return near, nil
}

func (s *scripted) serve(far net.Conn) {
	in := bufio.NewReader(far)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch words[0] {
		case "mw":
			s.mutex.Lock()
			answer := s.answers[0]
			if len(s.answers) > 1 {
				s.answers = s.answers[1:]
			}
			s.lines = append(s.lines, strings.TrimSpace(line))
			s.watch = far
			s.mutex.Unlock()
			_, _ = far.Write([]byte(answer + "\r\n"))
		case "mu":
			s.mutex.Lock()
			mute := s.mute
			s.mutex.Unlock()
			if !mute {
				_, _ = far.Write([]byte("HD Ow\r\nWS Ow\r\nWE Ow G0123456789abcdef.1 " + words[2] + "\r\n"))
			}
		default:
			s.waiting <- func(answer string) { _, _ = far.Write([]byte(answer + "\r\n")) }
		}
	}
}

func (s *scripted) say(lines ...string) {
	s.mutex.Lock()
	watch := s.watch
	s.mutex.Unlock()
	_, _ = watch.Write([]byte(strings.Join(lines, "\r\n") + "\r\n"))
}

func (s *scripted) tell(lines ...string) {
	s.say("WS Ow\r\n" + strings.Join(lines, "\r\n") + "\r\nWE Ow G0123456789abcdef.2")
}

func (s *scripted) watches() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string(nil), s.lines...)
}

func (s *scripted) cutAll() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, one := range s.all {
		_ = one.Close()
	}
}

const fresh = "HD Ow G0123456789abcdef.1"

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in a minute: ", what)
		}
	}
}

// order is a near cache beside a scripted server.
type order struct {
	*testing.T
	server *scripted
	near   *NearCache
}

func inOrder(t *testing.T, maxStale time.Duration, answers ...string) order {
	t.Helper()
	server := &scripted{answers: append([]string{fresh}, answers...), waiting: make(chan func(string), 10)}
	client := New("nowhere:0", Options{Dial: server.dial, Retries: -1, Timeout: time.Hour})
	near, err := client.NearCache(context.Background(), Prefix("k"), NearOptions{MaxStale: maxStale})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close(); _ = client.Close() })
	waitFor(t, "the cache is live", near.IsLive)
	return order{t, server, near}
}

// get returns the value of a read whose request is answered so; `happens` is called while the read waits.
func (o order) get(key, answer string, happens func()) string {
	o.Helper()
	found := make(chan string)
	go func() {
		value, err := o.near.Get(context.Background(), key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			o.Error(err)
		}
		found <- string(value)
	}()
	reply := <-o.server.waiting
	if happens != nil {
		happens()
	}
	reply(answer)
	return <-found
}

func (o order) entries(wanted int) {
	o.Helper()
	if entries, bytes := o.near.Size(); entries != wanted || (bytes == 0) != (wanted == 0) {
		o.Fatalf("%d entries of %d bytes, not %d entries", entries, bytes, wanted)
	}
}

func (o order) waitForEntries(wanted int) {
	o.Helper()
	waitFor(o.T, "entries", func() bool { entries, _ := o.near.Size(); return entries == wanted })
}

func (o order) tainted() bool {
	o.near.mutex.Lock()
	defer o.near.mutex.Unlock()
	for _, some := range o.near.pending {
		for _, one := range some {
			if !one.tainted {
				return false
			}
		}
	}
	return true
}

const old, young = "VA 1 f0 c1 t-1\r\na", "VA 1 f0 c2 t-1\r\nb"

func TestALineThatOvertakesTheReplyKeepsTheOldValueOut(t *testing.T) {
	o := inOrder(t, time.Hour)
	for _, line := range []string{"WP kk1 c2 f0 s1 t-1", "WG kk1 Rd", "WG kk1 Re", "WT kk1 t5", "WX kk Hl Rd", "WX k Rf", "WY kk Hl t5"} {
		if got := o.get("k1", old, func() { o.server.tell(line); waitFor(t, "taint by "+line, o.tainted) }); got != "a" {
			t.Errorf("%s: %q", line, got)
		}
		o.entries(0)
	}
	o.get("k1", young, nil)
	value, err := o.near.Get(context.Background(), "k1")
	if string(value) != "b" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	o.entries(1)
}

func TestLinesOfOtherKeysDoNotTaint(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.get("k2", "EN", nil)
	o.get("k1", "EN", func() { o.server.tell("WP kk2 c2 f0 s1 t-1", "WX kk2 Hl Rd"); o.waitForEntries(0) })
	if _, err := o.near.Get(context.Background(), "k1"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	o.entries(1)
}

func TestAnOwnWriteTaintsReadsAndDropsTheEntry(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.get("k1", old, nil)
	err := o.near.Writing(func() error {
		o.entries(0)
		o.get("k1", old, nil) // it may have been executed before the write
		o.entries(1)
		return ErrTimeout
	}, "k1")
	if err != ErrTimeout {
		t.Error(err)
	}
	o.entries(0)
	o.get("k1", old, func() { _ = o.near.Writing(func() error { return nil }, "k1") })
	o.entries(0)
}

func TestTheLineOfThePutThatWasReadKeepsTheEntry(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.get("k1", old, nil)
	for _, one := range []struct {
		line    string
		entries int
	}{{"WP kk1 c1 f0 s1 t-1", 1}, {"WP kk1 c1 f0 s1 t-1 X", 0}, {"WP kk1 c2 f0 s1 t-1", 0}} {
		if entries, _ := o.near.Size(); entries == 0 {
			o.get("k1", old, nil)
		}
		o.get("k2", "EN", nil)
		o.server.tell(one.line, "WG kk2 Rd")
		waitFor(t, "the section is applied", func() bool {
			o.near.mutex.Lock()
			defer o.near.mutex.Unlock()
			return o.near.entries["k2"] == nil
		})
		o.entries(one.entries)
	}
}

func TestAStaleItemIsNotKept(t *testing.T) {
	o := inOrder(t, time.Hour)
	for _, flags := range []string{"X W", "X Z"} {
		o.get("k1", "VA 1 f0 c5 t-1 "+flags+"\r\na", nil)
		o.entries(0)
	}
}

func TestNothingIsKeptUntilADelayedFlushHasHappened(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.get("k1", "EN", nil)
	o.server.tell("WX k Rf t1000")
	o.waitForEntries(0)
	o.get("k1", "EN", nil)
	o.entries(0)
}

func TestAfterOldAndLostAllIsDroppedAndThePositionIsNeverSentAgain(t *testing.T) {
	for _, refusal := range []string{"EX Ow old G0123456789abcdef.9", "EX Ow lost"} {
		o := inOrder(t, time.Hour, refusal, "HD Ow Gfedcba9876543210.7")
		o.get("k1", old, nil)
		o.get("k2", "EN", func() {
			o.server.say("WO Ow ends G0123456789abcdef.1")
			waitFor(t, "it begins anew", func() bool { return len(o.server.watches()) == 3 && o.near.IsLive() })
		})
		o.entries(0)
		lines := o.server.watches()
		if strings.Contains(lines[0], " G") || !strings.Contains(lines[1], " G") || strings.Contains(lines[2], " G") {
			t.Error(lines)
		}
	}
}

func TestAWatchThatIsTooSlowBeginsAnew(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.get("k1", "EN", nil)
	o.server.say("WO Ow old G0123456789abcdef.9")
	waitFor(t, "it begins anew", func() bool { return len(o.server.watches()) == 2 && o.near.IsLive() })
	o.entries(0)
	if strings.Contains(o.server.watches()[1], " G") {
		t.Error(o.server.watches())
	}
}

func TestALostConnectionGoesOnBehindTheLastPositionAndEntriesStay(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.get("k1", old, nil)
	o.server.cutAll()
	waitFor(t, "it connects again", func() bool { return len(o.server.watches()) == 2 })
	if !strings.HasSuffix(o.server.watches()[1], " G0123456789abcdef.1") {
		t.Error(o.server.watches())
	}
	if value, err := o.near.Get(context.Background(), "k1"); string(value) != "a" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
}

func TestWithoutMarksReadsGoToTheServerAndEntriesStay(t *testing.T) {
	o := inOrder(t, 100*time.Millisecond)
	o.server.mutex.Lock()
	o.server.mute = true
	o.server.mutex.Unlock()
	waitFor(t, "it is not live", func() bool { return !o.near.IsLive() })
	o.get("k1", old, nil)
	if got := o.get("k1", young, nil); got != "b" {
		t.Error(got)
	}
	o.entries(1)
}

func TestAMarkCountsFromWhenItWasAskedFor(t *testing.T) {
	o := inOrder(t, time.Hour)
	o.near.take(Changes{mark: "7", marked: true}, true, 5*time.Second)
	o.near.mutex.Lock()
	defer o.near.mutex.Unlock()
	if o.near.liveUntil != time.Hour+5*time.Second {
		t.Error(o.near.liveUntil)
	}
}

func TestAServerThatRefusesTheWatchFailsTheBeginning(t *testing.T) {
	for answer, kind := range map[string]error{"CLIENT_ERROR forbidden": ErrForbidden, "ERROR": ErrClient,
		"SERVER_ERROR mw does not work in a cluster": ErrServer} {
		server := &scripted{answers: []string{answer}}
		client := New("nowhere:0", Options{Dial: server.dial})
		if _, err := client.NearCache(context.Background(), Range{}, NearOptions{}); !errors.Is(err, kind) {
			t.Error(err)
		}
		if _, err := client.Watch(context.Background(), Range{}); !errors.Is(err, kind) {
			t.Error(err)
		}
	}
}

func TestAWatchThatIsSilentIsAskedForAMark(t *testing.T) {
	server := &scripted{answers: []string{fresh}}
	client := New("nowhere:0", Options{Dial: server.dial, Timeout: 20 * time.Millisecond, RetryWait: time.Millisecond})
	watch, err := client.Watch(context.Background(), Prefix("k"))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(100 * time.Millisecond) // several marks
		server.mutex.Lock()
		server.mute = true
		server.mutex.Unlock()
		waitFor(t, "the dead connection is given up", func() bool { return len(server.watches()) > 1 })
		_ = watch.Close()
	}()
	if watch.Next() || watch.Err() != nil || !strings.HasSuffix(server.watches()[1], " G0123456789abcdef.1") {
		t.Error(watch.Changes(), watch.Err(), server.watches())
	}
}
