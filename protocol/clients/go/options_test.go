package mxkv

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strings"
	"testing"
	"time"
)

func TestURLs(t *testing.T) {
	for text, wanted := range map[string]string{
		"mxkv://localhost":             "localhost:11211   false",
		"mxkv://ann:a%40b%2F@h:7/":     "h:7 ann a@b/ false",
		"mxkvs://[::1]:7":              "[::1]:7   true",
		"mxkv://ann@/run/a%20b":        "/run/a b ann  false",
		"mxkvs://ann:secret@h":         "h:11211 ann secret true",
		"http://h":                     "refused",
		"mxkv://":                      "refused",
		"mxkv://ann:secret@h:99999":    "refused",
		"mxkv://ann:secret@h:x":        "refused",
		"mxkv://ann:secret@h/path":     "refused",
		"mxkvs:///path":                "refused",
		"mxkv://ann:secret@h?tls=true": "refused",
		"mxkv://h#x":                   "refused",
	} {
		address, options, err := ParseURL(text)
		got := strings.TrimSpace(fmt.Sprint(address, " ", options.User, " ", options.Password, " ", options.TLS != nil))
		if err != nil {
			got = "refused"
		}
		if got != wanted || (err != nil && (!errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "secret"))) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func TestTimeoutsAreSetByDefault(t *testing.T) {
	options := New("h", Options{}).options
	if options.DialTimeout != time.Second || options.Timeout != 3*time.Second {
		t.Error(options)
	}
}

func TestErrorsOfConnectionsHaveKinds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for address, kind := range map[string]error{silent.Addr().String(): ErrTimeout, "no-such-host.invalid:7": ErrConnection,
		"/no/such/socket": ErrConnection} {
		_, err := New(address, Options{Timeout: 20 * time.Millisecond, Retries: -1}).Get(context.Background(), "k")
		// A resolver may take its time.
		if !errors.Is(err, kind) && !(kind == ErrConnection && errors.Is(err, ErrTimeout)) {
			t.Errorf("%s: %v", address, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := New(silent.Addr().String(), Options{}).Get(ctx, "k"); !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func servers(t *testing.T, hashing Hashing, count int) *Servers {
	t.Helper()
	var addresses []string
	for number := range count {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d:11211", number+1))
	}
	made, err := NewServers(addresses, hashing, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestModuloIsTheChecksumOfTheKey(t *testing.T) {
	several := servers(t, Modulo, 3)
	for number := range 100 {
		key := fmt.Sprint("key:", number)
		if several.ClientOf(key) != several.clients[crc32.ChecksumIEEE([]byte(key))%3] {
			t.Error(key)
		}
	}
}

func TestKetamaChoosesTheServersOfSpymemcached(t *testing.T) {
	// The last digit of the address that KetamaNodeLocator of spymemcached 2.12.3 chooses for key:0, key:1 and so on.
	const theirs = "322133212333322223341112411443221324114332121342142323314344"
	several := servers(t, Ketama, 4)
	for number, digit := range theirs {
		wanted := fmt.Sprintf("10.0.0.%c:11211", digit)
		if got := several.ClientOf(fmt.Sprint("key:", number)).address; got != wanted {
			t.Errorf("key:%d: %s, not %s", number, got, wanted)
		}
	}
}

func TestKetamaMovesKeysOnlyToAnAddedServer(t *testing.T) {
	before, after, moved := servers(t, Ketama, 4), servers(t, Ketama, 5), 0
	for number := range 10000 {
		key := fmt.Sprint("key:", number)
		old, fresh := before.ClientOf(key).address, after.ClientOf(key).address
		if old != fresh {
			moved++
			if fresh != "10.0.0.5:11211" {
				t.Fatalf("%s moved from %s to %s", key, old, fresh)
			}
		}
	}
	if moved < 1000 || moved > 3500 {
		t.Errorf("%d of 10000 keys moved", moved)
	}
}

func TestAnEmptyPrefixIsNotDeleted(t *testing.T) {
	client := New("127.0.0.1:1", Options{Retries: -1})
	for _, remove := range []func(context.Context, Range) (int64, error){client.DeleteRange, client.DeleteRangeAtOnce} {
		if _, err := remove(context.Background(), Prefix("")); !errors.Is(err, ErrClient) {
			t.Error(err)
		}
	}
}

func TestNoServersAreRefused(t *testing.T) {
	if _, err := NewServers(nil, Ketama, Options{}); !errors.Is(err, ErrAddress) {
		t.Error(err)
	}
}
