package mxkv

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// connection is one connection, logged in. One request at a time.
type connection struct {
	net.Conn
	replies replies
}

func (c *Client) dial(ctx context.Context) (*connection, error) {
	ctx, cancel := withTimeout(ctx, c.options.DialTimeout)
	defer cancel()
	network := "tcp"
	if strings.HasPrefix(c.address, "/") {
		network = "unix"
	}
	raw, err := c.options.Dial(ctx, network, c.address)
	if err != nil {
		return nil, lost(ctx, err)
	}
	if c.options.TLS != nil {
		secured := tls.Client(raw, c.tlsConfig())
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, lost(ctx, err)
		}
		raw = secured
	}
	made := &connection{raw, replies{bufio.NewReaderSize(raw, 1<<16)}}
	if c.options.User != "" {
		if err := made.ask(ctx, login(c.options.User, c.options.Password)); err != nil {
			_ = made.Close()
			return nil, err
		}
	}
	return made, nil
}

func (c *Client) tlsConfig() *tls.Config {
	config := c.options.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(c.address)
	}
	return config
}

func login(user, password string) request {
	credentials := user + " " + password
	return wordRequest(fmt.Sprintf("set auth 0 0 %d\r\n%s\r\n", len(credentials), credentials), "STORED", nil, never)
}

// ask sends a request and reads its reply. After an error that is no *Error the connection must be closed.
func (c *connection) ask(ctx context.Context, asked request) error {
	if err := ctx.Err(); err != nil {
		return ended(err)
	}
	// A deadline in the past ends a read or write that waits.
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	_, err := c.Write(asked.data)
	if err == nil {
		err = asked.read(c.replies)
	}
	if !stop() {
		return ended(context.Cause(ctx)) // the deadline may have been set already, whatever was read
	}
	if err == nil && !c.inStep() {
		return fmt.Errorf("%w: the server sent more than was asked for", ErrProtocol)
	}
	if err == nil || isAnswer(err) || errors.Is(err, ErrProtocol) {
		return err
	}
	return lost(ctx, err)
}

// inStep tells whether the next reply will belong to the next request.
func (c *connection) inStep() bool { return c.replies.in.Buffered() == 0 }

func lost(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil {
		return ended(cause)
	}
	// A dialer watches the deadline itself, and may report it before the context does.
	if deadline, set := ctx.Deadline(); set && !time.Now().Before(deadline) {
		return fmt.Errorf("%w: %w: %w", ErrTimeout, context.DeadlineExceeded, err)
	}
	var distrusted *tls.CertificateVerificationError
	var noRecord tls.RecordHeaderError
	var alert tls.AlertError
	if errors.As(err, &distrusted) || errors.As(err, &noRecord) || errors.As(err, &alert) {
		return fmt.Errorf("%w: %w", ErrTLS, err)
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}

// ended is the error of a request whose context ended, by this cause.
func ended(cause error) error {
	if errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTimeout, cause)
	}
	return fmt.Errorf("mxkv: %w", cause)
}

func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}
