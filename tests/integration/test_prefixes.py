"""Memory by prefix: what each takes is counted, limited and kept, and limits change while the server runs."""

import itertools
import signal
import unittest

from cli_case import CliCase
from harness import DaemonCase, Options, mxkv_only, wait_for
from harness.beside import load_tests  # noqa: F401

_FULL = b"SERVER_ERROR out of memory storing object"
_PREFIXES = '[{prefix: "page:", memory: 2MiB}, {prefix: "order:", memory: 1MiB, when_full: error}, {prefix: "order:big:"}]'


def by_prefix(client) -> dict:
    """Prefix to its statistics."""
    stats, found, number = client.stats(b"prefixes"), {}, 1
    while (prefix := stats.get(f"{number}:prefix")) is not None:
        own = {name.split(":", 1)[1]: value for name, value in stats.items() if name.startswith(f"{number}:")}
        found[prefix] = {name: int(value) if value.isdigit() else value for name, value in own.items()}
        number += 1
    return found


def store(client, prefix: bytes, count: int, size: int = 1000) -> list:
    """The replies to `count` sets in one pipeline."""
    client.send(b"".join(b"set %s%d 0 0 %d\r\n%s\r\n" % (prefix, i, size, b"x" * size) for i in range(count)))
    return [client.line() for _ in range(count)]


def wait_for_refusal(client, prefix: bytes) -> None:
    """Stores new keys until one is refused: an item that is stored again does not become larger."""
    numbers = itertools.count()
    wait_for(lambda: client.set(b"%snew%d" % (prefix, next(numbers)), b"x" * 1000) == _FULL, "writes are refused")


@mxkv_only("memcached has no prefixes")
class PrefixesTest(CliCase):
    options = Options(settings=(("prefixes", _PREFIXES),))

    def test_counts_are_those_of_the_items_that_are_there(self):
        store(self.client, b"page:", 300)
        store(self.client, b"order:", 200)
        store(self.client, b"order:big:", 100)
        store(self.client, b"other:", 50)
        self.client.send(b"".join(b"delete page:%d\r\n" % i for i in range(100)))
        for _ in range(100):
            self.client.line()
        self.assertEqual(self.client.ask(b"append order:5 0 0 3\r\nabc"), b"STORED")
        self.assertEqual(self.client.ask(b"mx order:big:1 p"), b"HD A11")
        expected = {"order:": 200, "order:big:": 89, "page:": 200}
        wait_for(lambda: {prefix: one["items"] for prefix, one in by_prefix(self.client).items()} == expected,
                 "flushed items count no more")
        found = by_prefix(self.client)
        length = sum(12 + 1000 + len(f"order:{i}") for i in range(200)) + 3
        self.assertEqual(found["order:"]["bytes"], length)
        self.assertEqual(found["order:"]["memory"], length + 32 * 200)
        self.assertEqual(found["page:"]["limit"], 2 << 20)
        self.assertEqual((found["order:"]["when_full"], found["order:big:"]["limit"]), ("error", 0))
        documents = {one["prefix"]: one for one in self.documents("prefixes")}
        self.assertEqual({prefix: one["items"] for prefix, one in documents.items()},
                         {prefix: one["items"] for prefix, one in found.items()})
        self.assertRegex(self.out("prefixes"), r"page: +200 +\S+ +2\.0MiB +none")

    def test_the_hit_ratio_is_that_of_sampled_gets(self):
        store(self.client, b"page:", 10)
        for _ in range(40):
            self.client.send(b"".join(b"get page:%d\r\nget page:none\r\n" % i for i in range(10)))
            for _ in range(10):
                self.client.records()
                self.client.records()
        found = by_prefix(self.client)["page:"]
        self.assertGreater(found["sampled_hits"] + found["sampled_misses"], 0)
        self.assertRegex(self.out("prefixes"), r"page: .* \d+ %")
        self.assertEqual(by_prefix(self.client)["order:big:"]["sampled_hits"], 0)

    def test_a_flood_of_one_prefix_evicts_its_own_items_alone(self):
        store(self.client, b"page", 500)
        before = by_prefix(self.client)["page:"]["evictions"]
        for _ in range(10):
            self.assertEqual(set(store(self.client, b"page:", 4000)), {b"STORED"})
        wait_for(lambda: by_prefix(self.client)["page:"]["memory"] <= 2 << 20, "the prefix is below its limit")
        found = by_prefix(self.client)["page:"]
        self.assertGreater(found["evictions"], before)
        self.assertGreater(found["items"], 1000, "no more goes than has to")
        self.assertTrue(self.client.ask(b"mc page: p e").startswith(b"HD A%d " % found["items"]))
        self.assertEqual(len(self.client.records(b"get " + b" ".join(b"page%d" % i for i in range(500)))), 500)

    def test_a_full_prefix_that_must_not_evict_refuses_writes(self):
        replies = store(self.client, b"order:", 3000)
        wait_for_refusal(self.client, b"order:")
        self.assertEqual(self.client.set(b"order:0", b"y" * 1000), b"STORED", "no larger than before")
        self.assertEqual(self.client.set(b"order:big:1", b"x"), b"STORED", "another prefix")
        found = by_prefix(self.client)["order:"]
        self.assertEqual(found["evictions"], 0)
        self.assertGreater(found["refused"], 0)
        self.assertGreaterEqual(found["items"], replies.count(b"STORED"))
        self.client.ask(b"flush_all")
        wait_for(lambda: self.client.set(b"order:new", b"x" * 1000) == b"STORED", "there is room again")


@mxkv_only("memcached has no prefixes")
class PrefixesReloadTest(DaemonCase):
    def test_limits_change_and_the_set_of_prefixes_does_not(self):
        self.write_config("prefixes:\n  - {prefix: \"a:\", memory: 4MiB}\n  - prefix: \"b:\"\n")
        self.start()
        client = self.client()
        store(client, b"a:", 3000)
        self.assertEqual(by_prefix(client)["a:"]["items"], 3000)
        self.assertEqual(client.ask(b'config set prefixes [{prefix: "b:"}, {prefix: "a:", memory: 1MiB}]'), b"OK")
        wait_for(lambda: client.ask(b"mn") == b"MN" and by_prefix(client)["a:"]["memory"] <= 1 << 20, "the new limit")
        self.assertIn(b"prefixes: limits may change, but the set of prefixes cannot while the daemon runs", client.ask(b'config set prefixes [{prefix: "c:"}]'))
        self.assertIn(b"is listed twice", client.ask(b'config set prefixes [{prefix: "a:"}, {prefix: "a:"}]'))
        self.write_config("prefixes:\n  - {prefix: \"a:\", memory: 3%, when_full: error, evict_for: auto}\n  - prefix: \"b:\"\n")
        self.process.send_signal(signal.SIGHUP)
        wait_for(lambda: by_prefix(client)["a:"]["limit"] == (64 << 20) * 3 // 100, "the reload")
        store(client, b"a:", 3000)
        wait_for_refusal(client, b"a:")
        self.end()

    def test_a_restart_counts_what_it_loads(self):
        text = f"durability: {{directory: {self.directory}/data}}\nprefixes: [{{prefix: \"a:\"}}, {{prefix: \"a:b\"}}]\n"
        self.write_config(text)
        self.start()
        client = self.client()
        store(client, b"a:", 500)
        store(client, b"a:b", 200)
        before = by_prefix(client)
        self.end()
        self.start()
        wait_for(lambda: len(self.ports()) == 2, "the second start")
        after = by_prefix(self.client(self.ports()[-1]))
        for prefix in ("a:", "a:b"):
            self.assertEqual([after[prefix][name] for name in ("items", "bytes")],
                             [before[prefix][name] for name in ("items", "bytes")])
        self.end()


if __name__ == "__main__":
    unittest.main()
