package mxkv

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// Options of a client. The zero value is good for a server without TLS and login.
type Options struct {
	User, Password string        // logs in on each new connection, if User is not empty
	TLS            *tls.Config   // speaks TLS, if not nil
	MaxConnections int           // 8 if 0; a request waits while all are taken
	DialTimeout    time.Duration // for a new connection with its handshakes; 1 s if 0; what the context allows if negative
	Timeout        time.Duration // for each request; 3 s if 0; what the context allows if negative
	Retries        int           // how often a read is sent again after its connection was lost; 2 if 0, none if negative
	RetryWait      time.Duration // before the first retry; each further one waits twice as long; 50 ms if 0
	RetryWrites    bool          // also send idempotent writes again: Set, Delete, Touch, and writes of ranges
	// Hook is called before each request, with its command, such as "mr", and the server's address. The function that it returns
	// is called after the request with all its retries. The returned context is the request's.
	Hook func(ctx context.Context, command, address string) (context.Context, func(error))
	// Dial opens a connection; a net.Dialer does if it is nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client of one server.
type Client struct {
	address string
	options Options
	room    chan struct{} // holds one for each connection in use
	mutex   sync.Mutex
	idle    []*connection
	closed  bool
}

// New makes a client of the server at an address, "host:port" or the path of a unix socket. It connects at the first request.
func New(address string, options Options) *Client {
	if options.MaxConnections <= 0 {
		options.MaxConnections = 8
	}
	if options.Retries == 0 {
		options.Retries = 2
	}
	if options.RetryWait <= 0 {
		options.RetryWait = 50 * time.Millisecond
	}
	if options.DialTimeout == 0 {
		options.DialTimeout = time.Second
	}
	if options.Timeout == 0 {
		options.Timeout = 3 * time.Second
	}
	if options.Dial == nil {
		options.Dial = (&net.Dialer{}).DialContext
	}
	return &Client{address: address, options: options, room: make(chan struct{}, options.MaxConnections)}
}

// Close closes the connections. Requests on their way end first; later ones fail with ErrClosed.
func (c *Client) Close() error {
	c.mutex.Lock()
	c.closed = true
	c.mutex.Unlock()
	c.dropIdle()
	return nil
}

// do sends a request and reads its reply, and retries it if that is safe.
func (c *Client) do(ctx context.Context, asked request) error {
	if c.options.Hook == nil {
		return c.retry(ctx, asked)
	}
	command := bytes.Fields(asked.data[:min(len(asked.data), 20)])[0]
	ctx, end := c.options.Hook(ctx, string(command), c.address)
	err := c.retry(ctx, asked)
	end(err)
	return err
}

func (c *Client) retry(ctx context.Context, asked request) error {
	again := asked.repeat == always || (asked.repeat == ifAsked && c.options.RetryWrites)
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, asked)
		if !again || attempt >= c.options.Retries || !errors.Is(err, ErrConnection) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(c.waitAfter(attempt)):
		}
	}
}

func (c *Client) once(ctx context.Context, asked request) error {
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return ended(ctx.Err())
	}
	ctx, cancel := withTimeout(ctx, c.options.Timeout)
	defer cancel()
	connection, err := c.take(ctx)
	if err != nil {
		return err
	}
	err = connection.ask(ctx, asked)
	if err != nil && (!isAnswer(err) || !connection.inStep()) {
		_ = connection.Close()
		if errors.Is(err, ErrConnection) {
			c.dropIdle() // if the server stopped, all of them are lost
		}
		return err
	}
	c.give(connection)
	return err
}

func (c *Client) dropIdle() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, connection := range c.idle {
		_ = connection.Close()
	}
	c.idle = nil
}

func (c *Client) take(ctx context.Context) (*connection, error) {
	c.mutex.Lock()
	if c.closed {
		c.mutex.Unlock()
		return nil, ErrClosed
	}
	if last := len(c.idle) - 1; last >= 0 {
		taken := c.idle[last]
		c.idle = c.idle[:last]
		c.mutex.Unlock()
		return taken, nil
	}
	c.mutex.Unlock()
	return c.dial(ctx)
}

func (c *Client) give(connection *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		_ = connection.Close()
		return
	}
	c.idle = append(c.idle, connection)
}
