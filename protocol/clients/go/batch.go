package mxkv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Outcome is the result of an operation of a batch, set once the batch was done.
type Outcome[T any] struct {
	value T
	err   error
}

// Value returns the result: ErrNotDone before the batch was done, ErrNotFound if a Get found no item.
func (o *Outcome[T]) Value() (T, error) { return o.value, o.err }

// Batch gathers operations. Each operation sees the effects of the operations before it.
type Batch struct {
	lines bytes.Buffer
	takes []func(reply) error
	err   error // the first operation that cannot even be sent
}

// Batch calls gather, and then executes the gathered operations at one moment, or none of them. If gather returns an error,
// Batch sends nothing and returns that error. If an operation fails, none takes effect, and the *Error has its number and
// the reason.
func (c *Client) Batch(ctx context.Context, gather func(*Batch) error) error {
	var batch Batch
	if err := gather(&batch); err != nil {
		return err
	}
	if batch.err != nil || len(batch.takes) == 0 {
		return batch.err
	}
	data := append(fmt.Appendf(nil, "mb %d\r\n", len(batch.takes)), batch.lines.Bytes()...)
	return c.do(ctx, request{data, batch.read, never})
}

func (b *Batch) read(in replies) error {
	got := make([]reply, 0, len(b.takes))
	for range b.takes {
		one, err := in.next()
		if err != nil {
			return err
		}
		if one.words[0] == "EX" && len(one.words) > 2 {
			number, err := strconv.Atoi(one.words[1])
			if err != nil {
				return unexpected(one)
			}
			return batchError(number-1, strings.Join(one.words[2:], " "))
		}
		got = append(got, one)
	}
	if _, err := done(in); err != nil {
		return err
	}
	for number, take := range b.takes {
		if err := take(got[number]); err != nil {
			return err
		}
	}
	return nil
}

// Get reads an item.
func (b *Batch) Get(key string) *Outcome[Item] {
	found := &Outcome[Item]{err: ErrNotDone}
	line, err := getLine(key)
	b.add([]byte(line), err, func(got reply) error {
		if got.value == nil {
			found.err = &Error{"", -1, []error{ErrNotFound}}
			return nil
		}
		found.value, found.err = itemOf(got, key)
		return found.err
	})
	return found
}

// Set stores a value.
func (b *Batch) Set(key string, value []byte, options ...StoreOption) {
	b.store("", key, value, options)
}

// Add fails with ErrNotStored if the key is there.
func (b *Batch) Add(key string, value []byte, options ...StoreOption) {
	b.store(" ME", key, value, options)
}

// Replace fails with ErrNotStored if the key is not there.
func (b *Batch) Replace(key string, value []byte, options ...StoreOption) {
	b.store(" MR", key, value, options)
}

// Append fails with ErrNotStored if the key is not there.
func (b *Batch) Append(key string, data []byte) { b.store(" MA", key, data, nil) }

// Prepend fails with ErrNotStored if the key is not there.
func (b *Batch) Prepend(key string, data []byte) { b.store(" MP", key, data, nil) }

// CompareAndSwap fails with ErrStale if the key has another unique, with ErrNotFound if it is not there.
func (b *Batch) CompareAndSwap(key string, value []byte, unique uint64, options ...StoreOption) {
	b.store("", key, value, append(slices.Clone(options), ifUnique(unique)))
}

// Delete tells whether the key was there.
func (b *Batch) Delete(key string) *Outcome[bool] { return b.change(key, "md %s%s\r\n") }

// DeleteIf fails with ErrStale if the key has another unique.
func (b *Batch) DeleteIf(key string, unique uint64) *Outcome[bool] {
	return b.change(key, "md %s%s C"+strconv.FormatUint(unique, 10)+"\r\n")
}

// Touch sets the time to live, 0 for ever, and tells whether the key was there.
func (b *Batch) Touch(key string, ttl time.Duration) *Outcome[bool] {
	return b.change(key, "mg %s%s T"+strconv.FormatInt(exptime(ttl), 10)+"\r\n")
}

// Increment adds to a number and tells the new one; it fails with ErrNotFound if the key is not there.
func (b *Batch) Increment(key string, delta uint64) *Outcome[uint64] {
	return b.count(key, "ma %s%s v D"+strconv.FormatUint(delta, 10)+"\r\n")
}

// Decrement is as Increment, and stops at 0.
func (b *Batch) Decrement(key string, delta uint64) *Outcome[uint64] {
	return b.count(key, "ma %s%s v MD D"+strconv.FormatUint(delta, 10)+"\r\n")
}

// IncrementFrom is as Increment; a key that is not there is made with the initial number.
func (b *Batch) IncrementFrom(key string, initial, delta uint64) *Outcome[uint64] {
	return b.count(key, fmt.Sprintf("ma %%s%%s v N0 J%d D%d\r\n", initial, delta))
}

func (b *Batch) store(mode, key string, value []byte, options []StoreOption) {
	line, err := storeLine(mode, key, value, options)
	b.add(line, err, func(reply) error { return nil })
}

func (b *Batch) change(key, format string) *Outcome[bool] {
	made := &Outcome[bool]{err: ErrNotDone}
	b.addFormat(key, format, func(got reply) error {
		made.value, made.err = got.words[0] == "HD", nil
		return nil
	})
	return made
}

func (b *Batch) count(key, format string) *Outcome[uint64] {
	made := &Outcome[uint64]{err: ErrNotDone}
	b.addFormat(key, format, func(got reply) error {
		made.value, made.err = numberOf(got)
		return made.err
	})
	return made
}

func (b *Batch) addFormat(key, format string, take func(reply) error) {
	word, flag, err := keyWords(key)
	b.add(fmt.Appendf(nil, format, word, flag), err, take)
}

func (b *Batch) add(line []byte, err error, take func(reply) error) {
	if err != nil && b.err == nil {
		b.err = err
		if known, fine := err.(*Error); fine {
			known.Operation = len(b.takes)
		}
	}
	b.lines.Write(line)
	b.takes = append(b.takes, take)
}
