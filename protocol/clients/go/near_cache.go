package mxkv

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

const (
	entryBytes    = 160 // of an entry beside its key and value
	marksInStale  = 4   // that are asked for in MaxStale
	noEnd         = time.Duration(1<<63 - 1)
	defaultStale  = 2 * time.Second
	defaultNear   = 64 << 20
	longestSecond = time.Second // the server's times to live are whole seconds, rounded up
)

var errMissing = &Error{"", -1, []error{ErrNotFound}}

// NearOptions of a near cache.
type NearOptions struct {
	MaxBytes int64         // of keys and values, with 160 bytes for each entry; 64 MiB if 0
	MaxStale time.Duration // 2 s if 0
}

// NearCache keeps items of a range in the process, and that there was no item. The server's changes keep it current. The least
// recently used entries go. It is for any number of goroutines.
//
// A value that Get returns was current at some moment at most MaxStale before the call. A goroutine watches the range. Every quarter of
// MaxStale it notes the time and asks the server for a mark, which stands behind all changes that took effect before it was asked for. So
// at the mark the cache has been current since then, and it is live until that time + MaxStale: counting from the mark's arrival would
// trust a delayed packet. While the cache is not live, reads go to the server, and the entries stay.
//
// The line of a change may arrive before the reply to an older read, which has another connection. So each read is in a table of pending
// reads before it is sent. A line for its key, a clear of the cache, and an own write, when it is sent and when it is answered, taint the
// read: its value is returned, but not kept. A change that the read did not see takes effect behind it, so its line comes after the read
// was entered.
//
// The server sends times to live in whole seconds, rounded up. An entry outlives its item by at most a second, or MaxStale if that is less.
//
// Writes of the range should go through Set, Delete or Writing, so that this process reads its own writes; others are seen within
// MaxStale. Two limits: a flush_all with a delay that was sent before the cache began is not noticed, and two values of a key must not have
// the same unique, as the flag E of the meta commands would allow.
type NearCache struct {
	client   *Client
	where    Range
	form     watching
	maxBytes int64
	maxStale time.Duration
	slack    time.Duration
	start    time.Time // the zero of all times below
	cancel   context.CancelFunc
	ended    chan struct{}

	mutex     sync.Mutex
	liveUntil time.Duration
	entries   map[string]*nearEntry
	recent    nearEntry // the ring of entries; next is the most recently used one
	bytes     int64
	pending   map[string][]*nearRead
	follows   bool          // the server will send the changes behind a read that is sent now
	keepsFrom time.Duration // values of reads that were sent before are not kept
	knownAt   time.Duration // lines that come now were written after this time
	position  string
	failure   error
}

type nearEntry struct {
	key            string
	value          []byte // nil: there is no item
	unique         uint64
	end            time.Duration
	previous, next *nearEntry
}

type nearRead struct{ tainted bool }

// NearCache begins a near cache of a range. The error is the server's, if it refuses the watch; the context is for the beginning alone.
func (c *Client) NearCache(ctx context.Context, where Range, options NearOptions) (*NearCache, error) {
	if options.MaxBytes < 0 || options.MaxStale < 0 {
		return nil, wrong("MaxBytes and MaxStale must not be negative")
	}
	if options.MaxBytes == 0 {
		options.MaxBytes = defaultNear
	}
	if options.MaxStale == 0 {
		options.MaxStale = defaultStale
	}
	made := &NearCache{client: c, where: where, form: watching{details: true, kinds: "pdet"}, maxBytes: options.MaxBytes,
		maxStale: options.MaxStale, slack: min(options.MaxStale, longestSecond) - longestSecond, start: time.Now(),
		ended: make(chan struct{}), entries: map[string]*nearEntry{}, pending: map[string][]*nearRead{}}
	made.recent.previous, made.recent.next = &made.recent, &made.recent
	going, cancel := context.WithCancel(context.Background())
	made.cancel = cancel
	stop := context.AfterFunc(ctx, cancel)
	first, err := made.begin(going)
	if !stop() && err == nil {
		first.close()
		err = ended(ctx.Err())
	}
	if err != nil {
		cancel()
		return nil, err
	}
	go made.run(going, first)
	return made, nil
}

// Get returns the value of a key, ErrNotFound if there is none. Do not change the value.
func (n *NearCache) Get(ctx context.Context, key string) ([]byte, error) {
	now := n.now()
	n.mutex.Lock()
	if now < n.liveUntil {
		if entry := n.entries[key]; entry != nil && now < entry.end {
			if n.recent.next != entry {
				entry.unlink()
				entry.link(&n.recent)
			}
			value := entry.value
			n.mutex.Unlock()
			if value == nil {
				return nil, errMissing
			}
			return value, nil
		}
	}
	n.mutex.Unlock()
	return n.fetch(ctx, key)
}

// Set stores a value, as the client does.
func (n *NearCache) Set(ctx context.Context, key string, value []byte, options ...StoreOption) error {
	return n.Writing(func() error { return n.client.Set(ctx, key, value, options...) }, key)
}

// Delete deletes a key; ErrNotFound if there is none.
func (n *NearCache) Delete(ctx context.Context, key string) error {
	return n.Writing(func() error { return n.client.Delete(ctx, key) }, key)
}

// Writing calls a function that writes these keys by the client, so that later reads see these writes, and returns its error.
func (n *NearCache) Writing(write func() error, keys ...string) error {
	for _, key := range keys {
		if err := n.check(key); err != nil {
			return err
		}
	}
	n.forget(keys)
	defer n.forget(keys)
	return write()
}

// IsLive tells whether it answers reads itself.
func (n *NearCache) IsLive() bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.now() < n.liveUntil
}

// Size returns the number of entries, and the bytes that count.
func (n *NearCache) Size() (entries int, bytes int64) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return len(n.entries), n.bytes
}

// Failure returns the error that ended the last connection of the watch; nil while the watch is followed.
func (n *NearCache) Failure() error {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.failure
}

// Close ends the watch. Reads go to the server from then on.
func (n *NearCache) Close() error {
	n.cancel()
	<-n.ended
	return nil
}

func (n *NearCache) now() time.Duration { return time.Since(n.start) }

func (n *NearCache) check(key string) error {
	if len(key) == 0 || !n.where.Contains(key) {
		return wrong("the key is outside of the range of this near cache")
	}
	return nil
}

func (n *NearCache) fetch(ctx context.Context, key string) ([]byte, error) {
	if err := n.check(key); err != nil {
		return nil, err
	}
	word, flag, err := keyWords(key)
	if err != nil {
		return nil, err
	}
	n.mutex.Lock()
	reading := &nearRead{tainted: !n.follows}
	n.pending[key] = append(n.pending[key], reading)
	n.mutex.Unlock()
	sent := n.now()
	var entry *nearEntry
	isCurrent := true
	read := func(in replies) error {
		entry = &nearEntry{key: key, end: noEnd}
		got, err := in.next()
		if err != nil {
			return err
		}
		if got.value == nil {
			if got.words[0] != "EN" {
				return unexpected(got)
			}
			return nil
		}
		item, err := itemOf(got, key)
		if err != nil {
			return err
		}
		for _, sign := range []string{"W", "X", "Z"} { // the item is stale, or its client is to renew it
			if _, said := got.flag(sign); said {
				isCurrent = false
			}
		}
		entry.value, entry.unique = item.Value, item.Unique
		if item.TTL >= 0 {
			entry.end = sent + item.TTL + n.slack
		}
		return nil
	}
	err = n.client.do(ctx, request{[]byte("mg " + word + flag + " v f c t\r\n"), read, always})
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.leave(key, reading)
	if err != nil {
		return nil, err
	}
	if !reading.tainted && isCurrent && sent >= n.keepsFrom {
		n.keep(entry)
	}
	if entry.value == nil {
		return nil, errMissing
	}
	return entry.value, nil
}

func (n *NearCache) leave(key string, reading *nearRead) {
	left := n.pending[key][:0]
	for _, one := range n.pending[key] {
		if one != reading {
			left = append(left, one)
		}
	}
	if len(left) == 0 {
		delete(n.pending, key)
	} else {
		n.pending[key] = left
	}
}

func (e *nearEntry) cost() int64 { return int64(len(e.key) + len(e.value) + entryBytes) }

func (e *nearEntry) unlink() { e.previous.next, e.next.previous = e.next, e.previous }

func (e *nearEntry) link(behind *nearEntry) {
	e.previous, e.next = behind, behind.next
	behind.next.previous = e
	behind.next = e
}

func (n *NearCache) keep(entry *nearEntry) {
	n.drop(n.entries[entry.key])
	if entry.cost() > n.maxBytes {
		return
	}
	n.entries[entry.key] = entry
	entry.link(&n.recent)
	n.bytes += entry.cost()
	for n.bytes > n.maxBytes {
		n.drop(n.recent.previous)
	}
}

func (n *NearCache) drop(entry *nearEntry) {
	if entry != nil {
		delete(n.entries, entry.key)
		entry.unlink()
		n.bytes -= entry.cost()
	}
}

func (n *NearCache) forget(keys []string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, key := range keys {
		n.drop(n.entries[key])
		n.taint(key)
	}
}

func (n *NearCache) taint(key string) {
	for _, reading := range n.pending[key] {
		reading.tainted = true
	}
}

// clear forgets all, the position, too, and keeps nothing until a watch has begun anew.
func (n *NearCache) clear() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.liveUntil, n.follows, n.position, n.bytes = 0, false, "", 0
	clear(n.entries)
	n.recent.previous, n.recent.next = &n.recent, &n.recent
	for key := range n.pending {
		n.taint(key)
	}
}

// run follows the watch, and begins it again.
func (n *NearCache) run(ctx context.Context, current *stream) {
	defer close(n.ended)
	defer n.clear()
	for attempt := 0; ; attempt++ {
		var err error
		if current == nil {
			current, err = n.begin(ctx)
		}
		if err == nil {
			var marked bool
			marked, err = n.follow(ctx, current)
			current.close()
			current = nil
			if marked {
				attempt = 0
			}
		}
		if errors.Is(err, ErrTooOld) || errors.Is(err, ErrHistoryLost) {
			n.clear() // the position is never sent again
		}
		n.mutex.Lock()
		n.failure = err
		n.mutex.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(n.client.waitAfter(attempt)):
		}
	}
}

func (n *NearCache) begin(ctx context.Context) (*stream, error) {
	form, asked := n.form, n.now()
	if n.position != "" { // only this goroutine changes it
		position := n.position
		form.position = &position
	}
	made, err := n.client.openStream(ctx, n.where, form)
	if err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.position, n.knownAt, n.follows = made.position, asked, true
	return made, nil
}

func (n *NearCache) follow(ctx context.Context, current *stream) (marked bool, err error) {
	asked := map[string]time.Duration{} // the times of requests for marks that did not come yet
	ticker := time.NewTicker(max(n.maxStale/marksInStale, time.Millisecond))
	defer ticker.Stop()
	for number := 1; ; number++ {
		now := n.now()
		for _, since := range asked {
			if patience := n.client.options.Timeout; patience > 0 && now-since > patience {
				return marked, fmt.Errorf("%w: no mark", ErrTimeout)
			}
		}
		mark := strconv.Itoa(number)
		asked[mark] = now
		if err := current.askMark(ctx, mark); err != nil {
			return marked, err
		}
		for due := false; !due; {
			select {
			case found, going := <-current.sections:
				if !going {
					return marked, current.err
				}
				since, mine := asked[found.mark]
				mine = mine && found.marked
				n.take(found, mine, since)
				if mine {
					delete(asked, found.mark)
					marked = true
				}
			case <-ticker.C:
				due = true
			}
		}
	}
}

// take applies changes. A mark that was asked for at `since` makes the cache live.
func (n *NearCache) take(found Changes, mine bool, since time.Duration) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, change := range found.Changes {
		n.apply(change)
	}
	if found.Position != "" {
		n.position = found.Position
	}
	if mine {
		n.knownAt, n.liveUntil, n.failure = since, since+n.maxStale, nil
	}
}

func (n *NearCache) apply(change Change) {
	if change.Kind >= ChangeRangeDeleted {
		n.applyToRange(change)
		return
	}
	n.taint(change.Key)
	entry := n.entries[change.Key]
	if entry == nil {
		return
	}
	isSame := change.Kind == ChangePut && entry.value != nil && change.Unique == entry.unique && !change.Stale // as when it was read
	if change.Kind == ChangeTouched {
		entry.end = n.endOf(change)
	} else if !isSame {
		n.drop(entry)
	}
}

func (n *NearCache) applyToRange(change Change) {
	for key := range n.pending {
		if change.Range.Contains(key) {
			n.taint(key)
		}
	}
	for key, entry := range n.entries {
		if !change.Range.Contains(key) {
			continue
		}
		if change.Kind == ChangeRangeTouched {
			entry.end = n.endOf(change)
		} else {
			n.drop(entry)
		}
	}
	if change.Delay > 0 {
		n.keepsFrom = max(n.keepsFrom, n.now()+change.Delay+longestSecond)
	}
}

func (n *NearCache) endOf(change Change) time.Duration {
	if change.TTL < 0 {
		return noEnd
	}
	return n.knownAt + change.TTL + n.slack
}
