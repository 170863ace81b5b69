// Package mxkv is a client of mxkv: memcached's commands, ranges over ordered keys, and atomic batches.
//
//	client := mxkv.New("localhost:11211", mxkv.Options{})
//	defer client.Close()
//	for item, err := range client.Scan(ctx, mxkv.Prefix("user:")) {
//		...
//	}
//
// A Client may be used by any number of goroutines. It keeps a pool of connections; each request has one for itself until
// its reply is read, a range one for each page. A request that its context ends closes its connection, so that a late reply
// is never taken for another request's.
//
// Reads are sent again if their connection was lost. Writes are not, unless [Options] allows it, because it is unknown whether
// they took effect. All errors match, by errors.Is, the kinds that begin with Err. The server's errors are *[Error].
//
// Keys are strings of any bytes, 1 to 250 of them.
package mxkv
