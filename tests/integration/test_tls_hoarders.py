"""Clients that finish a TLS handshake and then say nothing: their sessions have a share of memory of their own, beyond which the
cache keeps its items. When they have left, the memory goes back to the system. `MXKV_TEST_LONG=1` runs 4,000 clients."""

import contextlib

from harness import LONG, SANITIZED, mxkv_only, wait_for
from harness.connection import Connection
from harness.tls import Records, TlsCase
from hoarding import raise_descriptor_limit, resident_bytes
from test_eviction import store_all
from test_hoarders import memory_of

_MIB = 1 << 20
_PATIENCE_S = 120
_LIMIT_MIB = 64
_SHARE = 8  # TLS sessions may take one part in so many of the limit
_SESSION_BYTES = 16 << 10  # the server's charge for one session
_KEPT_MIB = 6  # two threads' caches in the system's heap keep so much: a few blocks keep their pages


@mxkv_only("TLS")
class IdleTlsTest(TlsCase):
    def shaken(self, count: int) -> list:
        """Clients that finish their handshake and read no ticket, as far as the server admits them."""
        context, clients = self.context(), []
        for _ in range(count):
            client = Records(self.ports()[0], context)
            self.addCleanup(client.wire.close)
            client.wire.settimeout(_PATIENCE_S)
            client.shake_hands()
            clients.append(client)
        return clients

    def test_the_cache_keeps_its_items_and_the_memory_comes_back(self):
        most = _LIMIT_MIB * _MIB // _SHARE // _SESSION_BYTES
        count = 4000 if LONG else 40 if SANITIZED else most + 150
        raise_descriptor_limit(count + 200)
        items = 3000 if SANITIZED else 30_000
        self.serve(more=f"limits: {{connections: {count + 100}}}\n")
        watcher = Connection(self.ports()[1], timeout=_PATIENCE_S)
        self.addCleanup(watcher.close)
        store_all(watcher, (b"k%06d" % i for i in range(items)), 1000)
        begin, resident = memory_of(watcher), resident_bytes(self.process.pid)
        clients = self.shaken(count)
        wait_for(lambda: self.stat("tls_handshakes") == count, "each was let in", _PATIENCE_S)
        held, stats = memory_of(watcher), watcher.stats()
        open_now = int(stats["tls_connections"])
        # Sessions also keep buffers; each worker's share of unfinished input has room for some.
        charged = held["buffers"] - begin["buffers"]
        peak = resident_bytes(self.process.pid)
        for client in clients:
            client.wire.close()
        self.wait_stat("tls_connections", 0)
        wait_for(lambda: memory_of(watcher)["buffers"] <= begin["buffers"] + _MIB, "nothing is charged any more", _PATIENCE_S)
        looks = []

        def is_back() -> bool:
            looks.append(resident_bytes(self.process.pid))
            return SANITIZED or looks[-1] <= resident + _KEPT_MIB * _MIB
        with contextlib.suppress(AssertionError):
            wait_for(is_back, "the memory is the system's again", _PATIENCE_S)
        print(f"{count} idle clients by TLS: {open_now} open at the end, {charged / _MIB:.1f} MiB charged, {stats['curr_items']} of "
              f"{items} items, resident MiB {resident / _MIB:.1f} before, {peak / _MIB:.1f} with them "
              f"({(peak - resident) / open_now / 1024:.1f} KiB each), {looks[-1] / _MIB:.1f} when they had left", flush=True)
        self.assertTrue(is_back(), "the memory is the system's again")
        self.assertEqual(int(stats["curr_items"]), items)
        self.assertLessEqual(open_now, most + 16, "those whose handshakes ran beside each other are beyond it")
        self.assertLessEqual(charged, (most * _SESSION_BYTES if not SANITIZED else count * _SESSION_BYTES) + 3 * _MIB)
        self.assertEqual(int(stats["idle_kicks"]), count - open_now)
        self.end()
