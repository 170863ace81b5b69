package mxkv_test

import (
	"context"
	"errors"
	"fmt"

	mxkv "github.com/mxkv/mxkv/protocol/clients/go"
)

func ExampleClient_Scan() {
	ctx := context.Background()
	client := mxkv.New("localhost:11211", mxkv.Options{})
	defer client.Close()
	for item, err := range client.Scan(ctx, mxkv.Prefix("user:"), mxkv.Limit(100), mxkv.Reverse()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s\n", item.Key, item.Value)
	}
}

func ExampleClient_Batch() {
	ctx := context.Background()
	client := mxkv.New("localhost:11211", mxkv.Options{})
	defer client.Close()
	var balance *mxkv.Outcome[uint64]
	err := client.Batch(ctx, func(batch *mxkv.Batch) error {
		batch.Decrement("account:ann", 30)
		balance = batch.Increment("account:bob", 30)
		return nil
	})
	if errors.Is(err, mxkv.ErrNotFound) {
		fmt.Println("one of them has no account")
		return
	}
	now, err := balance.Value()
	fmt.Println(now, err)
}

func ExampleClient_CompareAndSwap() {
	ctx := context.Background()
	client := mxkv.New("localhost:11211", mxkv.Options{})
	defer client.Close()
	for {
		item, err := client.GetItem(ctx, "list")
		if err != nil {
			return
		}
		err = client.CompareAndSwap(ctx, "list", append(item.Value, ",x"...), item.Unique)
		if !errors.Is(err, mxkv.ErrStale) {
			return
		}
	}
}
