package mxkv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// stream is one connection with one watch. A goroutine reads its sections.
type stream struct {
	*connection
	position string        // behind which it began
	sections chan Changes  // closed at the end, when `err` is set
	done     chan struct{} // closed by close
	err      error
	patience time.Duration // for writes
	stop     func() bool   // of the context
}

// openStream begins a watch. It ends with the context.
func (c *Client) openStream(ctx context.Context, where Range, form watching) (*stream, error) {
	line, err := form.line(where)
	if err != nil {
		return nil, err
	}
	made := &stream{sections: make(chan Changes), done: make(chan struct{}), patience: c.options.Timeout}
	if c.options.Hook != nil {
		var end func(error)
		ctx, end = c.options.Hook(ctx, "mw", c.address)
		defer func() { end(err) }()
	}
	if made.connection, err = c.dial(ctx); err != nil {
		return nil, err
	}
	made.stop = context.AfterFunc(ctx, func() { _ = made.Close() })
	if made.position, err = made.begin(ctx, line); err != nil {
		made.close()
		return nil, err
	}
	go made.run(ctx)
	return made, nil
}

func (s *stream) begin(ctx context.Context, line string) (string, error) {
	if s.patience > 0 {
		_ = s.SetDeadline(time.Now().Add(s.patience))
	}
	_, err := s.Write([]byte(line))
	var answer reply
	if err == nil {
		answer, err = s.replies.next()
	}
	if err != nil {
		return "", streamError(ctx, err)
	}
	_ = s.SetDeadline(time.Time{})
	return begun(answer)
}

func (s *stream) run(ctx context.Context) {
	defer close(s.sections)
	for {
		found, err := s.replies.section()
		if err != nil {
			s.err = streamError(ctx, err)
			return
		}
		select {
		case s.sections <- found:
		case <-s.done:
			s.err = ErrClosed
			return
		}
	}
}

// askMark asks for a mark: the server sends all changes up to now, and then Changes with this mark.
func (s *stream) askMark(ctx context.Context, mark string) error {
	if s.patience > 0 {
		_ = s.SetWriteDeadline(time.Now().Add(s.patience))
	}
	if _, err := s.Write([]byte("mu Ow m" + mark + "\r\n")); err != nil {
		return streamError(ctx, err)
	}
	return nil
}

func (s *stream) close() {
	s.stop()
	close(s.done)
	_ = s.Close()
}

func streamError(ctx context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return ended(ctx.Err())
	case isAnswer(err) || errors.Is(err, ErrProtocol) || errors.Is(err, ErrConnection):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return lost(ctx, err)
}

// Watch iterates over the changes of a range:
//
//	for watch.Next() {
//		for _, change := range watch.Changes().Changes {
//			...
//		}
//		position = watch.Position()
//	}
//	return watch.Err()
//
// If the connection is lost it opens another one and goes on behind the last position, for as long as it takes; then the server sends
// the changes behind that position again. It ends with ErrTooOld or ErrHistoryLost if the server no longer has the changes behind the
// position: begin another watch without a position, and read the range again. Errors that another attempt would not change, such as
// ErrForbidden, end it, too. It is for one goroutine, but for Close, which must be called unless the context ends.
type Watch struct {
	client   *Client
	ctx      context.Context
	cancel   context.CancelFunc
	where    Range
	form     watching
	stream   *stream
	changes  Changes
	position string
	closed   atomic.Bool
	err      error
}

// Watch begins to watch a range, on a connection of its own: from now on, or behind a position. It ends with the context. To copy a
// range, begin the watch, read the range, then apply the changes.
func (c *Client) Watch(ctx context.Context, where Range, options ...WatchOption) (*Watch, error) {
	made := &Watch{client: c, where: where}
	for _, option := range options {
		option(&made.form)
	}
	made.ctx, made.cancel = context.WithCancel(ctx)
	for attempt := 0; ; attempt++ {
		var err error
		if made.stream, err = c.openStream(made.ctx, where, made.form); err == nil {
			made.position = made.stream.position
			return made, nil
		}
		if !errors.Is(err, ErrConnection) || attempt >= c.options.Retries || !made.pause(attempt) {
			made.cancel()
			return nil, err
		}
	}
}

// Changes returns the changes that Next found.
func (w *Watch) Changes() Changes { return w.changes }

// Position returns the last position: all changes up to there were returned.
func (w *Watch) Position() string { return w.position }

// Err returns the error that ended the watch; nil if Close did.
func (w *Watch) Err() error { return w.err }

// Close ends the watch. Any goroutine may call it; then Next returns false.
func (w *Watch) Close() error {
	w.closed.Store(true)
	w.cancel()
	return nil
}

// Next waits for changes, or for another position. False: the watch is over.
func (w *Watch) Next() bool {
	for attempt := 0; w.err == nil; attempt++ {
		err := w.next()
		if err == nil {
			if w.changes.Position != "" {
				w.position = w.changes.Position
			}
			return true
		}
		if w.stream != nil {
			w.stream.close()
			w.stream = nil
		}
		if w.ctx.Err() != nil || !(errors.Is(err, ErrConnection) || errors.Is(err, ErrTimeout)) || !w.pause(attempt) {
			w.cancel()
			w.err = err
		}
	}
	if w.closed.Load() {
		w.err = nil
	}
	return false
}

// next returns changes of the connection, which it opens if there is none. A connection that is silent is asked for a mark, to see
// whether it lives.
func (w *Watch) next() (err error) {
	if w.closed.Load() {
		return ErrClosed
	}
	if w.stream == nil {
		form := w.form
		form.position = &w.position
		if w.stream, err = w.client.openStream(w.ctx, w.where, form); err != nil {
			return err
		}
	}
	asked := false
	for {
		var silent <-chan time.Time
		if w.client.options.Timeout > 0 {
			silent = time.After(w.client.options.Timeout)
		}
		select {
		case found, going := <-w.stream.sections:
			if !going {
				return w.stream.err
			}
			asked = false
			if len(found.Changes) > 0 || (found.Position != "" && found.Position != w.position) {
				w.changes = found
				return nil
			}
		case <-silent:
			if asked {
				return fmt.Errorf("%w: no mark", ErrTimeout)
			}
			if err := w.stream.askMark(w.ctx, "alive"); err != nil {
				return err
			}
			asked = true
		}
	}
}

func (w *Watch) pause(attempt int) bool {
	select {
	case <-w.ctx.Done():
		return false
	case <-time.After(w.client.waitAfter(attempt)):
		return true
	}
}

// waitAfter returns how long to wait after attempt number `attempt`, from 0.
func (c *Client) waitAfter(attempt int) time.Duration {
	wait := c.options.RetryWait
	for range min(attempt, 20) {
		wait = min(2*wait, time.Second)
	}
	return wait
}
