package mxkv

import (
	"context"
	"fmt"
	"iter"
	"math/big"
	"strconv"
	"time"
)

// Size is the number of items, and the bytes of their keys and values. Within is the error in per cent that 19 of 20 estimates
// do not exceed; 0 if the size is exact.
type Size struct {
	Items, Bytes int64
	Within       float64
}

// Numbers sums up the numeric values of a range. Least and Greatest are nil if no value is a number.
type Numbers struct {
	Items, Numeric  int64
	Total           *big.Int
	Least, Greatest *big.Int
}

// Branch is the keys that share a prefix up to a delimiter. Rest is true of the last one, the keys without a delimiter.
type Branch struct {
	Prefix       string
	Rest         bool
	Items, Bytes int64
}

// Count returns how many items a range has.
func (c *Client) Count(ctx context.Context, where Range) (int64, error) {
	size, err := c.Size(ctx, where)
	return size.Items, err
}

// Size counts items and bytes.
func (c *Client) Size(ctx context.Context, where Range) (Size, error) {
	return c.size(ctx, where, " e")
}

// EstimateSize counts a sample, in less time.
func (c *Client) EstimateSize(ctx context.Context, where Range) (Size, error) {
	return c.size(ctx, where, "")
}

func (c *Client) size(ctx context.Context, where Range, how string) (size Size, err error) {
	err = c.do(ctx, request{[]byte("mc " + where.words(false) + how + "\r\n"), func(in replies) error {
		got, err := done(in)
		if err != nil {
			return err
		}
		if within, estimated := got.flag("~"); estimated {
			if size.Within, err = strconv.ParseFloat(within, 64); err != nil {
				return unexpected(got)
			}
		}
		return numbers(got, pair{"A", &size.Items}, pair{"B", &size.Bytes})
	}, always})
	return size, err
}

// Numbers adds up the values that are numbers.
func (c *Client) Numbers(ctx context.Context, where Range) (sums Numbers, err error) {
	err = c.do(ctx, request{[]byte("mc " + where.words(false) + " Msnx\r\n"), func(in replies) error {
		got, err := done(in)
		if err != nil {
			return err
		}
		for letters, into := range map[string]**big.Int{"Ms": &sums.Total, "Mn": &sums.Least, "Mx": &sums.Greatest} {
			if text, told := got.flag(letters); told {
				var fine bool
				if *into, fine = new(big.Int).SetString(text, 10); !fine {
					return unexpected(got)
				}
			}
		}
		return numbers(got, pair{"A", &sums.Items}, pair{"N", &sums.Numeric})
	}, always})
	return sums, err
}

// Tree counts by prefix, each up to the next delimiter behind the range's own prefix. Each page ends with the keys without a
// delimiter.
func (c *Client) Tree(ctx context.Context, where Range, delimiter string) iter.Seq2[Branch, error] {
	return func(yield func(Branch, error) bool) {
		for cursor := ""; ; {
			branches, next, err := c.branches(ctx, where, delimiter, cursor)
			if err != nil {
				yield(Branch{}, err)
				return
			}
			for _, branch := range branches {
				if !yield(branch, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

func (c *Client) branches(ctx context.Context, where Range, delimiter, cursor string) (found []Branch, next string, err error) {
	line, err := goingOn("mc "+where.words(false)+" e D"+delimiter, cursor)
	if err != nil {
		return nil, "", err
	}
	read := func(in replies) error {
		found = nil
		for {
			got, err := in.next()
			if err != nil {
				return err
			}
			var branch Branch
			if got.words[0] == "EN" {
				branch.Rest = true
				next, _ = got.flag("G")
				err = numbers(got, pair{"K", &branch.Items}, pair{"B", &branch.Bytes})
				if branch.Items > 0 {
					found = append(found, branch)
				}
				return err
			}
			if branch.Prefix, err = got.key(); err != nil {
				return err
			}
			if err := numbers(got, pair{"A", &branch.Items}, pair{"B", &branch.Bytes}); err != nil {
				return err
			}
			found = append(found, branch)
		}
	}
	err = c.do(ctx, request{[]byte(line), read, always})
	return found, next, err
}

// DeleteRange deletes all keys of a range, page by page, and returns their number. Other clients see the state in between, and
// keys stored meanwhile may be deleted, too. Count returns the number beforehand. Prefix("") is refused: Range{} is all keys.
func (c *Client) DeleteRange(ctx context.Context, where Range) (total int64, err error) {
	for cursor := ""; ; {
		removed, next, err := c.remove(ctx, where, "", cursor)
		total += removed
		if err != nil || next == "" {
			return total, err
		}
		cursor = next
	}
}

// DeleteRangeAtOnce deletes all keys of a range at one moment, or none: ErrRangeTooLarge if there are more than the server locks.
func (c *Client) DeleteRangeAtOnce(ctx context.Context, where Range) (int64, error) {
	removed, _, err := c.remove(ctx, where, " X", "")
	return removed, err
}

func (c *Client) remove(ctx context.Context, where Range, how, cursor string) (removed int64, next string, err error) {
	if where.emptyPrefix {
		return 0, "", wrong("an empty prefix would delete all keys: name them by Range{}")
	}
	line, err := goingOn("mx "+where.words(false)+how, cursor)
	if err != nil {
		return 0, "", err
	}
	err = c.do(ctx, request{[]byte(line), func(in replies) error {
		got, err := done(in)
		if err != nil {
			return err
		}
		next, _ = got.flag("G")
		return numbers(got, pair{"A", &removed})
	}, ifAsked})
	return removed, next, err
}

// TouchRange gives all keys of a range this time to live, 0 for ever, at one moment, and returns their number.
// ErrRangeTooLarge if there are more than atMost, unless that is 0, or than the server locks; then nothing was done.
func (c *Client) TouchRange(ctx context.Context, where Range, ttl time.Duration, atMost int) (touched int64, err error) {
	line := fmt.Sprintf("mt %s T%d", where.words(false), exptime(ttl))
	if atMost > 0 {
		line += fmt.Sprintf(" A%d", atMost)
	}
	err = c.do(ctx, request{[]byte(line + "\r\n"), func(in replies) error {
		got, err := done(in)
		if err != nil {
			return err
		}
		return numbers(got, pair{"A", &touched})
	}, ifAsked})
	return touched, err
}

type pair struct {
	letters string
	into    *int64
}

func numbers(got reply, pairs ...pair) (err error) {
	for _, pair := range pairs {
		if *pair.into, err = got.number(pair.letters); err != nil {
			return err
		}
	}
	return nil
}

// done reads a reply that is one line beginning with HD.
func done(in replies) (reply, error) {
	got, err := in.next()
	if err == nil && got.words[0] != "HD" {
		err = unexpected(got)
	}
	return got, err
}
