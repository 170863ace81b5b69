"""Pipelines, hooks and several servers. Needs a server that may be emptied, at MXKV_PORT of 127.0.0.1; skipped without."""

import asyncio
import os
import unittest
from contextlib import contextmanager

import mxkv

PORT = os.environ.get("MXKV_PORT")


@unittest.skipUnless(PORT, "MXKV_PORT names no server")
class ServerTest(unittest.TestCase):
    def setUp(self):
        self.client = mxkv.Client(f"mxkv://127.0.0.1:{PORT}", timeout=60, connect_timeout=60)
        self.addCleanup(self.client.close)
        self.client.flush_all()

    def test_a_pipeline_executes_each_operation_by_itself(self):
        self.client.set("there", 1)
        with self.client.pipeline() as pipeline:
            stored, again = pipeline.set("a", "1"), pipeline.add("there", "2")
            counted, missing = pipeline.incr("there", 4), pipeline.incr("nowhere")
            stale, gone = pipeline.cas("a", "x", 1), pipeline.delete("nowhere")
            found, binary = pipeline.get("a"), pipeline.set(b"b \0", "3")
            with self.assertRaises(mxkv.MxkvError):
                stored.value  # noqa: B018 - not executed yet
        self.assertEqual([outcome.value for outcome in (stored, counted, gone, found, binary)], [True, 5, False, b"1", True])
        for outcome, kind, number in ((again, mxkv.NotStored, 1), (missing, mxkv.NotFound, 3), (stale, mxkv.Stale, 4)):
            self.assertIs(type(outcome.error), kind)
            self.assertEqual(outcome.error.operation, number)
            with self.assertRaises(kind):
                outcome.value  # noqa: B018 - it raises
        self.assertEqual(self.client.get("there"), b"5")

    def test_a_refused_operation_is_raised_after_all_others_were_executed(self):
        self.client.set("text", "x")
        with self.assertRaises(mxkv.ClientError) as raised, self.client.pipeline() as pipeline:
            pipeline.set("a", "1")
            refused = pipeline.incr("text")
            pipeline.set("b", "2")
        self.assertEqual(raised.exception.operation, 1)
        self.assertIs(refused.error, raised.exception)
        self.assertEqual(self.client.get_many(["a", "b"]), {"a": b"1", "b": b"2"})

    def test_a_pipeline_may_be_larger_than_all_buffers(self):
        large = b"x" * 500_000
        with self.client.pipeline() as pipeline:
            stored = [pipeline.set(f"large:{number}", large) for number in range(20)]
            found = [pipeline.get(f"large:{number % 20}") for number in range(100)]
            small = [pipeline.set(f"small:{number}", number) for number in range(3000)]
        self.assertTrue(all(outcome.value for outcome in stored + small))
        self.assertTrue(all(outcome.value == large for outcome in found))
        self.assertEqual(self.client.count("small:"), 3000)

    def test_asyncio_has_pipelines_and_several_servers(self):
        async def check() -> None:
            async with mxkv.AsyncHashClient([f"127.0.0.1:{PORT}", f"localhost:{PORT}"], timeout=60) as client:
                self.assertEqual(await client.set_many({f"k{number}": number for number in range(50)}), [])
                self.assertEqual(len(await client.get_many([f"k{number}" for number in range(60)])), 50)
                async with client.client_of("k1").pipeline() as pipeline:
                    one, other = pipeline.incr("k1"), pipeline.incr("none")
                self.assertEqual((one.value, type(other.error)), (2, mxkv.NotFound))
                self.assertTrue(await client.delete("k1"))
                self.assertTrue(await client.delete_many(["k2", "k3"]))
                self.assertIsNone(await client.get("k1"))
        asyncio.run(check())
        self.assertEqual(self.client.count("k"), 47)

    def test_several_servers_share_the_keys(self):
        with mxkv.HashClient([f"127.0.0.1:{PORT}", f"localhost:{PORT}"], key_prefix="p:", timeout=60) as client:
            self.assertEqual(client.set_many({f"k{number}": number for number in range(50)}), [])
            self.assertEqual(len(client.get_many([f"k{number}" for number in range(60)])), 50)
            self.assertEqual((client.incr("k1", 1), client.decr("k1", 1), client.get("k60", 7)), (2, 1, 7))
            value, unique = client.gets("k1")
            self.assertEqual((value, client.cas("k1", "x", unique), client.cas("k1", "y", unique)), (b"1", True, False))
            self.assertEqual((client.add("k1", 1), client.replace("k1", "z"), client.append("k1", "!")), (False, True, True))
            self.assertEqual((client.get("k1"), client.touch("k1", 100), client.delete("k1")), (b"z!", True, True))
            self.assertTrue(client.delete_many(["k2", "k3"]))
        self.assertEqual(self.client.count("p:k"), 47)

    def test_a_hook_is_around_each_request(self):
        seen = []

        @contextmanager
        def hook(command, server):
            try:
                yield
                seen.append((command, server, None))
            except mxkv.MxkvError as error:
                seen.append((command, server, type(error)))
                raise

        async def ask() -> None:
            async with mxkv.AsyncClient(f"127.0.0.1:{PORT}", hook=hook, timeout=60) as client:
                await client.set("k", "v")
        with mxkv.Client(f"127.0.0.1:{PORT}", hook=hook, timeout=60) as client:
            client.set("k", "x")
            list(client.scan("k"))
            with self.assertRaises(mxkv.ClientError):
                client.incr("k", 1)
        asyncio.run(ask())
        name = f"127.0.0.1:{PORT}"
        self.assertEqual(seen, [("set", name, None), ("mr", name, None), ("incr", name, mxkv.ClientError), ("ms", name, None)])

    def test_opentelemetry_gets_a_span_for_each_request(self):
        try:
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import SimpleSpanProcessor
            from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        except ImportError:
            self.skipTest("opentelemetry-sdk is not installed")
        from mxkv.opentelemetry import tracing
        spans, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(spans))
        with mxkv.Client(f"127.0.0.1:{PORT}", hook=tracing(provider), timeout=60) as client:
            client.set("k", "x")
            with self.assertRaises(mxkv.ClientError):
                client.incr("k", 1)
        stored, counted = spans.get_finished_spans()
        self.assertEqual(dict(stored.attributes), {"db.system.name": "mxkv", "db.operation.name": "set", "server.address": "127.0.0.1",
                                                   "server.port": int(PORT)})
        self.assertEqual((counted.name, counted.attributes["error.type"], counted.status.is_ok), ("incr", "ClientError", False))


if __name__ == "__main__":
    unittest.main()
