package mxkv_test

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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mxkv "github.com/mxkv/mxkv/protocol/clients/go"
)

// These tests need a server at MXKV_PORT, and servers with a login of `ann` with `secret word`: at MXKV_LOGIN_PORT, with TLS at
// MXKV_TLS_PORT, and with client certificates at MXKV_MUTUAL_TLS_PORT. MXKV_CERTIFICATES is a folder: ca.pem signed all
// certificates, ann.pem and ann.key are ann's.

func setting(t *testing.T, name string) string {
	t.Helper()
	found := os.Getenv(name)
	if found == "" {
		t.Skip(name + " is not set")
	}
	return found
}

func address(t *testing.T, port string) string {
	t.Helper()
	return "127.0.0.1:" + setting(t, port)
}

func connect(t *testing.T, options mxkv.Options) *mxkv.Client {
	t.Helper()
	client := mxkv.New(address(t, "MXKV_PORT"), options)
	t.Cleanup(func() { _ = client.Close() })
	must(t, client.FlushAll(context.Background()))
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("%v is not %v", err, kind)
	}
}

func equal[T comparable](t *testing.T, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Fatalf("%v, not %v", got, wanted)
	}
}

func keys(t *testing.T, client *mxkv.Client, where mxkv.Range, options ...mxkv.ScanOption) (found []string) {
	t.Helper()
	for item, err := range client.Scan(context.Background(), where, options...) {
		must(t, err)
		found = append(found, item.Key)
	}
	return found
}

func TestSingleKeys(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	for _, key := range []string{"k", "b \x00\r\n\xff", strings.Repeat(" ", 250)} {
		_, err := client.Get(ctx, key)
		is(t, err, mxkv.ErrNotFound)
		is(t, client.Replace(ctx, key, nil), mxkv.ErrNotStored)
		is(t, client.CompareAndSwap(ctx, key, nil, 1), mxkv.ErrNotFound)
		must(t, client.Add(ctx, key, []byte("b"), mxkv.Flags(7), mxkv.Expire(time.Hour)))
		is(t, client.Add(ctx, key, nil), mxkv.ErrNotStored)
		must(t, client.Append(ctx, key, []byte("c")))
		must(t, client.Prepend(ctx, key, []byte("a")))
		item, err := client.GetItem(ctx, key)
		must(t, err)
		equal(t, string(item.Value), "abc")
		equal(t, item.Flags, 7)
		must(t, client.CompareAndSwap(ctx, key, []byte("41"), item.Unique))
		is(t, client.CompareAndSwap(ctx, key, nil, item.Unique), mxkv.ErrStale)
		up, err := client.Increment(ctx, key, 2)
		must(t, err)
		down, err := client.Decrement(ctx, key, 1)
		must(t, err)
		equal(t, [2]uint64{up, down}, [2]uint64{43, 42})
		must(t, client.Touch(ctx, key, time.Hour))
		is(t, client.DeleteIf(ctx, key, 1), mxkv.ErrStale)
		must(t, client.Delete(ctx, key))
		is(t, client.Delete(ctx, key), mxkv.ErrNotFound)
		is(t, client.Touch(ctx, key, 0), mxkv.ErrNotFound)
		_, err = client.Increment(ctx, key, 1)
		is(t, err, mxkv.ErrNotFound)
	}
	is(t, client.Set(ctx, "large", make([]byte, 2<<20)), mxkv.ErrTooLarge)
	version, err := client.Version(ctx)
	must(t, err)
	stats, err := client.Stats(ctx, "")
	must(t, err)
	equal(t, stats["version"], version)
}

func TestManyKeys(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	var all []string
	for number := range 1234 {
		key := fmt.Sprintf("many %d", number)
		must(t, client.Set(ctx, key, []byte(key)))
		all = append(all, key)
	}
	found, err := client.GetMany(ctx, append(all, "absent"))
	must(t, err)
	equal(t, len(found), len(all))
	equal(t, string(found["many 77"].Value), "many 77")
}

func TestRanges(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	all := []string{"-", "a", "b", "b\x00", "b ", "c", "user:1:x", "user:2", "user:2:y", "\xff"}
	for number, key := range all {
		must(t, client.Set(ctx, key, fmt.Appendf(nil, "%d", number)))
	}
	for _, start := range append(all, "", "0") {
		for _, stop := range append(all, "", "zz") {
			var wanted []string
			for _, key := range all {
				if key >= start && (stop == "" || key < stop) {
					wanted = append(wanted, key)
				}
			}
			got := keys(t, client, mxkv.Between(start, stop), mxkv.PageItems(3), mxkv.KeysOnly())
			back := keys(t, client, mxkv.Between(start, stop), mxkv.Reverse(), mxkv.PageItems(2), mxkv.Snapshot())
			slices.Reverse(back)
			if !slices.Equal(got, wanted) || !slices.Equal(back, wanted) {
				t.Fatalf("%q to %q: %q and %q, not %q", start, stop, got, back, wanted)
			}
		}
	}
	equal(t, len(keys(t, client, mxkv.Prefix(""), mxkv.Limit(7), mxkv.PageItems(3))), 7)
	equal(t, len(keys(t, client, mxkv.Prefix(""), mxkv.Limit(0))), 0)
	count, err := client.Count(ctx, mxkv.Prefix("user:"))
	must(t, err)
	equal(t, count, 3)
	sums, err := client.Numbers(ctx, mxkv.Range{})
	must(t, err)
	equal(t, sums.Total.Int64(), 45)
	equal(t, sums.Greatest.Int64(), 9)
	var prefixes []string
	for branch, err := range client.Tree(ctx, mxkv.Prefix("user:"), ":") {
		must(t, err)
		prefixes = append(prefixes, branch.Prefix)
	}
	if !slices.Equal(prefixes, []string{"user:1:", "user:2:", ""}) {
		t.Fatal(prefixes)
	}
	_, err = client.TouchRange(ctx, mxkv.Prefix("user:"), time.Hour, 2)
	is(t, err, mxkv.ErrRangeTooLarge)
	touched, err := client.TouchRange(ctx, mxkv.Prefix("user:"), time.Hour, 0)
	must(t, err)
	equal(t, touched, 3)
	page, err := client.Page(ctx, mxkv.Prefix("user:"), "", mxkv.PageItems(2))
	must(t, err)
	equal(t, page.Items[0].TTL > 0, true)
	page, err = client.Page(ctx, mxkv.Prefix("user:"), page.Cursor)
	must(t, err)
	equal(t, len(page.Items), 1)
	_, err = client.Page(ctx, mxkv.Prefix("user:"), "nonsense")
	is(t, err, mxkv.ErrBadCursor)
	removed, err := client.DeleteRangeAtOnce(ctx, mxkv.Prefix("user:"))
	must(t, err)
	equal(t, removed, 3)
	removed, err = client.DeleteRange(ctx, mxkv.Range{})
	must(t, err)
	equal(t, removed, 7)
}

func TestBatches(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	var made *mxkv.Outcome[uint64]
	var seen *mxkv.Outcome[mxkv.Item]
	var gone *mxkv.Outcome[bool]
	must(t, client.Batch(ctx, func(b *mxkv.Batch) error {
		b.Set("a", []byte("10"))
		b.Increment("a", 5)
		made = b.IncrementFrom("new ", 50, 1)
		seen, gone = b.Get("a"), b.Delete("a")
		_, err := seen.Value()
		is(t, err, mxkv.ErrNotDone)
		return nil
	}))
	number, err := made.Value()
	must(t, err)
	equal(t, number, 50)
	item, err := seen.Value()
	must(t, err)
	equal(t, string(item.Value), "15")
	was, err := gone.Value()
	must(t, err)
	equal(t, was, true)
	is(t, client.Batch(ctx, func(b *mxkv.Batch) error { b.Set("x", nil); b.Add("new ", nil); return nil }), mxkv.ErrNotStored)
	_, err = client.Get(ctx, "x")
	is(t, err, mxkv.ErrNotFound)
	is(t, client.Batch(ctx, func(b *mxkv.Batch) error { b.Set("x", nil); return io.EOF }), io.EOF)
	_, err = client.Get(ctx, "x")
	is(t, err, mxkv.ErrNotFound)
}

func TestTransfersOfManyGoroutinesKeepTheirSum(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{MaxConnections: 4}), context.Background()
	for account := range 10 {
		must(t, client.Set(ctx, fmt.Sprintf("account:%d", account), []byte("1000")))
	}
	var group sync.WaitGroup
	for seed := range 16 {
		group.Add(1)
		go func() {
			defer group.Done()
			for step := range 50 {
				err := client.Batch(ctx, func(b *mxkv.Batch) error {
					b.Decrement(fmt.Sprintf("account:%d", (seed+step)%10), 1)
					b.Increment(fmt.Sprintf("account:%d", (seed*3+step*7+1)%10), 1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				sum := 0
				for item, err := range client.Scan(ctx, mxkv.Prefix("account:"), mxkv.Snapshot()) {
					var amount int
					if _, wrong := fmt.Sscan(string(item.Value), &amount); err != nil || wrong != nil {
						t.Error(err, wrong)
					}
					sum += amount
				}
				if sum != 10000 {
					t.Errorf("a sum of %d", sum)
				}
			}
		}()
	}
	group.Wait()
}

// proxy stands in front of the server. After `left` bytes of replies it cuts a connection, once.
type proxy struct {
	net.Listener
	left  atomic.Int64
	cuts  atomic.Int64
	inner string
}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	made := &proxy{Listener: listener, inner: address(t, "MXKV_PORT")}
	made.left.Store(-1)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go made.serve(near)
		}
	}()
	return made
}

func (p *proxy) serve(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.inner)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	}()
	buffer := make([]byte, 1<<14)
	for {
		size, err := far.Read(buffer)
		if err != nil {
			return
		}
		if left := p.left.Load(); left >= 0 {
			if left < int64(size) && p.left.CompareAndSwap(left, -1) {
				_, _ = near.Write(buffer[:left])
				p.cuts.Add(1)
				return
			}
			p.left.CompareAndSwap(left, left-int64(size))
		}
		if _, err := near.Write(buffer[:size]); err != nil {
			return
		}
	}
}

func TestRangesGoOnWhereConnectionsWereCut(t *testing.T) {
	direct, ctx := connect(t, mxkv.Options{}), context.Background()
	var wanted []string
	for number := range 3000 {
		wanted = append(wanted, fmt.Sprintf("key:%05d", number))
		must(t, direct.Set(ctx, wanted[number], []byte(wanted[number])))
	}
	cutter := newProxy(t)
	client := mxkv.New(cutter.Addr().String(), mxkv.Options{RetryWait: time.Millisecond})
	defer client.Close()
	var found []string
	for item, err := range client.Scan(ctx, mxkv.Prefix("key:"), mxkv.PageItems(100)) {
		must(t, err)
		if len(found)%499 == 0 {
			cutter.left.Store(int64(len(found) % 2000))
		}
		found = append(found, item.Key)
	}
	equal(t, slices.Equal(found, wanted), true)
	equal(t, cutter.cuts.Load() > 3, true)

	_, err := client.Version(ctx)
	must(t, err)
	cutter.left.Store(0)
	is(t, client.Set(ctx, "n", []byte("1")), mxkv.ErrConnection)
	cutter.left.Store(0)
	_, err = client.Increment(ctx, "n", 1)
	is(t, err, mxkv.ErrConnection)
	asked := mxkv.New(cutter.Addr().String(), mxkv.Options{RetryWait: time.Millisecond, RetryWrites: true})
	defer asked.Close()
	cutter.left.Store(0)
	must(t, asked.Set(ctx, "n", []byte("1")))
	cutter.left.Store(0)
	is(t, asked.Append(ctx, "n", []byte("1")), mxkv.ErrConnection)
	must(t, cutter.Close())
	_, err = mxkv.New(cutter.Addr().String(), mxkv.Options{RetryWait: time.Millisecond}).Get(ctx, "n")
	is(t, err, mxkv.ErrConnection)
}

func TestWhatAContextCutsShortIsNeverReadByOthers(t *testing.T) {
	client := connect(t, mxkv.Options{MaxConnections: 2})
	for number := range 500 {
		must(t, client.Set(context.Background(), fmt.Sprintf("key:%d", number), fmt.Appendf(make([]byte, 1000), "%d", number)))
	}
	var group sync.WaitGroup
	for worker := range 16 {
		group.Add(1)
		go func() {
			defer group.Done()
			for step := range 60 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(step%7)*50*time.Microsecond)
				for _, err := range client.Scan(ctx, mxkv.Prefix("key:")) {
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
				cancel()
				number := fmt.Sprint((worker*31 + step) % 500)
				value, err := client.Get(context.Background(), "key:"+number)
				if err != nil || string(value[1000:]) != number {
					t.Errorf("key:%s is %.20q, %v", number, value, err)
				}
			}
		}()
	}
	group.Wait()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := client.Get(cancelled, "key:1")
	is(t, err, context.Canceled)
	must(t, client.Close())
	_, err = client.Get(context.Background(), "key:1")
	is(t, err, mxkv.ErrClosed)
}

func TestLogin(t *testing.T) {
	place, ctx := address(t, "MXKV_LOGIN_PORT"), context.Background()
	client := mxkv.New(place, mxkv.Options{User: "ann", Password: "secret word"})
	defer client.Close()
	must(t, client.Set(ctx, "k", nil))
	_, err := mxkv.New(place, mxkv.Options{User: "ann", Password: "wrong"}).Get(ctx, "k")
	is(t, err, mxkv.ErrAuthentication)
	_, err = mxkv.New(place, mxkv.Options{}).Get(ctx, "k")
	is(t, err, mxkv.ErrForbidden)
}

// ask logs in, stores much and reads it again.
func ask(t *testing.T, port, password string, config *tls.Config) error {
	t.Helper()
	ctx := context.Background()
	client := mxkv.New(address(t, port), mxkv.Options{User: "ann", Password: password, TLS: config, RetryWait: time.Millisecond})
	defer client.Close()
	large := bytes.Repeat([]byte(port), 50_000)
	if err := client.Set(ctx, "large", large); err != nil {
		return err
	}
	value, err := client.Get(ctx, "large")
	must(t, err)
	equal(t, bytes.Equal(value, large), true)
	for item, err := range client.Scan(ctx, mxkv.Prefix("large")) {
		must(t, err)
		equal(t, item.Key, "large")
	}
	return nil
}

// trusting is the configuration of a client that trusts the server's certificate, and shows the given ones.
func trusting(t *testing.T, shown ...tls.Certificate) *tls.Config {
	t.Helper()
	authority, err := os.ReadFile(filepath.Join(setting(t, "MXKV_CERTIFICATES"), "ca.pem"))
	must(t, err)
	trusted := x509.NewCertPool()
	equal(t, trusted.AppendCertsFromPEM(authority), true)
	return &tls.Config{RootCAs: trusted, Certificates: shown}
}

// failsTLS expects an error of TLS, or a lost connection where the server closed it before its alert was read.
func failsTLS(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, mxkv.ErrTLS) {
		is(t, err, mxkv.ErrConnection)
	}
}

func TestTLS(t *testing.T) {
	must(t, ask(t, "MXKV_TLS_PORT", "secret word", trusting(t)))
	is(t, ask(t, "MXKV_TLS_PORT", "wrong", trusting(t)), mxkv.ErrAuthentication)
	var distrusted *tls.CertificateVerificationError
	equal(t, errors.As(ask(t, "MXKV_TLS_PORT", "secret word", &tls.Config{}), &distrusted), true)
	is(t, ask(t, "MXKV_TLS_PORT", "secret word", &tls.Config{}), mxkv.ErrTLS)
	failsTLS(t, ask(t, "MXKV_LOGIN_PORT", "secret word", trusting(t)))
	is(t, ask(t, "MXKV_TLS_PORT", "secret word", nil), mxkv.ErrClient)
}

func TestMutualTLS(t *testing.T) {
	folder := setting(t, "MXKV_CERTIFICATES")
	ann, err := tls.LoadX509KeyPair(filepath.Join(folder, "ann.pem"), filepath.Join(folder, "ann.key"))
	must(t, err)
	must(t, ask(t, "MXKV_MUTUAL_TLS_PORT", "secret word", trusting(t, ann)))
	is(t, ask(t, "MXKV_MUTUAL_TLS_PORT", "wrong", trusting(t, ann)), mxkv.ErrAuthentication)
	failsTLS(t, ask(t, "MXKV_MUTUAL_TLS_PORT", "secret word", trusting(t)))
}
