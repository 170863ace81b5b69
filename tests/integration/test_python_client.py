"""The Python client against a server: every command, and the guarantees of ranges while others write."""

import threading
import unittest

from harness import ServerCase, patience, scaled
from python_client import mxkv

BINARY = b"b \0\r\n\t\xff"


class PythonClientCase(ServerCase):
    def client(self, **arguments) -> mxkv.Client:
        client = mxkv.Client(("127.0.0.1", self.server.port), timeout=patience(20), **arguments)
        self.addCleanup(client.close)
        return client

    def setUp(self):
        self.mxkv = self.client()
        self.mxkv.flush_all()


class SingleKeysTest(PythonClientCase):
    def test_each_command_does_the_same_for_text_and_binary_keys(self):
        client = self.mxkv
        for key in ("k", "schl\u00fcssel", b"k2", BINARY, b" " * 250):
            with self.subTest(key=key):
                self.assertIsNone(client.get(key))
                self.assertEqual(client.gets(key), (None, None))
                self.assertFalse(client.replace(key, "x"))
                self.assertFalse(client.append(key, "x"))
                self.assertIsNone(client.cas(key, "x", b"1"))
                self.assertTrue(client.add(key, "b"))
                self.assertFalse(client.add(key, "b"))
                self.assertTrue(client.append(key, "c"))
                self.assertTrue(client.prepend(key, b"a"))
                value, unique = client.gets(key)
                self.assertEqual(value, b"abc")
                self.assertTrue(client.cas(key, "new", unique))
                self.assertIs(client.cas(key, "newer", unique), False)
                self.assertEqual(client.get(key), b"new")
                self.assertTrue(client.set(key, 41))
                self.assertEqual([client.incr(key, 2), client.decr(key, 1)], [43, 42])
                self.assertTrue(client.touch(key, 100))
                self.assertTrue(client.delete(key))
                self.assertFalse(client.delete(key))
                self.assertFalse(client.touch(key, 100))
                self.assertIsNone(client.incr(key, 1))
                self.assertIsNone(client.decr(key, 1))

    def test_many_keys_at_once(self):
        keys = [f"many{number}" for number in range(scaled(3000, 300))] + [b"binary %d" % number for number in range(1500)]
        values = {key: str(number).encode() for number, key in enumerate(keys)}
        self.assertEqual(self.mxkv.set_many(values), [])
        self.assertEqual(self.mxkv.get_many([*keys, "absent", b"no such"]), values)
        self.assertEqual({key: found[0] for key, found in self.mxkv.gets_many(keys).items()}, values)
        self.assertTrue(self.mxkv.delete_many(keys))
        self.assertEqual(self.mxkv.get_many(keys), {})

    def test_values_come_back_through_a_serde(self):
        class Numbers:
            def serialize(self, key, value):
                return (str(value), 7) if isinstance(value, int) else (value, 0)

            def deserialize(self, key, value, flags):
                return int(value) if flags == 7 else value

        client = self.client(serde=Numbers())
        client.set("n", 1)
        client.set(BINARY, 2)
        client.set("t", b"text")
        self.assertEqual([client.get("n"), client.get(BINARY), client.get("t")], [1, 2, b"text"])
        self.assertEqual(dict(client.scan()), {b"n": 1, BINARY: 2, b"t": b"text"})
        with client.batch() as batch:
            batch.set("n", 3)
            seen = batch.get("n")
        self.assertEqual(seen.value, 3)

    def test_what_the_server_refuses_has_a_type_and_leaves_the_client_usable(self):
        client = self.mxkv
        with self.assertRaises(mxkv.TooLarge):
            client.set("large", b"x" * (2 << 20))
        with self.assertRaises(mxkv.TooLarge):
            client.set(BINARY, b"x" * (2 << 20))
        client.set("text", "x")
        for wrong in (lambda: client.incr("text", 1), lambda: client.get(""), lambda: client.set("k" * 251, "x"),
                      lambda: client.get(b"\0" * 251), lambda: client.count("p" * 251), lambda: list(client.range("k" * 251)),
                      lambda: list(client.tree("", "d" * 17)), lambda: list(client.tree("", ": q\r\nflush_all")),
                      lambda: client.page(cursor="x\r\nflush_all"), lambda: client.stats("x\r\nflush_all")):
            with self.assertRaises(mxkv.ClientError):
                wrong()
        self.assertEqual(client.get("text"), b"x")

    def test_a_prefix_of_all_keys_is_a_namespace(self):
        one, other = self.client(key_prefix="one:"), self.client(key_prefix=b"two\xff")
        for client in (one, other):
            for key in ("a", "b", BINARY, "c:d"):
                client.set(key, "x")
        self.mxkv.set("one;", "behind")
        for client in (one, other):
            keys = sorted([b"a", b"b", BINARY, b"c:d"])
            self.assertEqual(list(client.scan(values=False)), keys)
            self.assertEqual(list(client.range(values=False)), keys)
            self.assertEqual(list(client.range(values=False, reverse=True)), keys[::-1])
            self.assertEqual(list(client.range("b", values=False)), [key for key in keys if key >= b"b"])
            self.assertEqual(list(client.range(stop="b", reverse=True, values=False)), [b"a"])
            self.assertEqual([branch.prefix for branch in client.tree()], [b"c:", None])
            self.assertEqual(client.get_many(["a", BINARY]), {"a": b"x", BINARY: b"x"})
            self.assertEqual(client.delete_range(""), 4)
        self.assertEqual(self.mxkv.get("one;"), b"behind")


class RangesTest(PythonClientCase):
    def setUp(self):
        super().setUp()
        self.keys = sorted([b"a", b"b", b"b\0", b"b ", b"c", b"-", b"\xff", b"user:1:x", b"user:2", b"user:2:y"])
        for number, key in enumerate(self.keys):
            self.mxkv.set(key, number)

    def test_all_bounds_in_both_directions(self):
        bounds = [None, *self.keys, b"0", b"b\0\0", b"user:", b"\xff\xff"]
        for start in bounds:
            for stop in bounds:
                for include_start, include_stop in ((True, False), (False, True)):
                    wanted = [key for key in self.keys
                              if (start is None or key > start or (include_start and key == start))
                              and (stop is None or key < stop or (include_stop and key == stop))]
                    for reverse in (False, True):
                        found = list(self.mxkv.range(start, stop, include_start=include_start, include_stop=include_stop,
                                                     values=False, reverse=reverse, page_items=3))
                        self.assertEqual(found, wanted[::-1] if reverse else wanted, (start, stop, include_start, reverse))

    def test_prefixes_limits_and_page_sizes(self):
        for prefix in ("", b"b", "user:", b"\xff", b"b\0", "absent"):
            beginning = prefix.encode() if isinstance(prefix, str) else prefix
            wanted = [(key, b"%d" % self.keys.index(key)) for key in self.keys if key.startswith(beginning)]
            for page_items in (1, 2, 1000):
                for snapshot in (False, True):
                    self.assertEqual(list(self.mxkv.scan(prefix, page_items=page_items, snapshot=snapshot)), wanted)
                    self.assertEqual(list(self.mxkv.scan(prefix, reverse=True, page_items=page_items)), wanted[::-1])
                for limit in (0, 1, 2, 3):
                    self.assertEqual(list(self.mxkv.scan(prefix, limit=limit, page_items=page_items)), wanted[:limit])

    def test_items_tell_all(self):
        self.mxkv.set("c", "v", expire=1000, flags=9)
        item = next(self.mxkv.items("c"))
        self.assertEqual((item.key, item.value, item.flags), (b"c", b"v", 9))
        self.assertTrue(self.mxkv.cas("c", "w", item.unique))
        self.assertLessEqual(item.ttl, 1000)
        self.assertIsNone(next(self.mxkv.items("a")).ttl)

    def test_pages_by_hand_and_cursors_that_are_none(self):
        first = self.mxkv.page(limit=4)
        self.assertEqual([item.key for item in first.items], self.keys[:4])
        rest = self.client().page(limit=100, cursor=first.cursor)
        self.assertEqual([item.key for item in rest.items], self.keys[4:])
        self.assertIsNone(rest.cursor)
        for cursor in ("nonsense", first.cursor[:-3] + "xyz", first.cursor[4:]):
            with self.assertRaises(mxkv.BadCursor):
                self.mxkv.page(cursor=cursor)
        self.mxkv.delete_range("user:")
        self.assertEqual(self.mxkv.page(cursor=first.cursor).items[-1].key, self.keys[-1], "its next keys are gone")
        self.assertEqual(self.mxkv.get("a"), b"%d" % self.keys.index(b"a"), "an answered error leaves the connection in step")

    def test_counts_sizes_numbers_and_trees(self):
        client = self.mxkv
        numbers = [number for number, _ in enumerate(self.keys)]
        self.assertEqual(client.count(), len(self.keys))
        self.assertEqual(client.count("user:"), 3)
        self.assertEqual(client.count(mxkv.Range("b", "c")), 3)
        size = sum(map(len, self.keys)) + len(numbers)
        self.assertEqual(client.size(), mxkv.Size(len(numbers), size, None))
        self.assertEqual(client.size(snapshot=True), mxkv.Size(len(numbers), size, None))
        self.assertIsNotNone(client.size(exact=False))
        self.assertEqual(client.numbers(), mxkv.Numbers(len(numbers), len(numbers), sum(numbers), 0, numbers[-1]))
        self.assertEqual(client.numbers("absent"), mxkv.Numbers(0, 0, 0, None, None))
        branches = {branch.prefix: branch.items for branch in client.tree("user:")}
        self.assertEqual(branches, {b"user:1:": 1, b"user:2:": 1, None: 1})
        self.assertEqual(next(client.tree()).prefix, b"user:")

    def test_a_tree_of_many_prefixes_comes_whole(self):
        self.mxkv.set_many({f"branch:{number:04}:x": "x" for number in range(2500)})
        found = [branch.prefix for branch in self.mxkv.tree("branch:")]
        self.assertEqual(found, [b"branch:%04d:" % number for number in range(2500)])

    def test_ranges_are_deleted_page_by_page_or_at_once_after_a_dry_run(self):
        for atomic in (False, True):
            self.mxkv.set_many({f"session:{number}": "x" for number in range(2500)})
            self.assertEqual(self.mxkv.delete_range("session:", dry_run=True), 2500)
            self.assertEqual(self.mxkv.count("session:"), 2500)
            self.assertEqual(self.mxkv.delete_range("session:", atomic=atomic), 2500)
            self.assertEqual(self.mxkv.count("session:"), 0)
        self.assertEqual(self.mxkv.delete_range(mxkv.Range("b", "c")), 3)
        self.assertEqual(self.mxkv.count(), len(self.keys) - 3)

    def test_ranges_are_touched_at_once_or_not_at_all(self):
        with self.assertRaises(mxkv.RangeTooLarge):
            self.mxkv.touch_range("user:", 500, at_most=2)
        self.assertEqual({item.ttl for item in self.mxkv.items("user:")}, {None})
        self.assertEqual(self.mxkv.touch_range("user:", 500), 3)
        self.assertNotIn(None, {item.ttl for item in self.mxkv.items("user:")})


class PagesBesideWritersTest(PythonClientCase):
    def test_keys_that_stay_come_once_in_order_while_others_write(self):
        count = scaled(10000, 1500)
        staying = [b"key:%06d" % number for number in range(0, 2 * count, 2)]
        self.mxkv.set_many({key: key for key in staying})
        stop, failures = threading.Event(), []

        def write(seed: int) -> None:
            client = self.client()
            number = seed
            try:
                while not stop.is_set():
                    number = (number * 7919 + 1) % count
                    key = b"key:%06d" % (2 * number + 1)
                    client.set(key, key)
                    client.delete(b"key:%06d" % (2 * ((number + 77) % count) + 1))
                    client.set(staying[number], staying[number])
            except Exception as error:  # noqa: BLE001 - handed to the test
                failures.append(error)

        writers = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2, 3)]
        for writer in writers:
            writer.start()
        try:
            for reverse, page_items, snapshot in ((False, 173, False), (True, 173, False), (False, 1000, True), (True, 64, True)):
                found = list(self.mxkv.scan("key:", reverse=reverse, page_items=page_items, snapshot=snapshot))
                keys = [key for key, _ in found]
                self.assertEqual(keys, sorted(set(keys), reverse=reverse), "strict order, each once")
                self.assertTrue(all(key == value for key, value in found))
                self.assertLessEqual(set(staying), set(keys))
        finally:
            stop.set()
            for writer in writers:
                writer.join()
        self.assertEqual(failures, [])


class BatchesTest(PythonClientCase):
    def test_all_operations_and_what_they_give(self):
        client = self.mxkv
        client.set("old", "x")
        _, unique = client.gets("old")
        with client.batch() as batch:
            batch.set("a", "1", expire=100)
            batch.add(BINARY, "b")
            batch.append(BINARY, "c")
            batch.prepend(BINARY, "a")
            batch.replace("old", "y")
            up, down = batch.incr("a", 9), batch.decr("new", 5, initial=50)
            seen, missing, pair = batch.get(BINARY), batch.get("absent", 7), batch.gets("old")
            touched, deleted, absent = batch.touch("a", 50), batch.delete("old"), batch.delete("absent")
            with self.assertRaises(mxkv.MxkvError):
                print(up.value)
        self.assertEqual([up.value, down.value, seen.value, missing.value, touched.value, deleted.value, absent.value],
                         [10, 50, b"abc", 7, True, True, False])
        self.assertEqual(pair.value[0], b"y")
        self.assertGreater(pair.value[1], int(unique))

    def test_what_cannot_be_done_has_a_type_and_a_number_and_changes_nothing(self):
        client = self.mxkv
        client.set("k", "x")
        _, unique = client.gets("k")
        client.set("k", "y")
        for kind, fail in ((mxkv.Stale, lambda batch: batch.cas("k", "z", unique)), (mxkv.NotStored, lambda batch: batch.add("k", "z")),
                           (mxkv.NotFound, lambda batch: batch.incr("absent")), (mxkv.Stale, lambda batch: batch.delete("k", 1)),
                           (mxkv.ClientError, lambda batch: batch.incr("k"))):
            with self.assertRaises(kind) as raised, client.batch() as batch:
                batch.set("other", "x")
                batch.get("k")
                fail(batch)
            self.assertEqual(raised.exception.operation, 2)
            self.assertIsNone(client.get("other"))
        with self.assertRaises(mxkv.ClientError), client.batch() as batch:
            for number in range(1001):
                batch.set(f"k{number}", "x")
        self.assertEqual(client.count("k"), 1)

    def test_a_body_that_raises_sends_nothing(self):
        with self.assertRaises(KeyError), self.mxkv.batch() as batch:
            batch.set("k", "x")
            raise KeyError
        self.assertIsNone(self.mxkv.get("k"))
        with self.mxkv.batch():
            pass

    def test_others_see_all_of_a_batch_or_nothing(self):
        pool = mxkv.PooledClient(("127.0.0.1", self.server.port), max_pool_size=6, timeout=patience(20))
        self.addCleanup(pool.close)
        pool.set_many({f"account:{number}": 1000 for number in range(10)})
        failures, left = [], threading.Semaphore(0)

        def transfer(seed: int) -> None:
            try:
                for step in range(scaled(150, 30)):
                    with pool.batch() as batch:
                        batch.decr(f"account:{(seed + step) % 10}", 1)
                        batch.incr(f"account:{(seed * 3 + step * 7 + 1) % 10}", 1)
            except Exception as error:  # noqa: BLE001 - handed to the test
                failures.append(error)
            finally:
                left.release()

        threads = [threading.Thread(target=transfer, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        done = 0
        while done < len(threads):
            self.assertEqual(pool.numbers("account:", snapshot=True).total, 10000)
            self.assertEqual(sum(int(value) for _, value in pool.scan("account:", snapshot=True)), 10000)
            done += left.acquire(timeout=0.01)
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


if __name__ == "__main__":
    unittest.main()
