"""Near caches beside a server that answers in an order that a test chooses."""

import threading
import unittest

import mxkv
from watch_servers import ScriptedServer, wait_for

OLD = b"EX Ow old G0123456789abcdef.9"
LOST = b"EX Ow lost"


class OrderTest(unittest.TestCase):
    def begin(self, *answers: bytes, **arguments) -> None:
        self.server = ScriptedServer(*answers)
        self.addCleanup(self.server.close)
        self.client = mxkv.PooledClient(f"127.0.0.1:{self.server.port}", timeout=60, retries=0)
        self.addCleanup(self.client.close)
        self.near = mxkv.NearCache(self.client, "k", **{"max_stale": 600, **arguments})
        self.addCleanup(self.near.close)
        wait_for(lambda: self.near.is_live, "the cache is live")

    def get(self, key: str, *answer: bytes) -> object:
        """What a read returns, whose request is answered so."""
        found = []
        thread = threading.Thread(target=lambda: found.append(self.near.get(key)))
        thread.start()
        self.server.answer(*answer)
        thread.join()
        return found[0]

    def get_while(self, key: str, happens, *answer: bytes) -> object:
        """As `get`, and `happens` is called while the read waits for its answer."""
        found = []
        thread = threading.Thread(target=lambda: found.append(self.near.get(key)))
        thread.start()
        self.server.waiting()
        happens()
        self.server.answer(*answer)
        thread.join()
        return found[0]

    def tainted(self) -> bool:
        return all(fetch.tainted for fetches in self.near._pending.values() for fetch in fetches)

    def tell_and_wait(self, *lines: bytes) -> None:
        self.server.tell(*lines)
        wait_for(self.tainted, "the read is tainted")

    def test_a_line_that_overtakes_the_reply_keeps_the_old_value_out(self):
        self.begin()
        for line in (b"WP kk1 c2 f0 s1 t-1", b"WG kk1 Rd", b"WG kk1 Re", b"WT kk1 t5", b"WX kk Hl Rd", b"WX k Rf", b"WY kk Hl t5"):
            with self.subTest(line):
                self.assertEqual(self.get_while("k1", lambda line=line: self.tell_and_wait(line), b"VA 1 f0 c1 t-1", b"a"), b"a")
                self.assertEqual(self.near.entries, 0)
        self.assertEqual(self.get("k1", b"VA 1 f0 c2 t-1", b"b"), b"b")
        self.assertEqual((self.near.get("k1"), self.near.entries), (b"b", 1))

    def test_lines_of_other_keys_do_not_taint(self):
        self.begin()
        self.get("k2", b"EN")

        def happens() -> None:
            self.server.tell(b"WP kk2 c2 f0 s1 t-1", b"WX kk2 Hl Rd")
            wait_for(lambda: self.near.entries == 0, "the other key is dropped")
        self.get_while("k1", happens, b"EN")
        self.assertEqual((self.near.get("k1"), self.near.entries), (None, 1))

    def test_an_own_write_taints_reads_and_drops_the_entry(self):
        self.begin()
        self.get("k1", b"VA 1 f0 c1 t-1", b"a")
        with self.near.writing("k1"):
            self.assertEqual(self.near.entries, 0)
            self.get("k1", b"VA 1 f0 c1 t-1", b"a")  # it may have been executed before the write
            self.assertEqual(self.near.entries, 1)
        self.assertEqual(self.near.entries, 0)

        def happens() -> None:
            with self.near.writing("k1"):
                pass
        self.get_while("k1", happens, b"VA 1 f0 c1 t-1", b"a")
        self.assertEqual(self.near.entries, 0)

    def test_the_line_of_the_put_that_was_read_keeps_the_entry(self):
        self.begin()
        for line, entries in ((b"WP kk1 c5 f0 s1 t-1", 1), (b"WP kk1 c5 f0 s1 t-1 X", 0), (b"WP kk1 c6 f0 s1 t-1", 0)):
            self.get("k1", b"VA 1 f0 c5 t-1", b"a") if self.near.entries == 0 else None
            self.get("k2", b"EN")
            self.server.tell(line, b"WG kk2 Rd")
            wait_for(lambda: b"k2" not in self.near._entries, "the section is applied")
            self.assertEqual(self.near.entries, entries, line)

    def test_a_stale_item_is_not_kept(self):
        self.begin()
        for flags in (b"X W", b"X Z"):
            self.assertEqual(self.get("k1", b"VA 1 f0 c5 t-1 " + flags, b"a"), b"a")
            self.assertEqual(self.near.entries, 0)

    def test_nothing_is_kept_until_a_delayed_flush_has_happened(self):
        self.begin()
        self.get("k1", b"EN")
        self.server.tell(b"WX k Rf t1000")
        wait_for(lambda: self.near.entries == 0, "all are dropped")
        self.get("k1", b"EN")
        self.assertEqual(self.near.entries, 0)

    def test_after_old_and_lost_all_is_dropped_and_the_position_is_never_sent_again(self):
        for refusal in (OLD, LOST):
            with self.subTest(refusal):
                fresh = b"HD Ow G0123456789abcdef.1"
                self.begin(fresh, refusal, b"HD Ow Gfedcba9876543210.7", fresh)
                self.get("k1", b"VA 1 f0 c1 t-1", b"a")

                def happens() -> None:
                    self.server.say(b"WO Ow ends G0123456789abcdef.1")
                    wait_for(lambda: len(self.server.watch_lines) == 3, "it begins anew")
                    wait_for(lambda: self.near.is_live, "the cache is live again")
                self.get_while("k2", happens, b"EN")
                self.assertEqual(self.near.entries, 0)
                lines = self.server.watch_lines
                self.assertEqual([b" G" in line for line in lines], [False, True, False])

    def test_a_watch_that_is_too_slow_begins_anew(self):
        self.begin()
        self.get("k1", b"EN")
        self.server.say(b"WO Ow old G0123456789abcdef.9")
        wait_for(lambda: len(self.server.watch_lines) == 2, "it begins anew")
        wait_for(lambda: self.near.is_live, "the cache is live again")
        self.assertEqual(self.near.entries, 0)
        self.assertNotIn(b" G", self.server.watch_lines[1])

    def test_a_lost_connection_goes_on_behind_the_last_position_and_entries_stay(self):
        self.begin()
        self.get("k1", b"VA 1 f0 c1 t-1", b"a")
        self.server.cut_all()
        wait_for(lambda: len(self.server.watch_lines) == 2, "it connects again")
        self.assertTrue(self.server.watch_lines[1].endswith(b" G0123456789abcdef.1"))
        self.assertEqual(self.near.get("k1"), b"a")

    def test_without_marks_reads_go_to_the_server_and_entries_stay(self):
        self.begin(max_stale=0.1)
        self.get("k1", b"VA 1 f0 c1 t-1", b"a")
        self.server.answers_marks = False
        wait_for(lambda: not self.near.is_live, "the cache is not live")
        self.assertEqual(self.get("k1", b"VA 1 f0 c2 t-1", b"b"), b"b")
        self.assertEqual(self.near.entries, 1)

    def test_a_mark_counts_from_when_it_was_asked_for(self):
        self.begin(max_stale=0.5)
        held, original = [], self.near._take
        self.near._take = lambda changes, asked: held.append((changes, asked))  # marks wait here, as in a slow network
        wait_for(lambda: held and not self.near.is_live, "marks are held back")
        original(*held[0])
        self.assertEqual(self.near._live_until, held[0][1] + 0.5)

    def test_a_server_that_refuses_the_watch_fails_the_constructor(self):
        for answer, kind in ((b"SERVER_ERROR mw does not work in a cluster", mxkv.ServerError),
                             (b"CLIENT_ERROR forbidden", mxkv.Forbidden), (b"ERROR", mxkv.ClientError)):
            with self.assertRaises(kind):
                self.begin(answer)


if __name__ == "__main__":
    unittest.main()
