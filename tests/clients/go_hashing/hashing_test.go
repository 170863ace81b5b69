// Package hashing compares the servers that our client chooses with gomemcache's.
package hashing

import (
	"fmt"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"
	mxkv "github.com/mxkv/mxkv/protocol/clients/go"
)

func TestModuloChoosesTheServersOfGomemcache(t *testing.T) {
	addresses := []string{"127.0.0.1:11211", "127.0.0.2:11211", "127.0.0.3:7"}
	var theirs memcache.ServerList
	if err := theirs.SetServers(addresses...); err != nil {
		t.Fatal(err)
	}
	ours, err := mxkv.NewServers(addresses, mxkv.Modulo, mxkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	chosen := map[string]int{}
	for number := range 2000 {
		key := fmt.Sprint("key:", number)
		wanted, err := theirs.PickServer(key)
		if err != nil {
			t.Fatal(err)
		}
		chosen[wanted.String()]++
		for at, address := range addresses {
			if (address == wanted.String()) != (ours.ClientOf(key) == ours.Clients()[at]) {
				t.Fatalf("%s: not on %s", key, wanted)
			}
		}
	}
	if len(chosen) != len(addresses) {
		t.Error(chosen)
	}
}
