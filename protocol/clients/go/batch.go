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

// Outcome is the result of an operation of a batch or pipeline, set once it was executed.
type Outcome[T any] struct {
	value T
	err   error
}

// Value returns the result: ErrNotDone before the execution, ErrNotFound if a Get found no item, in a pipeline the operation's error.
func (o *Outcome[T]) Value() (T, error) { return o.value, o.err }

// Batch gathers operations. Each operation sees the effects of the operations before it.
type Batch struct {
	lines bytes.Buffer
	ends  []int // of each operation's line; begins with 0
	takes []func(got reply, failed error) error
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
		if err := take(got[number], nil); err != nil {
			return err
		}
	}
	return nil
}

// Get reads an item.
func (b *Batch) Get(key string) *Outcome[Item] {
	line, err := getLine(key)
	return add(b, []byte(line), err, func(got reply) (Item, error) {
		if got.value == nil {
			return Item{}, &Error{"", -1, []error{ErrNotFound}}
		}
		return itemOf(got, key)
	})
}

// Set stores a value.
func (b *Batch) Set(key string, value []byte, options ...StoreOption) *Outcome[bool] {
	return b.store("", key, value, options)
}

// Add fails with ErrNotStored if the key is there.
func (b *Batch) Add(key string, value []byte, options ...StoreOption) *Outcome[bool] {
	return b.store(" ME", key, value, options)
}

// Replace fails with ErrNotStored if the key is not there.
func (b *Batch) Replace(key string, value []byte, options ...StoreOption) *Outcome[bool] {
	return b.store(" MR", key, value, options)
}

// Append fails with ErrNotStored if the key is not there.
func (b *Batch) Append(key string, data []byte) *Outcome[bool] { return b.store(" MA", key, data, nil) }

// Prepend fails with ErrNotStored if the key is not there.
func (b *Batch) Prepend(key string, data []byte) *Outcome[bool] {
	return b.store(" MP", key, data, nil)
}

// CompareAndSwap fails with ErrStale if the key has another unique, with ErrNotFound if it is not there.
func (b *Batch) CompareAndSwap(key string, value []byte, unique uint64, options ...StoreOption) *Outcome[bool] {
	return b.store("", key, value, append(slices.Clone(options), ifUnique(unique)))
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

func (b *Batch) store(mode, key string, value []byte, options []StoreOption) *Outcome[bool] {
	line, err := storeLine(mode, key, value, options)
	return add(b, line, err, isDone)
}

func (b *Batch) change(key, format string) *Outcome[bool] {
	line, err := formatLine(key, format)
	return add(b, line, err, isDone)
}

func (b *Batch) count(key, format string) *Outcome[uint64] {
	line, err := formatLine(key, format)
	return add(b, line, err, numberOf)
}

func isDone(got reply) (bool, error) { return got.words[0] == "HD", nil }

func formatLine(key, format string) ([]byte, error) {
	word, flag, err := keyWords(key)
	return fmt.Appendf(nil, format, word, flag), err
}

// add gathers an operation with its line, or with the error that its line cannot be made for.
func add[T any](b *Batch, line []byte, err error, read func(reply) (T, error)) *Outcome[T] {
	if err != nil && b.err == nil {
		b.err = err
		if known, fine := err.(*Error); fine {
			known.Operation = len(b.takes)
		}
	}
	if b.ends == nil {
		b.ends = []int{0}
	}
	b.lines.Write(line)
	b.ends = append(b.ends, b.lines.Len())
	made := &Outcome[T]{err: ErrNotDone}
	b.takes = append(b.takes, func(got reply, failed error) error {
		if failed != nil {
			made.err = failed
			return nil
		}
		made.value, made.err = read(got)
		if isAnswer(made.err) {
			return nil
		}
		return made.err
	})
	return made
}
