package mxkv

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of errors, for errors.Is.
var (
	ErrNotFound       = errors.New("mxkv: there is no such key")
	ErrNotStored      = errors.New("mxkv: not stored")
	ErrStale          = errors.New("mxkv: the key has another unique by now")
	ErrClient         = errors.New("mxkv: the request is wrong")
	ErrBadCursor      = errors.New("mxkv: the cursor is not valid, or belongs to another range")
	ErrRangeTooLarge  = errors.New("mxkv: too many keys in the range")
	ErrForbidden      = errors.New("mxkv: forbidden, or not logged in")
	ErrAuthentication = errors.New("mxkv: wrong name or password")
	ErrServer         = errors.New("mxkv: the server cannot execute the request now")
	ErrTooLarge       = errors.New("mxkv: the value is too large")
	ErrOutOfMemory    = errors.New("mxkv: the server has no memory left")
	ErrJournal        = errors.New("mxkv: the server cannot write its journal")
	ErrConnection     = errors.New("mxkv: no connection, or it was lost")
	ErrProtocol       = errors.New("mxkv: malformed reply")
	ErrTimeout        = errors.New("mxkv: no reply in time")
	ErrTLS            = errors.New("mxkv: TLS failed, for example by a certificate without trust")
	ErrAddress        = errors.New("mxkv: no address of a server")
	ErrNotDone        = errors.New("mxkv: the operation was not executed yet")
	ErrTooOld         = errors.New("mxkv: the server no longer has the changes behind the position of the watch")
	ErrHistoryLost    = errors.New("mxkv: the position of the watch is of another process of the server, or of another server")
	ErrClosed         = errors.New("mxkv: the client is closed")
)

// Error is an error that the server answered. The connection stays usable.
type Error struct {
	Text      string // in the server's words
	Operation int    // which operation of a batch or pipeline failed, from 0; otherwise -1
	kinds     []error
}

func (e *Error) Error() string {
	text := e.kinds[0].Error()
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.Operation >= 0 {
		text = fmt.Sprintf("%s (operation %d)", text, e.Operation)
	}
	return text
}

// Unwrap returns the kinds of the error, the narrowest first.
func (e *Error) Unwrap() []error { return e.kinds }

var kindsOfText = []struct {
	beginning string
	kinds     []error
}{
	{"CLIENT_ERROR bad cursor", []error{ErrBadCursor, ErrClient}},
	{"CLIENT_ERROR the cursor leads out of the range", []error{ErrBadCursor, ErrClient}},
	{"CLIENT_ERROR too many keys in the range", []error{ErrRangeTooLarge, ErrClient}},
	{"CLIENT_ERROR authentication failure", []error{ErrAuthentication, ErrForbidden, ErrClient}},
	{"CLIENT_ERROR unauthenticated", []error{ErrForbidden, ErrClient}},
	{"CLIENT_ERROR forbidden", []error{ErrForbidden, ErrClient}},
	{"CLIENT_ERROR", []error{ErrClient}},
	{"SERVER_ERROR object too large for cache", []error{ErrTooLarge, ErrServer}},
	{"SERVER_ERROR out of memory", []error{ErrOutOfMemory, ErrServer}},
	{"SERVER_ERROR journal", []error{ErrJournal, ErrServer}},
	{"SERVER_ERROR", []error{ErrServer}},
	{"ERROR", []error{ErrClient}},
}

// errorOf returns the error that a line of a reply stands for, or nil.
func errorOf(line string, operation int) error {
	for _, known := range kindsOfText {
		if strings.HasPrefix(line, known.beginning) {
			_, text, _ := strings.Cut(line, " ")
			return &Error{text, operation, known.kinds}
		}
	}
	return nil
}

var kindsOfCode = map[string]error{"NF": ErrNotFound, "NS": ErrNotStored, "EX": ErrStale}

// outcome returns the error that the code of a reply to a write stands for, nil for HD.
func outcome(reply reply) error {
	switch kind := kindsOfCode[reply.words[0]]; {
	case kind != nil:
		return &Error{"", -1, []error{kind}}
	case reply.words[0] == "HD":
		return nil
	}
	return unexpected(reply)
}

// batchError tells why operation `number` kept a batch from being done.
func batchError(number int, why string) error {
	if kind := kindsOfCode[why]; kind != nil {
		return &Error{"", number, []error{kind}}
	}
	if err := errorOf(why, number); err != nil {
		return err
	}
	return &Error{why, number, []error{ErrClient}}
}

func unexpected(reply reply) error {
	return fmt.Errorf("%w: %.100q", ErrProtocol, strings.Join(reply.words, " "))
}

// isAnswer tells whether an error leaves the connection in step.
func isAnswer(err error) bool {
	var answer *Error
	return errors.As(err, &answer)
}
