"""Watches and near caches against a server that may be emptied, at MXKV_PORT of 127.0.0.1; skipped without."""

import os
import random
import threading
import time
import unittest

import mxkv
from watch_servers import WatchProxy, wait_for

PORT = os.environ.get("MXKV_PORT")


def connect(port=PORT, **arguments) -> mxkv.Client:
    return mxkv.Client(f"127.0.0.1:{port}", timeout=60, connect_timeout=60, **arguments)


def fold(items: dict, change: mxkv.Change) -> None:
    """Applies a change with its value."""
    if change.kind == "put":
        items[change.key] = change.value
    elif change.kind in ("deleted", "evicted"):
        items.pop(change.key, None)
    elif change.kind in ("range_deleted", "flushed"):
        for key in [key for key in items if key in change.range]:
            del items[key]


class ServerCase(unittest.TestCase):
    def setUp(self):
        self.client = connect()
        self.addCleanup(self.client.close)
        self.client.flush_all()

    def start(self, *works) -> list:
        """Threads that run until they return; an error fails the test when they are joined."""
        self.errors = []

        def guarded(work):
            try:
                work()
            except BaseException as error:  # shown by the test
                self.errors.append(error)
                raise
        threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        return threads

    def join(self, threads) -> None:
        for thread in threads:
            thread.join()
        self.assertEqual(self.errors, [])

    def proxy(self, **arguments) -> WatchProxy:
        proxy = WatchProxy(int(PORT), **arguments)
        self.addCleanup(proxy.close)
        return proxy


@unittest.skipUnless(PORT, "MXKV_PORT names no server")
class WatchTest(ServerCase):
    def heard(self, watch: mxkv.Watch, count: int) -> list:
        changes = []
        while len(changes) < count:
            changes += next(watch)
        return changes

    def test_each_kind_of_change_is_told(self):
        with self.client.watch("k", values=True, details=True) as watch:
            self.client.set("k1", "a", flags=3)
            self.client.touch("k1", 1000)
            self.client.delete("k1")
            self.client.set(b"k \0", "b")
            self.client.touch_range("k", 0)
            self.client.delete_range(mxkv.Range("k", "k2"), atomic=True)
            self.client.set("other", "x")
            self.client.flush_all()
            changes = self.heard(watch, 7)
        of_one = [change for change in changes if change.key == b"k1"]
        self.assertEqual([(change.kind, change.value, change.flags, change.size) for change in of_one],
                         [("put", b"a", 3, 1), ("touched", None, 0, None), ("deleted", None, 0, None)])
        self.assertGreater(of_one[1].ttl, 900)
        self.assertEqual([(change.kind, change.key, change.range) for change in changes if change.key != b"k1"],
                         [("put", b"k \0", None), ("range_touched", None, mxkv.Range(b"k", b"l")),
                          ("range_deleted", None, mxkv.Range(b"k", b"k2")), ("flushed", None, mxkv.Range(b"k", b"l"))])

    def test_keys_lose_the_prefix_of_their_client(self):
        client = connect(key_prefix="p:")
        self.addCleanup(client.close)
        with client.watch(kinds=["put"]) as watch:
            self.client.set("a", "1")
            client.set("a", "2")
            client.delete("a")
            client.set("b", "3")
            self.assertEqual([(change.kind, change.key) for change in self.heard(watch, 2)], [("put", b"a"), ("put", b"b")])

    def test_a_watch_goes_on_behind_a_position(self):
        with self.client.watch("k") as watch:
            self.client.set("k1", 1)
            self.heard(watch, 1)
            position = watch.position
        self.client.set("k2", 1)
        with mxkv.PooledClient(f"127.0.0.1:{PORT}", timeout=60) as pooled, pooled.watch("k", position=position) as watch:
            self.assertEqual(self.heard(watch, 1)[-1].key, b"k2")

    def test_positions_that_do_not_hold_have_errors(self):
        with self.client.watch() as watch:
            tag = watch.position.split(".")[0]
        with self.assertRaises(mxkv.TooOld):
            self.client.watch(position=f"{tag}.0")
        with self.assertRaises(mxkv.HistoryLost):
            self.client.watch(position="0123456789abcdef.1")
        for position in ("x", "a b"):
            with self.assertRaises(mxkv.ClientError):
                self.client.watch(position=position)
        with self.assertRaises(mxkv.ClientError):
            self.client.watch(kinds=["expired"])

    def test_another_thread_may_close_a_watch(self):
        watch = self.client.watch("k")
        thread = threading.Thread(target=lambda: self.assertEqual(list(watch), []))
        thread.start()
        watch.close()
        thread.join()

    def test_what_watches_hear_equals_a_scan_although_their_connections_are_cut(self):
        keys = [f"key:{number:02}" for number in range(40)]
        proxy, maps = self.proxy(cut_every=20_000), []

        def write(seed: int) -> None:
            chance = random.Random(seed)
            with connect() as client:
                for turn in range(2500):
                    key, what = chance.choice(keys), chance.randrange(20)
                    if what < 13:
                        client.set(key, f"{seed}-{turn}" * chance.choice((1, 10)))
                    elif what < 16:
                        client.delete(key)
                    elif what < 18:
                        with client.batch() as batch:
                            for each in chance.sample(keys, 3):
                                batch.set(each, turn)
                    elif what < 19:
                        client.delete_range(key[:-1], atomic=bool(turn % 2))
                    else:
                        client.touch(key, 0)

        def watch() -> None:
            items: dict = {}
            with connect(proxy.port).watch("key:", values=True) as changes_of_range:
                maps.append(items)
                for changes in changes_of_range:
                    for change in changes:
                        fold(items, change)
                    if b"key:end" in items and changes.position:
                        return
        watchers = self.start(watch, watch)
        wait_for(lambda: len(maps) == 2, "both watch")
        self.join(self.start(*(lambda seed=seed: write(seed) for seed in range(3))))
        self.client.set("key:end", "x")
        self.join(watchers)
        self.assertGreaterEqual(proxy.cuts, 5)
        held = dict(self.client.scan("key:"))
        for items in maps:
            self.assertEqual(items, held)


@unittest.skipUnless(PORT, "MXKV_PORT names no server")
class NearCacheTest(ServerCase):
    def near(self, port=PORT, **arguments) -> mxkv.NearCache:
        client = mxkv.PooledClient(f"127.0.0.1:{port}", timeout=60, connect_timeout=60)
        self.addCleanup(client.close)
        near = mxkv.NearCache(client, **{"where": "user:", "max_stale": 60, **arguments})
        self.addCleanup(near.close)
        wait_for(lambda: near.is_live, "the cache is live")
        return near

    def test_hits_ask_nobody_and_changes_are_followed(self):
        proxy = self.proxy()
        near = self.near(proxy.port)
        self.client.set_many({"user:1": "a", "user:2": "b"})
        wait_for(lambda: near.get("user:1") == b"a" and near.get("user:none") is None and near.entries == 2, "both are kept")
        before = proxy.reads
        for _ in range(100):
            self.assertEqual((near.get("user:1"), near.get("user:none", 7)), (b"a", 7))
        self.assertEqual(proxy.reads, before)
        self.client.set("user:1", "c")
        self.client.set("user:none", "d")
        wait_for(lambda: near.entries == 0, "the changed keys are dropped")
        self.assertEqual((near.get("user:1"), near.get("user:none")), (b"c", b"d"))
        self.client.delete_range("user:", atomic=True)
        wait_for(lambda: near.entries == 0, "the deleted keys are dropped")
        self.assertIsNone(near.get("user:1"))
        self.client.flush_all()
        wait_for(lambda: near.entries == 0, "the flushed keys are dropped")

    def test_times_to_live_end_entries(self):
        near = self.near()
        self.client.set("user:1", "a")
        wait_for(lambda: near.get("user:1") and near.entries, "it is kept")
        self.client.touch("user:1", 1)
        wait_for(lambda: near.get("user:1") is None, "it has expired")
        self.client.set("user:2", "b", expire=1)
        wait_for(lambda: near.get("user:2") is None, "it has expired")

    def test_own_writes_are_read_back(self):
        near = self.near()

        def write(number: int) -> None:
            for turn in range(300):
                near.set(f"user:{number}", turn)
                for _ in range(3):
                    self.assertEqual(near.get(f"user:{number}"), b"%d" % turn)
                with near.writing(f"user:{number}"):
                    near._client.incr(f"user:{number}", 1)
                self.assertEqual(near.get(f"user:{number}"), b"%d" % (turn + 1))
                if turn % 10 == 0:
                    near.delete(f"user:{number}")
                    self.assertIsNone(near.get(f"user:{number}"))
        self.join(self.start(*(lambda number=number: write(number) for number in range(4))))

    def test_the_least_recently_used_entries_go_when_the_bytes_are_used_up(self):
        near = self.near(max_bytes=10 * 1320)
        self.client.set_many({f"user:{number:02}": "x" * 1000 for number in range(100)})
        mark = self.client.set("user:mark", "x")
        self.assertTrue(mark)
        wait_for(lambda: near.get("user:00") and near.entries, "the puts have been told")
        for number in range(100):
            near.get("user:00")
            near.get(f"user:{number:02}")
            self.assertLessEqual(near.used_bytes, 10 * 1320)
        self.assertEqual(near.entries, 10)
        self.assertIn(b"user:00", near._entries)
        self.assertNotIn(b"user:50", near._entries)
        self.client.set("user:large", "x" * 20000)
        self.assertEqual(len(near.get("user:large")), 20000)
        self.assertNotIn(b"user:large", near._entries)

    def test_keys_outside_of_the_range_are_refused(self):
        near = self.near()
        for key in ("other", "", "user:" + "x" * 250):
            with self.assertRaises(mxkv.ClientError):
                near.get(key)
        with self.assertRaises(mxkv.ClientError):
            near.set("other", "x")
        with self.assertRaises(mxkv.ClientError):
            mxkv.NearCache(near._client, "user:", max_stale=0)

    def test_no_read_is_staler_than_the_bound_although_lines_are_held_back(self):
        bound, keys = 0.3, [f"user:{number}" for number in range(200)]
        proxy = self.proxy(delay=3 * bound, cut_every=30_000)
        near = self.near(proxy.port, max_stale=bound)
        answered = {key: [0.0] for key in keys}  # when value `n` of a key was answered, at the latest
        self.client.set_many(dict.fromkeys(keys, 0))
        for key in keys:
            answered[key][0] = time.monotonic()
        done, stale, reads, written = threading.Event(), [0], [0], [keys[0]]

        def write() -> None:
            chance = random.Random(5)
            with connect() as client:
                while not done.is_set():
                    key = chance.choice(keys)
                    written[0] = key
                    client.set(key, len(answered[key]))
                    answered[key].append(time.monotonic())
                    time.sleep(chance.random() / 500)

        def read(seed: int) -> None:
            chance = random.Random(seed)
            while not done.is_set():
                key = chance.choice((written[0], chance.choice(keys)))
                begin, newest = time.monotonic(), len(answered[key])
                value = int(near.get(key))
                reads[0] += 1
                if value + 1 < newest:
                    stale[0] += 1
                    age = begin - answered[key][value + 1]
                    self.assertLessEqual(age, bound, key)
        threads = self.start(write, *(lambda seed=seed: read(seed) for seed in range(4)))
        end = time.monotonic() + 60
        while not self.errors and time.monotonic() < end and not (stale[0] > 200 and proxy.cuts > 2 and reads[0] > proxy.reads + 10_000):
            time.sleep(0.05)
        done.set()
        self.join(threads)
        self.assertGreater(stale[0], 0)
        self.assertGreater(reads[0], proxy.reads)


if __name__ == "__main__":
    unittest.main()
