package mxkv

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	longestKey   = 250
	longestLine  = 1 << 16
	longestValue = 1 << 30
)

// reply is one line, and the value behind it if it announces one.
type reply struct {
	words []string
	value []byte // not nil if the line began with VA or WV
}

// flag returns the text behind the letters of a flag, of the first word that begins with them.
func (r reply) flag(letters string) (string, bool) {
	first := 1
	if r.value != nil {
		first = 2
	}
	for _, word := range r.words[min(first, len(r.words)):] {
		if rest, found := strings.CutPrefix(word, letters); found {
			return rest, true
		}
	}
	return "", false
}

func (r reply) number(letters string) (int64, error) {
	text, found := r.flag(letters)
	if !found {
		return 0, nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, unexpected(r)
	}
	return number, nil
}

// key returns the key in a line of a range.
func (r reply) key() (string, error) {
	text, found := r.flag("k")
	if !found {
		return "", unexpected(r)
	}
	if _, encoded := r.flag("b"); !encoded {
		return text, nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", unexpected(r)
	}
	return string(key), nil
}

// replies reads one reply after the other.
type replies struct{ in *bufio.Reader }

// next returns the next reply; an error line is an *Error.
func (r replies) next() (reply, error) {
	line, err := r.line()
	if err != nil {
		return reply{}, err
	}
	if err := errorOf(line, -1); err != nil {
		return reply{}, err
	}
	found := reply{words: strings.Split(line, " ")}
	if found.words[0] != "VA" && found.words[0] != "WV" {
		return found, nil
	}
	if len(found.words) < 2 {
		return reply{}, unexpected(found)
	}
	size, err := strconv.ParseUint(found.words[1], 10, 31)
	if err != nil || size > longestValue {
		return reply{}, unexpected(found)
	}
	block := make([]byte, size+2)
	if _, err := io.ReadFull(r.in, block); err != nil {
		return reply{}, err
	}
	if string(block[size:]) != "\r\n" {
		return reply{}, fmt.Errorf("%w: a value is longer than announced", ErrProtocol)
	}
	found.value = block[:size:size]
	return found, nil
}

func (r replies) line() (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > longestLine {
			return "", fmt.Errorf("%w: a line does not end", ErrProtocol)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	text, ended := strings.CutSuffix(string(line), "\r\n")
	if !ended {
		return "", fmt.Errorf("%w: a line without CR LF", ErrProtocol)
	}
	return text, nil
}

// repeat says whether a request may be sent again if it is unknown whether it took effect.
type repeat int

const (
	always  repeat = iota // it changes nothing
	ifAsked               // it is idempotent
	never
)

// request is the bytes to send, and the function that reads the reply.
type request struct {
	data   []byte
	read   func(replies) error
	repeat repeat
}

func needsBase64(key string) bool {
	for at := 0; at < len(key); at++ {
		if key[at] <= ' ' || key[at] == 0x7f {
			return true
		}
	}
	return false
}

func encode(key string) string { return base64.StdEncoding.EncodeToString([]byte(key)) }

// keyWords returns the word for a key of mg, ms, md or ma, and the flag that it needs.
func keyWords(key string) (word, flag string, err error) {
	if len(key) == 0 || len(key) > longestKey {
		return "", "", wrong("a key must have 1 to %d bytes, not %d", longestKey, len(key))
	}
	if !needsBase64(key) {
		return key, "", nil
	}
	return encode(key), " b", nil
}

// wrong is a request that is not even sent.
func wrong(format string, arguments ...any) error {
	return &Error{fmt.Sprintf(format, arguments...), -1, []error{ErrClient}}
}

const longestRelative = 30 * 24 * time.Hour

// exptime converts a time to live to the protocol's form; 0 is for ever, and parts of a second are rounded up.
func exptime(ttl time.Duration) int64 {
	seconds := int64((ttl + time.Second - 1) / time.Second)
	if ttl > longestRelative {
		return time.Now().Unix() + seconds
	}
	return seconds
}
