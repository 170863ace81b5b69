package mxkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mxkv "github.com/mxkv/mxkv/protocol/clients/go"
)

// network makes connections to the server that a test hurts. A watch's connection is cut after about `cutEvery` bytes at random. `delay`: each
// half second a connection chooses how long its pieces are on their way: not at all, or up to that, and a twentieth for other connections.
type network struct {
	cutEvery    int
	delay       time.Duration
	cuts, reads atomic.Int64
}

type piece struct {
	came time.Time
	data []byte
}

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	far, err := (&net.Dialer{}).DialContext(ctx, kind, address)
	if err != nil {
		return nil, err
	}
	near, middle := net.Pipe()
	var watches atomic.Bool
	pieces := make(chan piece, 1<<16)
	go func() {
		defer far.Close()
		buffer := make([]byte, 1<<14)
		for {
			size, err := middle.Read(buffer)
			if err != nil {
				return
			}
			n.reads.Add(int64(bytes.Count(buffer[:size], []byte("mg "))))
			if bytes.HasPrefix(buffer[:size], []byte("mw ")) {
				watches.Store(true)
			}
			if _, err := far.Write(buffer[:size]); err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 1<<14)
			size, err := far.Read(buffer)
			if err != nil {
				return
			}
			pieces <- piece{time.Now(), buffer[:size]}
		}
	}()
	go func() {
		defer middle.Close()
		var latency time.Duration
		var chosen time.Time
		left := -1
		for one := range pieces {
			if n.delay > 0 {
				if one.came.Sub(chosen) > time.Second/2 {
					latency, chosen = time.Duration(rand.IntN(2)*rand.IntN(int(n.delay))), one.came
					if !watches.Load() {
						latency /= 20
					}
				}
				time.Sleep(time.Until(one.came.Add(latency)))
			}
			if watches.Load() && n.cutEvery > 0 {
				if left < 0 {
					left = rand.IntN(2 * n.cutEvery)
				}
				if left < len(one.data) {
					_, _ = middle.Write(one.data[:left])
					n.cuts.Add(1)
					return
				}
				left -= len(one.data)
			}
			if _, err := middle.Write(one.data); err != nil {
				return
			}
		}
	}()
	return near, nil
}

func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in a minute: ", what)
		}
	}
}

func watch(t *testing.T, client *mxkv.Client, where mxkv.Range, options ...mxkv.WatchOption) *mxkv.Watch {
	t.Helper()
	made, err := client.Watch(context.Background(), where, options...)
	must(t, err)
	t.Cleanup(func() { _ = made.Close() })
	return made
}

func heard(t *testing.T, from *mxkv.Watch, count int) (found []mxkv.Change) {
	t.Helper()
	for len(found) < count && from.Next() {
		found = append(found, from.Changes().Changes...)
	}
	must(t, from.Err())
	return found
}

func TestEachKindOfChangeIsTold(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	watcher := watch(t, client, mxkv.Prefix("k"), mxkv.Values(), mxkv.Details())
	must(t, client.Set(ctx, "k1", []byte("a"), mxkv.Flags(3)))
	must(t, client.Touch(ctx, "k1", time.Hour))
	must(t, client.Delete(ctx, "k1"))
	must(t, client.Set(ctx, "k \x00", []byte("b")))
	_, err := client.TouchRange(ctx, mxkv.Prefix("k"), 0, 0)
	must(t, err)
	_, err = client.DeleteRangeAtOnce(ctx, mxkv.Between("k", "k2"))
	must(t, err)
	must(t, client.Set(ctx, "other", nil))
	must(t, client.FlushAll(ctx))
	var ofOne, others []string
	for _, change := range heard(t, watcher, 7) {
		text := fmt.Sprintf("%v %q %s %d %d %v", change.Kind, change.Key, change.Value, change.Flags, change.Size, change.TTL > 59*time.Minute)
		if change.Key == "k1" {
			ofOne = append(ofOne, text)
		} else {
			others = append(others, text+fmt.Sprint(change.Range == mxkv.Between("k", "l")))
		}
	}
	if !slices.Equal(ofOne, []string{`put "k1" a 3 1 false`, `touched "k1"  0 0 true`, `deleted "k1"  0 0 false`}) ||
		!slices.Equal(others, []string{`put "k \x00" b 0 1 falsefalse`, `range touched ""  0 0 falsetrue`, `range deleted ""  0 0 falsefalse`,
			`flushed ""  0 0 falsetrue`}) {
		t.Fatalf("%q\n%q", ofOne, others)
	}
}

func TestAWatchGoesOnBehindAPosition(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	first := watch(t, client, mxkv.Prefix("k"), mxkv.Kinds(mxkv.ChangePut))
	must(t, client.Set(ctx, "k1", nil))
	heard(t, first, 1)
	must(t, first.Close())
	equal(t, first.Next(), false)
	must(t, first.Err())
	must(t, client.Set(ctx, "k2", nil))
	changes := heard(t, watch(t, client, mxkv.Prefix("k"), mxkv.From(first.Position())), 1)
	equal(t, changes[len(changes)-1].Key, "k2")
	tag, _, _ := bytes.Cut([]byte(first.Position()), []byte("."))
	for position, kind := range map[string]error{string(tag) + ".0": mxkv.ErrTooOld, "0123456789abcdef.1": mxkv.ErrHistoryLost, "x": mxkv.ErrClient} {
		_, err := client.Watch(ctx, mxkv.Range{}, mxkv.From(position))
		is(t, err, kind)
	}
	_, err := client.Watch(ctx, mxkv.Range{}, mxkv.Kinds(mxkv.ChangeExpired))
	is(t, err, mxkv.ErrClient)
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	client := connect(t, mxkv.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	watcher, err := client.Watch(ctx, mxkv.Prefix("k"))
	must(t, err)
	time.AfterFunc(time.Millisecond, cancel)
	equal(t, watcher.Next(), false)
	is(t, watcher.Err(), context.Canceled)
}

func TestWhatWatchesHearEqualsAScanAlthoughTheirConnectionsAreCut(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{Timeout: -1}), context.Background()
	hurt := &network{cutEvery: 20_000}
	cut := mxkv.New(address(t, "MXKV_PORT"), mxkv.Options{Dial: hurt.dial, RetryWait: time.Millisecond, Timeout: time.Minute})
	var watchers, writers sync.WaitGroup
	folded := make([]map[string]string, 2)
	for number := range folded {
		watcher := watch(t, cut, mxkv.Prefix("key:"), mxkv.Values())
		items := map[string]string{}
		folded[number] = items
		watchers.Add(1)
		go func() {
			defer watchers.Done()
			for watcher.Next() {
				for _, change := range watcher.Changes().Changes {
					switch change.Kind {
					case mxkv.ChangePut:
						items[change.Key] = string(change.Value)
					case mxkv.ChangeDeleted, mxkv.ChangeEvicted:
						delete(items, change.Key)
					case mxkv.ChangeRangeDeleted, mxkv.ChangeFlushed:
						maps.DeleteFunc(items, func(key, _ string) bool { return change.Range.Contains(key) })
					}
				}
				if _, ends := items["key:end"]; ends && watcher.Changes().Position != "" {
					return
				}
			}
			t.Error(watcher.Err())
		}()
	}
	for seed := range uint64(3) {
		writers.Add(1)
		go func() {
			defer writers.Done()
			chance := rand.New(rand.NewPCG(seed, 1))
			for turn := range 2500 {
				key := fmt.Sprintf("key:%02d", chance.IntN(40))
				var err error
				switch what := chance.IntN(20); {
				case what < 13:
					err = client.Set(ctx, key, bytes.Repeat(fmt.Appendf(nil, "%d-%d", seed, turn), 1+what))
				case what < 16:
					err = client.Delete(ctx, key)
				case what < 18:
					err = client.Batch(ctx, func(b *mxkv.Batch) error { b.Set(key, nil); b.Set("key:07", []byte(key)); return nil })
				case what < 19:
					_, err = client.DeleteRangeAtOnce(ctx, mxkv.Prefix(key[:len(key)-1]))
				default:
					err = client.Touch(ctx, key, 0)
				}
				if err != nil && !errors.Is(err, mxkv.ErrNotFound) {
					t.Error(err)
				}
			}
		}()
	}
	writers.Wait()
	must(t, client.Set(ctx, "key:end", nil))
	watchers.Wait()
	held := map[string]string{}
	for item, err := range client.Scan(ctx, mxkv.Prefix("key:")) {
		must(t, err)
		held[item.Key] = string(item.Value)
	}
	for _, items := range folded {
		if !maps.Equal(items, held) {
			t.Errorf("%v, not %v", items, held)
		}
	}
	if hurt.cuts.Load() < 5 {
		t.Error(hurt.cuts.Load(), " cuts")
	}
}

func nearCache(t *testing.T, hurt *network, options mxkv.NearOptions) (*mxkv.NearCache, *mxkv.Client) {
	t.Helper()
	client := mxkv.New(address(t, "MXKV_PORT"), mxkv.Options{Dial: hurt.dial, RetryWait: time.Millisecond, Timeout: time.Minute})
	near, err := client.NearCache(context.Background(), mxkv.Prefix("user:"), options)
	must(t, err)
	t.Cleanup(func() { _ = near.Close(); _ = client.Close() })
	waitUntil(t, "the cache is live", near.IsLive)
	return near, client
}

func entries(near *mxkv.NearCache) int {
	found, _ := near.Size()
	return found
}

func get(t *testing.T, near *mxkv.NearCache, key string) string {
	t.Helper()
	value, err := near.Get(context.Background(), key)
	if errors.Is(err, mxkv.ErrNotFound) {
		return "none"
	}
	must(t, err)
	return string(value)
}

func TestHitsAskNobodyAndChangesAreFollowed(t *testing.T) {
	direct, ctx := connect(t, mxkv.Options{}), context.Background()
	hurt := &network{}
	near, _ := nearCache(t, hurt, mxkv.NearOptions{MaxStale: time.Minute})
	must(t, direct.Set(ctx, "user:1", []byte("a")))
	waitUntil(t, "both are kept", func() bool {
		return get(t, near, "user:1") == "a" && get(t, near, "user:none") == "none" && entries(near) == 2
	})
	before := hurt.reads.Load()
	for range 100 {
		equal(t, get(t, near, "user:1")+get(t, near, "user:none"), "anone")
	}
	equal(t, hurt.reads.Load(), before)
	must(t, direct.Set(ctx, "user:1", []byte("b")))
	must(t, direct.Set(ctx, "user:none", []byte("c")))
	waitUntil(t, "the changed keys are dropped", func() bool { return entries(near) == 0 })
	equal(t, get(t, near, "user:1")+get(t, near, "user:none"), "bc")
	_, err := direct.DeleteRangeAtOnce(ctx, mxkv.Prefix("user:"))
	must(t, err)
	waitUntil(t, "the deleted keys are dropped", func() bool { return entries(near) == 0 })
	equal(t, get(t, near, "user:1"), "none")
	must(t, direct.FlushAll(ctx))
	waitUntil(t, "the flushed keys are dropped", func() bool { return entries(near) == 0 })
	for _, key := range []string{"", "other"} {
		_, err := near.Get(ctx, key)
		is(t, err, mxkv.ErrClient)
		is(t, near.Set(ctx, key, nil), mxkv.ErrClient)
	}
}

func TestTimesToLiveEndEntries(t *testing.T) {
	direct, ctx := connect(t, mxkv.Options{}), context.Background()
	near, _ := nearCache(t, &network{}, mxkv.NearOptions{MaxStale: time.Minute})
	must(t, direct.Set(ctx, "user:1", []byte("a")))
	waitUntil(t, "it is kept", func() bool { return get(t, near, "user:1") == "a" && entries(near) == 1 })
	must(t, direct.Touch(ctx, "user:1", time.Second))
	waitUntil(t, "it has expired", func() bool { return get(t, near, "user:1") == "none" })
	must(t, direct.Set(ctx, "user:2", []byte("a"), mxkv.Expire(time.Second)))
	waitUntil(t, "it has expired", func() bool { return get(t, near, "user:2") == "none" })
}

func TestOwnWritesAreReadBack(t *testing.T) {
	connect(t, mxkv.Options{})
	near, client := nearCache(t, &network{delay: 20 * time.Millisecond}, mxkv.NearOptions{})
	var group sync.WaitGroup
	for number := range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			ctx, key := context.Background(), fmt.Sprint("user:", number)
			for turn := range 300 {
				must(t, near.Set(ctx, key, fmt.Append(nil, turn)))
				for range 3 {
					equal(t, get(t, near, key), strconv.Itoa(turn))
				}
				must(t, near.Writing(func() error { _, err := client.Increment(ctx, key, 1); return err }, key))
				equal(t, get(t, near, key), strconv.Itoa(turn+1))
				if turn%10 == 0 {
					must(t, near.Delete(ctx, key))
					equal(t, get(t, near, key), "none")
				}
			}
		}()
	}
	group.Wait()
}

func TestTheLeastRecentlyUsedEntriesGo(t *testing.T) {
	direct, ctx := connect(t, mxkv.Options{}), context.Background()
	for number := range 100 {
		must(t, direct.Set(ctx, fmt.Sprintf("user:%02d", number), make([]byte, 1000)))
	}
	must(t, direct.Set(ctx, "user:large", make([]byte, 20000)))
	hurt := &network{}
	const most = 10 * 1170
	near, _ := nearCache(t, hurt, mxkv.NearOptions{MaxStale: time.Minute, MaxBytes: most})
	for number := range 100 {
		for _, key := range []string{"user:00", fmt.Sprintf("user:%02d", number), "user:large"} {
			get(t, near, key)
		}
		if _, bytes := near.Size(); bytes > most {
			t.Fatal(bytes)
		}
	}
	equal(t, entries(near), 10)
	asked := func(key string) bool {
		before := hurt.reads.Load()
		get(t, near, key)
		return hurt.reads.Load() > before
	}
	equal(t, asked("user:00"), false)
	equal(t, asked("user:large"), true)
	equal(t, asked("user:50"), true)
}

func TestNoReadIsStalerThanTheBoundAlthoughLinesAreHeldBack(t *testing.T) {
	const bound, keys = 300 * time.Millisecond, 1000
	direct, ctx := connect(t, mxkv.Options{}), context.Background()
	hurt := &network{delay: 3 * bound, cutEvery: 30_000}
	near, _ := nearCache(t, hurt, mxkv.NearOptions{MaxStale: bound})
	begin := time.Now()
	var mutex sync.Mutex
	var answered [keys][]time.Duration // when value `n` of a key was answered, at the latest
	var newest, stale, reads atomic.Int64
	var done atomic.Bool
	name := func(number int64) string { return fmt.Sprint("user:", number) }
	write := func(number int64) {
		mutex.Lock()
		value := len(answered[number])
		mutex.Unlock()
		newest.Store(number)
		if err := direct.Set(ctx, name(number), fmt.Append(nil, value)); err != nil {
			t.Error(err)
		}
		mutex.Lock()
		answered[number] = append(answered[number], time.Since(begin))
		mutex.Unlock()
	}
	for number := range int64(keys) {
		write(number)
	}
	var group sync.WaitGroup
	group.Add(5)
	go func() {
		defer group.Done()
		for !done.Load() {
			write(rand.Int64N(keys))
			time.Sleep(time.Duration(rand.IntN(int(2 * time.Millisecond))))
		}
	}()
	for range 4 {
		go func() {
			defer group.Done()
			for !done.Load() {
				number := newest.Load()
				if rand.IntN(2) == 0 {
					number = rand.Int64N(keys)
				}
				now := time.Since(begin)
				text, err := near.Get(ctx, name(number))
				value, wrong := strconv.Atoi(string(text))
				if err != nil || wrong != nil {
					t.Error(err, wrong)
				}
				reads.Add(1)
				mutex.Lock()
				if value+1 < len(answered[number]) && answered[number][value+1] < now {
					stale.Add(1)
					if age := now - answered[number][value+1]; age > bound {
						t.Errorf("%s is stale by %v", name(number), age)
						done.Store(true)
					}
				}
				mutex.Unlock()
			}
		}()
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end) && !done.Load(); time.Sleep(10 * time.Millisecond) {
		if stale.Load() > 2000 && hurt.cuts.Load() > 2 && reads.Load() > hurt.reads.Load()+10_000 {
			break
		}
	}
	done.Store(true)
	group.Wait()
	if stale.Load() == 0 || reads.Load() <= hurt.reads.Load() {
		t.Error(stale.Load(), " stale reads of ", reads.Load())
	}
}

// One or several goroutines read ten thousand keys again and again: go test -run - -bench NearCache
func BenchmarkNearCacheHits(b *testing.B) {
	const items = 10_000
	port := os.Getenv("MXKV_PORT")
	if port == "" {
		b.Skip("MXKV_PORT is not set")
	}
	client := mxkv.New("127.0.0.1:"+port, mxkv.Options{})
	defer client.Close()
	ctx := context.Background()
	names := make([]string, items)
	for number := range names {
		names[number] = fmt.Sprint("bench:near:", number)
		if err := client.Set(ctx, names[number], make([]byte, 100)); err != nil {
			b.Fatal(err)
		}
	}
	near, err := client.NearCache(ctx, mxkv.Prefix("bench:near:"), mxkv.NearOptions{MaxStale: 10 * time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer near.Close()
	for entries(near) < items || !near.IsLive() {
		for _, name := range names {
			_, _ = near.Get(ctx, name)
		}
	}
	b.Run("one", func(b *testing.B) {
		for number := range b.N {
			_, _ = near.Get(ctx, names[number%items])
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hits/s")
	})
	b.Run("all", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for number := rand.IntN(items); pb.Next(); number++ {
				_, _ = near.Get(ctx, names[number%items])
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hits/s")
	})
	if _, err := client.DeleteRange(ctx, mxkv.Prefix("bench:near:")); err != nil {
		b.Error(err)
	}
}
