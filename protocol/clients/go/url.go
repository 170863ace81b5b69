package mxkv

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
)

const defaultPort = "11211"

// ParseURL returns the address and the options that a URL names, for [New]: mxkv://user:password@host:port, mxkvs:// for TLS,
// mxkv:///run/mxkv.sock for a unix socket. The port is 11211 if it is left out.
func ParseURL(text string) (address string, options Options, err error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return "", Options{}, fmt.Errorf("%w: malformed URL", ErrAddress) // without its text, which may have a password
	}
	bad := func(why string) (string, Options, error) {
		return "", Options{}, fmt.Errorf("%w: '%s': %s", ErrAddress, parsed.Redacted(), why)
	}
	if parsed.Scheme != "mxkv" && parsed.Scheme != "mxkvs" {
		return bad("the scheme must be mxkv or mxkvs")
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return bad("a URL has no '?' or '#'")
	}
	isPath := parsed.Path != "" && parsed.Path != "/"
	if isPath == (parsed.Hostname() != "") || (isPath && parsed.Scheme == "mxkvs") {
		return bad("it needs a host, or the path of a unix socket without TLS")
	}
	options.User = parsed.User.Username()
	options.Password, _ = parsed.User.Password()
	if parsed.Scheme == "mxkvs" {
		options.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if isPath {
		return parsed.Path, options, nil
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return bad("the port must be 1 to 65535")
	}
	return net.JoinHostPort(parsed.Hostname(), port), options, nil
}
