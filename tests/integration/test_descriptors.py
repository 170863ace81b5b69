"""Without free descriptors the server answers new clients with an error at once instead of letting them hang; it logs and
counts that. When descriptors are free again it serves clients again. The administration listener answers probes
throughout.
"""

import resource
import unittest

from harness import SANITIZED, mxkv_only, wait_for
from harness.http import AdminCase

_DESCRIPTORS = 40
_CLIENTS = 60
_BEGINS = "no connection can be accepted (Too many open files, 40 may be open)"
_ENDS = "connections are accepted again"


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))


class CrowdedCase(AdminCase):
    def start_short(self, *arguments, **options) -> None:
        self.start(*arguments, preexec_fn=limit, **options)

    def crowd(self, where=None, count: int = _CLIENTS) -> tuple:
        """Connects so many clients, which ask: returns (those served, those refused)."""
        clients = [self.client(where) for _ in range(count)]
        served, refused = [], []
        for client in clients:
            try:
                client.send(b"version\r\n")
            except OSError:
                pass  # the server has refused it already
            reply = client.line()
            if reply == b"ERROR Too many open connections":
                self.assertEqual(client.rest(), b"")
                refused.append(client)
            else:
                self.assertRegex(reply, b"^VERSION ")
                served.append(client)
        return served, refused


@mxkv_only("memcached leaves them waiting")
@unittest.skipIf(SANITIZED, "a sanitizer needs descriptors of its own (pipes) to look at memory")
class DescriptorsTest(CrowdedCase):
    def test_each_client_is_served_or_told_and_none_hangs(self):
        self.start_short()
        served, refused = self.crowd()
        self.assertGreater(len(served), 5)
        self.assertGreaterEqual(len(refused), _CLIENTS - _DESCRIPTORS)
        self.wait_log(_BEGINS)
        stats = served[0].stats()
        self.assertEqual(stats["accepting_conns"], "0")
        self.assertEqual(stats["listen_disabled_num"], "1")
        self.assertEqual(int(stats["starved_connections"]), len(refused))
        self.assertEqual(int(stats["rejected_connections"]), len(refused))
        self.assertEqual(served[-1].set(b"k", b"v"), b"STORED", "those that are in are served on")
        self.end()

    def test_clients_are_served_again_when_others_have_gone(self):
        self.start_short()
        served, _ = self.crowd()
        stays = served.pop()
        for client in served:
            client.close()
        wait_for(lambda: stays.stats()["accepting_conns"] == "1", "that it accepts again, without a client that tries")
        self.wait_log(_ENDS)
        self.assertGreater(int(stays.stats()["time_in_listen_disabled_us"]), 0)
        for _ in range(5):
            self.assertEqual(self.client().set(b"k", b"v"), b"STORED")
        _, refused = self.crowd()
        self.assertGreater(len(refused), 0, "a second time")
        self.end()

    def test_a_unix_sockets_clients_are_told_as_well(self):
        path = self.directory / "s"
        self.start_short(listen=("127.0.0.1:0", f"unix:{path}"))
        served, refused = self.crowd(path)
        self.assertGreaterEqual(len(refused), _CLIENTS - _DESCRIPTORS)
        self.assertEqual(served[0].set(b"k", b"v"), b"STORED")
        self.end()


@mxkv_only("its administration")
@unittest.skipIf(SANITIZED, "a sanitizer needs descriptors of its own (pipes) to look at memory")
class ProbesTest(CrowdedCase):
    def test_probes_are_answered_while_clients_hold_all_descriptors(self):
        self.start_admin(preexec_fn=limit)
        served, _ = self.crowd()
        self.wait_log(_BEGINS)
        idle = [self.raw() for _ in range(8)]  # more than the reserve; these connections send nothing and stay

        def overloaded() -> bool:
            served.extend(self.crowd(count=1)[0])  # where a descriptor has become free, it takes that
            return self.get("/readyz").text == "overloaded: no file descriptor is free for another connection\n"
        for _ in range(5):
            self.assertEqual(self.get("/livez").text, "alive\n")
            wait_for(overloaded, "not ready")
        self.assertEqual(served[0].set(b"k", b"v"), b"STORED")
        for one in [*idle, *served]:
            one.close()
        wait_for(lambda: self.get("/readyz").text == "ready\n", "ready again")
        self.end()
