package mxkv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// answering is a client whose server answers each request with the same bytes, one byte at a time if asked to.
func answering(t *testing.T, answer string, byteByByte bool) *Client {
	t.Helper()
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			if _, err := far.Read(make([]byte, 1<<16)); err != nil {
				return
			}
			if !byteByByte {
				_, _ = far.Write([]byte(answer))
				return
			}
			for at := range len(answer) {
				if _, err := far.Write([]byte{answer[at]}); err != nil {
					return
				}
			}
		}()
		return near, nil
	}
	client := New("nowhere:0", Options{Dial: dial, Retries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

const pageReply = "VA 9 kuser:1 f5 c17 t-1\r\n\r\nEN A1\r\n\r\nHD ka2V5IA== b f0 c18 t30\r\nVA 0 kz f0 c19 t0\r\n\r\nEN A3 GabcD\r\n"

func TestRepliesReadTheSameHoweverTheyAreCut(t *testing.T) {
	wanted := Page{[]Item{{"user:1", []byte("\r\nEN A1\r\n"), 5, 17, -1}, {"key ", nil, 0, 18, 30 * time.Second},
		{"z", []byte{}, 0, 19, 0}}, "abcD"}
	for _, slowly := range []bool{false, true} {
		page, err := answering(t, pageReply, slowly).Page(context.Background(), Prefix(""), "")
		if err != nil || !reflect.DeepEqual(page, wanted) {
			t.Errorf("%v, %v", page, err)
		}
		found, err := answering(t, "VA 2 f0 c5\r\n\r\n\r\nEN\r\nVA 1 f1 c6\r\nx\r\n", slowly).GetMany(context.Background(), []string{"a", "b", "c"})
		if err != nil || len(found) != 2 || string(found["a"].Value) != "\r\n" || found["c"].Flags != 1 {
			t.Errorf("%v, %v", found, err)
		}
	}
}

func TestRepliesThatEndTooEarlyAreLostConnections(t *testing.T) {
	for at := range len(pageReply) - 1 {
		if _, err := answering(t, pageReply[:at], false).Page(context.Background(), Prefix(""), ""); !errors.Is(err, ErrConnection) {
			t.Fatalf("cut after %d bytes: %v", at, err)
		}
	}
}

func TestErrorsHaveKinds(t *testing.T) {
	for line, kinds := range map[string][]error{
		"CLIENT_ERROR bad cursor": {ErrBadCursor, ErrClient}, "CLIENT_ERROR x": {ErrClient}, "ERROR": {ErrClient},
		"CLIENT_ERROR too many keys in the range": {ErrRangeTooLarge}, "CLIENT_ERROR unauthenticated": {ErrForbidden},
		"CLIENT_ERROR authentication failure": {ErrAuthentication, ErrForbidden}, "SERVER_ERROR x": {ErrServer},
		"SERVER_ERROR out of memory storing object": {ErrOutOfMemory, ErrServer}, "SERVER_ERROR journal: full": {ErrJournal},
		"SERVER_ERROR object too large for cache": {ErrTooLarge},
	} {
		_, err := answering(t, line+"\r\n", false).Count(context.Background(), Prefix(""))
		for _, kind := range kinds {
			if !errors.Is(err, kind) {
				t.Errorf("%q is %v, not %v", line, err, kind)
			}
		}
	}
	for why, kind := range map[string]error{"NF": ErrNotFound, "NS": ErrNotStored, "EX": ErrStale, "CLIENT_ERROR x": ErrClient} {
		err := answering(t, "EX 2 "+why+"\r\n", false).Batch(context.Background(), func(b *Batch) error {
			b.Delete("a")
			b.Increment("a", 1)
			return nil
		})
		var answer *Error
		if !errors.Is(err, kind) || !errors.As(err, &answer) || answer.Operation != 1 {
			t.Errorf("%q is %v", why, err)
		}
	}
}

func TestWhatNoServerSendsIsNoReply(t *testing.T) {
	for _, answer := range []string{"VA x ka\r\n", "VA 1 ka f0 c1 t1\r\nxyz\r\n", "VA 1 f0\r\nx\r\n", "OK\r\n", "HD ka f0 c1 t1\n",
		"VA 4294967296 ka\r\n", "VA\r\n", "HD kx% b\r\n", "EN A0\r\nEN A0\r\n", strings.Repeat("x", 1<<17), "HD ka cx\r\n"} {
		if _, err := answering(t, answer, false).Page(context.Background(), Prefix(""), ""); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.40q: %v", answer, err)
		}
	}
}

func TestAnErrorWithMoreBehindItClosesTheConnection(t *testing.T) {
	for answer, idle := range map[string]int{"CLIENT_ERROR x\r\n": 1, "CLIENT_ERROR x\r\nHD A1 B2\r\n": 0} {
		client := answering(t, answer, false)
		if _, err := client.Count(context.Background(), Prefix("")); !errors.Is(err, ErrClient) || len(client.idle) != idle {
			t.Errorf("%q: %v, %d idle", answer, err, len(client.idle))
		}
	}
}

func TestRepliesOneByteAtATime(t *testing.T) {
	in := replies{bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(pageReply)), 16)}
	for _, code := range []string{"VA", "HD", "VA", "EN"} {
		if got, err := in.next(); err != nil || got.words[0] != code {
			t.Fatalf("%v, %v", got, err)
		}
	}
	if _, err := in.next(); err != io.EOF {
		t.Fatal(err)
	}
}

func TestRangesAsLinesSayThem(t *testing.T) {
	for _, one := range []struct {
		where   Range
		reverse bool
		wanted  string
	}{
		{Prefix(""), false, "-"}, {Range{}, true, "- r"}, {Prefix("user:"), false, "user: p"}, {Prefix("-"), false, "- p"},
		{Prefix("a b"), true, "YSBi p b r"}, {Between("a", "c"), false, "a Hc"}, {Between("a", "c"), true, "c o Ha i r"},
		{Between("a", "c").ExcludeStart().IncludeStop(), false, "a o Hc i"},
		{Between("a", "c").ExcludeStart().IncludeStop(), true, "c Ha r"}, {Between("", "c"), true, "c o r"},
		{Between("", "c"), false, "- Hc"}, {Between("-", ""), false, "LQ== b"}, {Between("", "c "), false, "AA== b HYyA="},
		{Between("a", ""), true, "- Ha i r"},
	} {
		if got := one.where.words(one.reverse); got != one.wanted {
			t.Errorf("%+v is %q, not %q", one.where, got, one.wanted)
		}
	}
}

func TestTimesToLiveAreWholeSecondsAndUnixTimeBeyondThirtyDays(t *testing.T) {
	if exptime(0) != 0 || exptime(time.Millisecond) != 1 || exptime(longestRelative) != 30*24*3600 {
		t.Error("short ones")
	}
	if far := exptime(longestRelative + time.Second); far < time.Now().Unix() {
		t.Error(far)
	}
}

func TestKeysThatNoLineTakesAreRefusedUnsent(t *testing.T) {
	client := answering(t, "", false)
	for _, key := range []string{"", strings.Repeat("k", 251), strings.Repeat(" ", 251)} {
		if err := client.Set(context.Background(), key, nil); !errors.Is(err, ErrClient) {
			t.Errorf("%q: %v", key, err)
		}
		err := client.Batch(context.Background(), func(b *Batch) error { b.Set("fine", nil); b.Get(key); return nil })
		var answer *Error
		if !errors.As(err, &answer) || answer.Operation != 1 {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, err := client.Page(context.Background(), Prefix(""), "a b\r\nflush_all"); !errors.Is(err, ErrBadCursor) {
		t.Error(err)
	}
	if _, err := client.Stats(context.Background(), "x\r\nflush_all"); !errors.Is(err, ErrClient) {
		t.Error(err)
	}
	for _, err := range client.Tree(context.Background(), Range{}, ":\r\nflush_all") {
		if !errors.Is(err, ErrClient) {
			t.Error(err)
		}
	}
	if line, _ := storeLine(" ME", "k", []byte("v"), []StoreOption{Flags(3), Expire(time.Second)}); !bytes.Equal(line, []byte("ms k 1 ME F3 T1\r\nv\r\n")) {
		t.Errorf("%q", line)
	}
}

func TestDamagedRepliesAreToldByKindOrReadAndNeverAnythingElse(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 1))
	marks := "\r\n 0A9VAHDENkb~-"
	for range 3000 {
		damaged := []byte(pageReply)
		for range 1 + chance.IntN(4) {
			damaged[chance.IntN(len(damaged))] = marks[chance.IntN(len(marks))]
		}
		in := replies{bufio.NewReader(bytes.NewReader(damaged))}
		for {
			got, err := in.next()
			if err == nil {
				_, err = itemOf(got, "")
			}
			if err == nil {
				continue
			}
			if !isAnswer(err) && !errors.Is(err, ErrProtocol) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%q: %v", damaged, err)
			}
			break
		}
	}
}
