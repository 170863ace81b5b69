package mxkv

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// Range is keys in the order of their bytes. The zero value is all keys.
type Range struct {
	prefix       string
	start, stop  string
	emptyPrefix  bool // made by Prefix(""), perhaps by mistake
	excludeStart bool
	includeStop  bool
}

// Prefix is all keys that begin with the prefix.
func Prefix(prefix string) Range { return Range{prefix: prefix, emptyPrefix: prefix == ""} }

// Between is the keys from start (inclusive) to stop (exclusive). An empty key is no bound.
func Between(start, stop string) Range { return Range{start: start, stop: stop} }

// ExcludeStart leaves out the start of a Range that Between made.
func (r Range) ExcludeStart() Range { r.excludeStart = true; return r }

// IncludeStop adds the stop to a Range that Between made.
func (r Range) IncludeStop() Range { r.includeStop = true; return r }

// Contains tells whether the range has this key.
func (r Range) Contains(key string) bool {
	if r.prefix != "" {
		return strings.HasPrefix(key, r.prefix)
	}
	above := r.start == "" || key > r.start || (key == r.start && !r.excludeStart)
	below := r.stop == "" || key < r.stop || (key == r.stop && r.includeStop)
	return above && below
}

// words returns the words of a line for the start and end of a range.
func (r Range) words(reverse bool) string {
	direction := ""
	if reverse {
		direction = " r"
	}
	if r.prefix != "" {
		if needsBase64(r.prefix) {
			return encode(r.prefix) + " p b" + direction
		}
		return r.prefix + " p" + direction
	}
	near, far, nearIn, farIn := r.start, r.stop, !r.excludeStart, r.includeStop
	if reverse {
		near, far, nearIn, farIn = far, near, farIn, nearIn
	}
	encoded := needsBase64(near) || needsBase64(far) || near == "-"
	bounded := near != ""
	if !bounded && encoded { // "-" in base64 would be a key, so use the first or last possible key
		near = "\x00"
		if reverse {
			near = strings.Repeat("\xff", longestKey)
		}
	}
	var line strings.Builder
	switch {
	case encoded:
		line.WriteString(encode(near) + " b")
	case bounded:
		line.WriteString(near)
	default:
		line.WriteString("-")
	}
	if bounded && !nearIn {
		line.WriteString(" o")
	}
	if far != "" {
		if encoded {
			far = encode(far)
		}
		line.WriteString(" H" + far)
		if farIn {
			line.WriteString(" i")
		}
	}
	return line.String() + direction
}

// ScanOption says which parts of a range to return, and how.
type ScanOption func(*scanning)

type scanning struct {
	reverse, snapshot, keysOnly bool
	limit, pageItems            int
}

// Reverse walks from the high keys to the low ones.
func Reverse() ScanOption { return func(s *scanning) { s.reverse = true } }

// KeysOnly leaves out values and flags.
func KeysOnly() ScanOption { return func(s *scanning) { s.keysOnly = true } }

// Snapshot makes each page one moment.
func Snapshot() ScanOption { return func(s *scanning) { s.snapshot = true } }

// Limit is the most items of all pages together.
func Limit(items int) ScanOption { return func(s *scanning) { s.limit = max(items, 0) } }

// PageItems is the most items of one page; the server may end it earlier.
func PageItems(items int) ScanOption { return func(s *scanning) { s.pageItems = max(items, 1) } }

func scanningOf(options []ScanOption) scanning {
	how := scanning{limit: -1, pageItems: 1000}
	for _, option := range options {
		option(&how)
	}
	return how
}

// Page is a part of a range. Cursor is where the next one begins, empty if this was the last.
type Page struct {
	Items  []Item
	Cursor string
}

// Scan walks through a range, a page at a time. It yields each key that exists from the first page to the last, none twice,
// and in strict order, whatever other clients write meanwhile. Between two pages it holds no connection. After a lost
// connection it resumes behind the last page. An error is the last thing that it yields.
func (c *Client) Scan(ctx context.Context, where Range, options ...ScanOption) iter.Seq2[Item, error] {
	how := scanningOf(options)
	return func(yield func(Item, error) bool) {
		cursor, left := "", how.limit
		for left != 0 {
			part := how
			if left > 0 {
				part.pageItems = min(left, how.pageItems)
			}
			page, err := c.page(ctx, where, cursor, part)
			if err != nil {
				yield(Item{}, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if cursor = page.Cursor; cursor == "" {
				return
			}
			if left > 0 {
				left -= len(page.Items)
			}
		}
	}
}

// Page returns the page that begins at a cursor, or the first if the cursor is empty. Use it if another process continues the
// range. Limit and PageItems bound it. A cursor is text without spaces, valid on any connection and after a restart, and not
// signed.
func (c *Client) Page(ctx context.Context, where Range, cursor string, options ...ScanOption) (Page, error) {
	how := scanningOf(options)
	if how.limit > 0 {
		how.pageItems = min(how.limit, how.pageItems)
	}
	return c.page(ctx, where, cursor, how)
}

func (c *Client) page(ctx context.Context, where Range, cursor string, how scanning) (page Page, err error) {
	line := fmt.Sprintf("mr %s A%d c t", where.words(how.reverse), how.pageItems)
	if !how.keysOnly {
		line += " v f"
	}
	if how.snapshot {
		line += " X"
	}
	read := func(in replies) error {
		page = Page{}
		for {
			got, err := in.next()
			if err != nil {
				return err
			}
			switch got.words[0] {
			case "VA", "HD":
				item, err := itemOf(got, "")
				if err != nil {
					return err
				}
				page.Items = append(page.Items, item)
			case "EN":
				page.Cursor, _ = got.flag("G")
				return nil
			default:
				return unexpected(got)
			}
		}
	}
	line, err = goingOn(line, cursor)
	if err != nil {
		return page, err
	}
	err = c.do(ctx, request{[]byte(line), read, always})
	return page, err
}

// goingOn ends a line, with the cursor if there is one.
func goingOn(line, cursor string) (string, error) {
	if strings.ContainsAny(line, "\r\n") {
		return "", wrong("an argument must not have line ends")
	}
	if cursor == "" {
		return line + "\r\n", nil
	}
	if needsBase64(cursor) {
		return "", &Error{"a cursor must not have blanks or control bytes", -1, []error{ErrBadCursor, ErrClient}}
	}
	return line + " G" + cursor + "\r\n", nil
}
