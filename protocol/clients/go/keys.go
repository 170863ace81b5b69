package mxkv

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Item is a key with its value and properties. Parts that a request does not return are zero.
type Item struct {
	Key    string
	Value  []byte
	Flags  uint32
	Unique uint64
	TTL    time.Duration // negative for ever
}

// StoreOption says how to store.
type StoreOption func(*storing)

type storing struct {
	flags  uint32
	ttl    time.Duration
	unique *uint64
}

// Expire lets the item expire.
func Expire(after time.Duration) StoreOption { return func(s *storing) { s.ttl = after } }

// Flags stores the client's flags with the value.
func Flags(flags uint32) StoreOption { return func(s *storing) { s.flags = flags } }

func ifUnique(unique uint64) StoreOption { return func(s *storing) { s.unique = &unique } }

const atOnce = 100 // keys whose requests leave before the first reply is read

// Get returns the value of a key, ErrNotFound if there is none.
func (c *Client) Get(ctx context.Context, key string) ([]byte, error) {
	item, err := c.GetItem(ctx, key)
	return item.Value, err
}

// GetItem returns the value of a key with its flags and its unique.
func (c *Client) GetItem(ctx context.Context, key string) (Item, error) {
	found, err := c.GetMany(ctx, []string{key})
	if err != nil {
		return Item{}, err
	}
	item, there := found[key]
	if !there {
		return Item{}, &Error{"", -1, []error{ErrNotFound}}
	}
	return item, nil
}

// GetMany returns the existing items of many keys. Each key is read at its own moment.
func (c *Client) GetMany(ctx context.Context, keys []string) (map[string]Item, error) {
	found := make(map[string]Item, len(keys))
	for some := range slices.Chunk(keys, atOnce) {
		var lines strings.Builder
		for _, key := range some {
			line, err := getLine(key)
			if err != nil {
				return nil, err
			}
			lines.WriteString(line)
		}
		read := func(in replies) error {
			return eachReply(in, len(some), func(number int, got reply) error {
				if got.value == nil {
					return nil
				}
				item, err := itemOf(got, some[number])
				found[item.Key] = item
				return err
			})
		}
		if err := c.do(ctx, request{[]byte(lines.String()), read, always}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Set stores a value.
func (c *Client) Set(ctx context.Context, key string, value []byte, options ...StoreOption) error {
	return c.store(ctx, "", key, value, ifAsked, options)
}

// Add stores a value if the key does not exist, else ErrNotStored.
func (c *Client) Add(ctx context.Context, key string, value []byte, options ...StoreOption) error {
	return c.store(ctx, " ME", key, value, never, options)
}

// Replace stores a value if the key exists, else ErrNotStored.
func (c *Client) Replace(ctx context.Context, key string, value []byte, options ...StoreOption) error {
	return c.store(ctx, " MR", key, value, never, options)
}

// Append puts data behind the existing value; ErrNotStored if there is none.
func (c *Client) Append(ctx context.Context, key string, data []byte) error {
	return c.store(ctx, " MA", key, data, never, nil)
}

// Prepend puts data before the existing value; ErrNotStored if there is none.
func (c *Client) Prepend(ctx context.Context, key string, data []byte) error {
	return c.store(ctx, " MP", key, data, never, nil)
}

// CompareAndSwap stores a value if the item still has this unique; ErrStale if it has another, ErrNotFound if it is gone.
func (c *Client) CompareAndSwap(ctx context.Context, key string, value []byte, unique uint64, options ...StoreOption) error {
	return c.store(ctx, "", key, value, never, append(slices.Clone(options), ifUnique(unique)))
}

func (c *Client) store(ctx context.Context, mode, key string, value []byte, again repeat, options []StoreOption) error {
	line, err := storeLine(mode, key, value, options)
	if err != nil {
		return err
	}
	return c.do(ctx, request{line, readOutcome, again})
}

// Delete deletes a key; ErrNotFound if there is none.
func (c *Client) Delete(ctx context.Context, key string) error {
	return c.change(ctx, key, "md %s%s\r\n", readOutcome, ifAsked)
}

// DeleteIf deletes a key that still has this unique, else ErrStale or ErrNotFound.
func (c *Client) DeleteIf(ctx context.Context, key string, unique uint64) error {
	return c.change(ctx, key, "md %s%s C"+strconv.FormatUint(unique, 10)+"\r\n", readOutcome, never)
}

// Touch sets the time to live of a key, 0 for ever; ErrNotFound if there is none.
func (c *Client) Touch(ctx context.Context, key string, ttl time.Duration) error {
	return c.change(ctx, key, "mg %s%s T"+strconv.FormatInt(exptime(ttl), 10)+"\r\n", readTouched, ifAsked)
}

// Increment adds to a number and returns the new one; ErrNotFound if there is none. It wraps around at 2^64.
func (c *Client) Increment(ctx context.Context, key string, delta uint64) (uint64, error) {
	return c.count(ctx, key, "ma %s%s D"+strconv.FormatUint(delta, 10)+" v\r\n")
}

// Decrement subtracts from a number and returns the new one; ErrNotFound if there is none. It stops at 0.
func (c *Client) Decrement(ctx context.Context, key string, delta uint64) (uint64, error) {
	return c.count(ctx, key, "ma %s%s MD D"+strconv.FormatUint(delta, 10)+" v\r\n")
}

func (c *Client) count(ctx context.Context, key, format string) (number uint64, err error) {
	read := func(in replies) error {
		got, err := in.next()
		if err == nil {
			number, err = numberOf(got)
		}
		return err
	}
	err = c.change(ctx, key, format, read, never)
	return number, err
}

func (c *Client) change(ctx context.Context, key, format string, read func(replies) error, again repeat) error {
	word, flag, err := keyWords(key)
	if err != nil {
		return err
	}
	return c.do(ctx, request{fmt.Appendf(nil, format, word, flag), read, again})
}

// FlushAll removes all items.
func (c *Client) FlushAll(ctx context.Context) error {
	return c.do(ctx, wordRequest("flush_all\r\n", "OK", nil, ifAsked))
}

// Version returns memcached's version and mxkv's.
func (c *Client) Version(ctx context.Context) (version string, err error) {
	err = c.do(ctx, wordRequest("version\r\n", "VERSION", &version, always))
	return version, err
}

// Stats returns the statistics of a group, or the general ones if it is empty.
func (c *Client) Stats(ctx context.Context, group string) (map[string]string, error) {
	found := map[string]string{}
	read := func(in replies) error {
		for {
			got, err := in.next()
			if err != nil {
				return err
			}
			switch {
			case got.words[0] == "STAT" && len(got.words) > 1:
				found[got.words[1]] = strings.Join(got.words[2:], " ")
			case got.words[0] == "END" || got.words[0] == "RESET":
				return nil
			default:
				return unexpected(got)
			}
		}
	}
	line, err := goingOn(strings.TrimSpace("stats "+group), "")
	if err != nil {
		return nil, err
	}
	return found, c.do(ctx, request{[]byte(line), read, always})
}

func getLine(key string) (string, error) {
	word, flag, err := keyWords(key)
	return "mg " + word + flag + " v f c\r\n", err
}

func storeLine(mode, key string, value []byte, options []StoreOption) ([]byte, error) {
	word, flag, err := keyWords(key)
	if err != nil {
		return nil, err
	}
	var how storing
	for _, option := range options {
		option(&how)
	}
	line := fmt.Appendf(make([]byte, 0, len(value)+320), "ms %s %d%s%s", word, len(value), flag, mode)
	if how.flags != 0 {
		line = fmt.Appendf(line, " F%d", how.flags)
	}
	if how.ttl != 0 {
		line = fmt.Appendf(line, " T%d", exptime(how.ttl))
	}
	if how.unique != nil {
		line = fmt.Appendf(line, " C%d", *how.unique)
	}
	line = append(line, "\r\n"...)
	return append(append(line, value...), "\r\n"...), nil
}

// eachReply reads `count` replies, also those behind an error line, and returns the first error.
func eachReply(in replies, count int, take func(number int, got reply) error) (first error) {
	for number := range count {
		got, err := in.next()
		if err == nil {
			err = take(number, got)
		}
		if err != nil && !isAnswer(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func readOutcome(in replies) error {
	got, err := in.next()
	if err != nil {
		return err
	}
	return outcome(got)
}

func readTouched(in replies) error {
	got, err := in.next()
	if err == nil && got.words[0] == "EN" {
		return &Error{"", -1, []error{ErrNotFound}}
	}
	if err != nil {
		return err
	}
	return outcome(got)
}

func numberOf(got reply) (uint64, error) {
	if got.value == nil {
		if err := outcome(got); err != nil {
			return 0, err
		}
		return 0, unexpected(got)
	}
	number, err := strconv.ParseUint(strings.TrimRight(string(got.value), " "), 10, 64)
	if err != nil {
		return 0, unexpected(got)
	}
	return number, nil
}

// itemOf returns the item of a reply with a value; `key` is its key if the reply has none.
func itemOf(got reply, key string) (Item, error) {
	item := Item{Key: key, Value: got.value, TTL: -1}
	if key == "" {
		told, err := got.key()
		if err != nil {
			return item, err
		}
		item.Key = told
	}
	flags, err := got.number("f")
	if err != nil {
		return item, err
	}
	ttl, err := got.number("t")
	if err != nil {
		return item, err
	}
	if _, told := got.flag("t"); told && ttl >= 0 {
		item.TTL = time.Duration(ttl) * time.Second
	}
	if text, told := got.flag("c"); told {
		if item.Unique, err = strconv.ParseUint(text, 10, 64); err != nil {
			return item, unexpected(got)
		}
	}
	item.Flags = uint32(flags)
	return item, nil
}

func wordRequest(line, wanted string, rest *string, again repeat) request {
	read := func(in replies) error {
		got, err := in.next()
		if err != nil {
			return err
		}
		if got.words[0] != wanted {
			return unexpected(got)
		}
		if rest != nil {
			*rest = strings.Join(got.words[1:], " ")
		}
		return nil
	}
	return request{[]byte(line), read, again}
}
