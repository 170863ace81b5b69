// Package clients tests a server, at MXKV_PORT, through gomemcache; and a server with a login of `ann` and TLS, at MXKV_TLS_PORT, and
// with client certificates at MXKV_MUTUAL_TLS_PORT. MXKV_CERTIFICATES is a folder: ca.pem signed all certificates, ann.pem and
// ann.key are ann's.
package clients

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

func setting(t *testing.T, name string) string {
	t.Helper()
	found := os.Getenv(name)
	if found == "" {
		t.Fatal(name + " is not set")
	}
	return found
}

func address(t *testing.T, port string) string {
	t.Helper()
	return "127.0.0.1:" + setting(t, port)
}

func connect(t *testing.T) *memcache.Client {
	t.Helper()
	client := memcache.New(address(t, "MXKV_PORT"))
	client.Timeout = 20 * time.Second
	client.MaxIdleConns = 16
	if err := client.FlushAll(); err != nil {
		t.Fatal(err)
	}
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t *testing.T, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Fatalf("got %v, want %v", err, wanted)
	}
}

func mustHold(t *testing.T, client *memcache.Client, key, value string) {
	t.Helper()
	item, err := client.Get(key)
	must(t, err)
	if string(item.Value) != value {
		t.Fatalf("%s holds %q, want %q", key, item.Value, value)
	}
}

func TestStorage(t *testing.T) {
	client := connect(t)
	must(t, client.Ping())
	must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("v"), Flags: 1<<32 - 1}))
	item, err := client.Get("k")
	must(t, err)
	if string(item.Value) != "v" || item.Flags != 1<<32-1 {
		t.Fatalf("got %q, flags %d", item.Value, item.Flags)
	}
	mustBe(t, client.Add(&memcache.Item{Key: "k", Value: []byte("w")}), memcache.ErrNotStored)
	must(t, client.Replace(&memcache.Item{Key: "k", Value: []byte("w")}))
	mustBe(t, client.Replace(&memcache.Item{Key: "absent", Value: []byte("w")}), memcache.ErrNotStored)
	must(t, client.Append(&memcache.Item{Key: "k", Value: []byte(">")}))
	must(t, client.Prepend(&memcache.Item{Key: "k", Value: []byte("<")}))
	mustHold(t, client, "k", "<w>")
	must(t, client.Delete("k"))
	mustBe(t, client.Delete("k"), memcache.ErrCacheMiss)
	_, err = client.Get("k")
	mustBe(t, err, memcache.ErrCacheMiss)
}

func TestEmptyAndBinaryValues(t *testing.T) {
	client := connect(t)
	for _, value := range []string{"", "\r\nEND\r\n", "\x00\xff"} {
		must(t, client.Set(&memcache.Item{Key: "k", Value: []byte(value)}))
		mustHold(t, client, "k", value)
	}
}

func TestMany(t *testing.T) {
	client := connect(t)
	keys := []string{"absent"}
	for i := 0; i < 500; i++ {
		key := fmt.Sprintf("many%d", i)
		keys = append(keys, key)
		must(t, client.Set(&memcache.Item{Key: key, Value: []byte(strconv.Itoa(i))}))
	}
	items, err := client.GetMulti(keys)
	must(t, err)
	if len(items) != 500 {
		t.Fatalf("%d items of 500", len(items))
	}
	for i := 0; i < 500; i++ {
		if item := items[fmt.Sprintf("many%d", i)]; item == nil || string(item.Value) != strconv.Itoa(i) {
			t.Fatalf("many%d: %v", i, item)
		}
	}
	must(t, client.DeleteAll())
	items, err = client.GetMulti(keys)
	must(t, err)
	if len(items) != 0 {
		t.Fatalf("%d items are left", len(items))
	}
}

func TestCounters(t *testing.T) {
	client := connect(t)
	must(t, client.Set(&memcache.Item{Key: "n", Value: []byte("18446744073709551610")}))
	got, err := client.Increment("n", 7)
	must(t, err)
	if got != 1 {
		t.Fatalf("incr wraps to %d, want 1", got)
	}
	got, err = client.Decrement("n", 10)
	must(t, err)
	if got != 0 {
		t.Fatalf("decr stops at %d, want 0", got)
	}
	_, err = client.Increment("absent", 1)
	mustBe(t, err, memcache.ErrCacheMiss)
	must(t, client.Set(&memcache.Item{Key: "word", Value: []byte("x")}))
	if _, err = client.Increment("word", 1); err == nil {
		t.Fatal("a word was incremented")
	}
	mustHold(t, client, "word", "x")
}

func TestCompareAndSwap(t *testing.T) {
	client := connect(t)
	must(t, client.Set(&memcache.Item{Key: "k", Value: []byte("first")}))
	mine, err := client.Get("k")
	must(t, err)
	theirs, err := client.Get("k")
	must(t, err)
	mine.Value, theirs.Value = []byte("mine"), []byte("theirs")
	must(t, client.CompareAndSwap(mine))
	mustBe(t, client.CompareAndSwap(theirs), memcache.ErrCASConflict)
	mustHold(t, client, "k", "mine")
	must(t, client.Delete("k"))
	mustBe(t, client.CompareAndSwap(mine), memcache.ErrCacheMiss)
}

func TestCompareAndSwapCountsEveryRound(t *testing.T) {
	client := connect(t)
	must(t, client.Set(&memcache.Item{Key: "sum", Value: []byte("0")}))
	const workers, rounds = 8, 50
	failures := make(chan error, workers)
	var all sync.WaitGroup
	for w := 0; w < workers; w++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for done := 0; done < rounds; {
				item, err := client.Get("sum")
				if err != nil {
					failures <- err
					return
				}
				sum, _ := strconv.Atoi(string(item.Value))
				item.Value = []byte(strconv.Itoa(sum + 1))
				if err = client.CompareAndSwap(item); err == nil {
					done++
				} else if !errors.Is(err, memcache.ErrCASConflict) {
					failures <- err
					return
				}
			}
		}()
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Fatal(err)
	}
	mustHold(t, client, "sum", strconv.Itoa(workers*rounds))
}

func TestExpiryAndTouch(t *testing.T) {
	client := connect(t)
	must(t, client.Set(&memcache.Item{Key: "short", Value: []byte("v"), Expiration: 1}))
	must(t, client.Set(&memcache.Item{Key: "kept", Value: []byte("v"), Expiration: 1}))
	must(t, client.Touch("kept", 1000))
	mustBe(t, client.Touch("absent", 1000), memcache.ErrCacheMiss)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, err := client.Get("short")
		if errors.Is(err, memcache.ErrCacheMiss) {
			break
		}
		must(t, err)
		if time.Now().After(deadline) {
			t.Fatal("the short-lived key is still there")
		}
	}
	mustHold(t, client, "kept", "v")
}

func TestLargeValues(t *testing.T) {
	client := connect(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 65000)
	must(t, client.Set(&memcache.Item{Key: "large", Value: large}))
	mustHold(t, client, "large", string(large))
	if client.Set(&memcache.Item{Key: "large", Value: append(large, large...)}) == nil {
		t.Fatal("2 MB were stored, the limit is 1 MiB")
	}
	_, err := client.Get("large")
	mustBe(t, err, memcache.ErrCacheMiss)
}

// secured logs in by TLS: gomemcache leaves that to a function that dials.
func secured(t *testing.T, port string, shown ...tls.Certificate) *memcache.Client {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(setting(t, "MXKV_CERTIFICATES"), "ca.pem"))
	must(t, err)
	config := &tls.Config{RootCAs: x509.NewCertPool(), Certificates: shown}
	config.RootCAs.AppendCertsFromPEM(authority)
	client := memcache.New(address(t, port))
	client.Timeout = 20 * time.Second
	client.DialContext = func(ctx context.Context, network, place string) (net.Conn, error) {
		connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, network, place)
		if err != nil {
			return nil, err
		}
		reply := make([]byte, len("STORED\r\n"))
		if _, err = connection.Write([]byte("set auth 0 0 15\r\nann secret word\r\n")); err == nil {
			_, err = io.ReadFull(connection, reply)
		}
		if err != nil || string(reply) != "STORED\r\n" {
			_ = connection.Close()
			return nil, fmt.Errorf("no login: %q, %w", reply, err)
		}
		return connection, nil
	}
	return client
}

func TestTLS(t *testing.T) {
	folder := setting(t, "MXKV_CERTIFICATES")
	ann, err := tls.LoadX509KeyPair(filepath.Join(folder, "ann.pem"), filepath.Join(folder, "ann.key"))
	must(t, err)
	large := bytes.Repeat([]byte("large"), 200_000)
	for _, client := range []*memcache.Client{secured(t, "MXKV_TLS_PORT"), secured(t, "MXKV_MUTUAL_TLS_PORT", ann)} {
		must(t, client.Set(&memcache.Item{Key: "large", Value: large}))
		found, err := client.GetMulti([]string{"large", "absent"})
		must(t, err)
		if len(found) != 1 || !bytes.Equal(found["large"].Value, large) {
			t.Fatalf("got %d items", len(found))
		}
	}
	if err := secured(t, "MXKV_MUTUAL_TLS_PORT").Ping(); err == nil {
		t.Fatal("who shows no certificate came in")
	}
}
