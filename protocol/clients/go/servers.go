package mxkv

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strconv"
)

// Hashing says to which of several servers a key belongs.
type Hashing int

const (
	// Ketama is consistent: if a server is added, keys move to it alone. It is the ring of spymemcached and of mxkv's clients for
	// Java, with 160 points a server.
	Ketama Hashing = iota
	// Modulo is gomemcache's: the CRC-32 of the key, modulo the number of servers. If a server is added, most keys move.
	Modulo
)

// Servers is a client of several servers. Each key belongs to one of them. If this server is down, requests for its keys fail:
// no other server takes over, so old values never come back with it.
type Servers struct {
	clients []*Client
	ring    []point // ordered; none for Modulo
}

type point struct {
	hash   uint32
	client *Client
}

// NewServers makes a client for each address. The order of addresses matters for Modulo alone.
func NewServers(addresses []string, hashing Hashing, options Options) (*Servers, error) {
	if len(addresses) == 0 {
		return nil, ErrAddress
	}
	made := &Servers{}
	for _, address := range addresses {
		client := New(address, options)
		made.clients = append(made.clients, client)
		if hashing == Ketama {
			made.ring = append(made.ring, pointsOf(client)...)
		}
	}
	slices.SortStableFunc(made.ring, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return made, nil
}

func pointsOf(client *Client) []point {
	points := make([]point, 0, 160)
	for group := range 40 {
		digest := md5.Sum([]byte(client.address + "-" + strconv.Itoa(group)))
		for at := 0; at < len(digest); at += 4 {
			points = append(points, point{binary.LittleEndian.Uint32(digest[at:]), client})
		}
	}
	return points
}

// Clients returns the clients of all servers, in the order of their addresses.
func (s *Servers) Clients() []*Client { return slices.Clone(s.clients) }

// ClientOf returns the client of the server that has this key. Its ranges, batches and pipelines see this server alone.
func (s *Servers) ClientOf(key string) *Client {
	if s.ring == nil {
		return s.clients[crc32.ChecksumIEEE([]byte(key))%uint32(len(s.clients))]
	}
	digest := md5.Sum([]byte(key))
	wanted := binary.LittleEndian.Uint32(digest[:])
	at, _ := slices.BinarySearchFunc(s.ring, wanted, func(a point, hash uint32) int { return cmp.Compare(a.hash, hash) })
	return s.ring[at%len(s.ring)].client
}

// GetMany returns the existing items of many keys, from all servers. It ends with the first error.
func (s *Servers) GetMany(ctx context.Context, keys []string) (map[string]Item, error) {
	parts := map[*Client][]string{}
	for _, key := range keys {
		client := s.ClientOf(key)
		parts[client] = append(parts[client], key)
	}
	found := make(map[string]Item, len(keys))
	for client, some := range parts {
		items, err := client.GetMany(ctx, some)
		if err != nil {
			return nil, err
		}
		for key, item := range items {
			found[key] = item
		}
	}
	return found, nil
}

// Close closes all clients.
func (s *Servers) Close() error {
	var all []error
	for _, client := range s.clients {
		all = append(all, client.Close())
	}
	return errors.Join(all...)
}
