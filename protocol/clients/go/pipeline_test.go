package mxkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	mxkv "github.com/mxkv/mxkv/protocol/clients/go"
)

func TestAPipelineExecutesEachOperationByItself(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	must(t, client.Set(ctx, "there", []byte("1")))
	var stored, again, stale, gone, binary *mxkv.Outcome[bool]
	var counted, missing *mxkv.Outcome[uint64]
	var found, none *mxkv.Outcome[mxkv.Item]
	must(t, client.Pipeline(ctx, func(p *mxkv.Pipeline) error {
		stored, again = p.Set("a", []byte("1")), p.Add("there", nil)
		counted, missing = p.Increment("there", 4), p.Increment("nowhere", 1)
		stale, gone = p.CompareAndSwap("a", nil, 1), p.Delete("nowhere")
		found, none, binary = p.Get("a"), p.Get("nowhere"), p.Set("b \x00", nil)
		_, err := stored.Value()
		is(t, err, mxkv.ErrNotDone)
		return nil
	}))
	for _, one := range []struct {
		outcome *mxkv.Outcome[bool]
		wanted  bool
	}{{stored, true}, {gone, false}, {binary, true}} {
		got, err := one.outcome.Value()
		must(t, err)
		equal(t, got, one.wanted)
	}
	number, err := counted.Value()
	must(t, err)
	equal(t, number, 5)
	item, err := found.Value()
	must(t, err)
	equal(t, string(item.Value), "1")
	_, err = again.Value()
	is(t, err, mxkv.ErrNotStored)
	var failed *mxkv.Error
	equal(t, errors.As(err, &failed) && failed.Operation == 1, true)
	_, err = missing.Value()
	is(t, err, mxkv.ErrNotFound)
	_, err = stale.Value()
	is(t, err, mxkv.ErrStale)
	_, err = none.Value()
	is(t, err, mxkv.ErrNotFound)
}

func TestARefusedOperationIsToldAfterAllOthersWereExecuted(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{}), context.Background()
	must(t, client.Set(ctx, "text", []byte("x")))
	err := client.Pipeline(ctx, func(p *mxkv.Pipeline) error {
		p.Set("a", []byte("1"))
		p.Increment("text", 1)
		p.Set("b", []byte("2"))
		return nil
	})
	is(t, err, mxkv.ErrClient)
	equal(t, len(keys(t, client, mxkv.Prefix(""))), 3)
	equal(t, client.Pipeline(ctx, func(p *mxkv.Pipeline) error { p.Set("", nil); return nil }) != nil, true)
}

func TestAPipelineMayBeLargerThanAllBuffers(t *testing.T) {
	client, ctx := connect(t, mxkv.Options{Timeout: -1}), context.Background()
	large := bytes.Repeat([]byte("x"), 500_000)
	var found []*mxkv.Outcome[mxkv.Item]
	must(t, client.Pipeline(ctx, func(p *mxkv.Pipeline) error {
		for number := range 20 {
			p.Set(fmt.Sprint("large:", number), large)
		}
		for number := range 100 {
			found = append(found, p.Get(fmt.Sprint("large:", number%20)))
		}
		for number := range 3000 {
			p.Set(fmt.Sprint("small:", number), nil)
		}
		return nil
	}))
	for _, one := range found {
		item, err := one.Value()
		must(t, err)
		equal(t, len(item.Value), len(large))
	}
	count, err := client.Count(ctx, mxkv.Prefix("small:"))
	must(t, err)
	equal(t, count, 3000)
}

func TestAHookSeesEachRequestAndItsError(t *testing.T) {
	var seen []string
	type mark struct{}
	hook := func(ctx context.Context, command, address string) (context.Context, func(error)) {
		return context.WithValue(ctx, mark{}, command), func(err error) {
			seen = append(seen, fmt.Sprint(command, " ", address == "127.0.0.1:"+setting(t, "MXKV_PORT"), " ", errors.Is(err, mxkv.ErrClient)))
		}
	}
	client, ctx := connect(t, mxkv.Options{Hook: hook}), context.Background()
	must(t, client.Set(ctx, "k", []byte("x")))
	_, err := client.Increment(ctx, "k", 1)
	is(t, err, mxkv.ErrClient)
	equal(t, slices.Equal(seen, []string{"flush_all true false", "ms true false", "ma true true"}), true)
}

func TestSeveralServersShareTheKeys(t *testing.T) {
	direct, ctx, port := connect(t, mxkv.Options{}), context.Background(), setting(t, "MXKV_PORT")
	for _, hashing := range []mxkv.Hashing{mxkv.Ketama, mxkv.Modulo} {
		servers, err := mxkv.NewServers([]string{"127.0.0.1:" + port, "localhost:" + port}, hashing, mxkv.Options{})
		must(t, err)
		var wanted []string
		used := map[*mxkv.Client]bool{}
		for number := range 50 {
			wanted = append(wanted, fmt.Sprint("k", number))
			used[servers.ClientOf(wanted[number])] = true
			must(t, servers.ClientOf(wanted[number]).Set(ctx, wanted[number], nil))
		}
		equal(t, len(used), 2)
		found, err := servers.GetMany(ctx, append(wanted, "none"))
		must(t, err)
		equal(t, len(found), 50)
		must(t, servers.Close())
		equal(t, len(servers.Clients()), 2)
		_, err = servers.GetMany(ctx, wanted)
		is(t, err, mxkv.ErrClosed)
	}
	count, err := direct.Count(ctx, mxkv.Prefix("k"))
	must(t, err)
	equal(t, count, 50)
}
