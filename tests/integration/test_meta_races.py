"""Of many clients that race to win an item exactly one wins, whatever other clients do to the item meanwhile."""

import threading

from harness import Options, Threads, patience, scaled
from meta_case import STEERED, MetaCase


class RaceTest(MetaCase):
    """Many clients read one stale item; one of them may win it."""
    options = Options(workers=2, settings=(STEERED,))

    def race(self, prepare, line: bytes, rounds: int, clients: int = 6, disturb=()) -> None:
        barrier, wins, done = threading.Barrier(clients + 1), [], threading.Event()
        threads = Threads(self.server.port)

        def read(client):
            for _ in range(rounds):
                barrier.wait(patience(60))
                # Several lines in one write, so that they race within the server, too.
                client.send((line + b"\r\n") * 4)
                replies = [client.line() for _ in range(4)]
                won = [reply for reply in replies if reply.endswith(b" W")]
                assert all(reply.startswith(b"HD") for reply in replies), replies
                assert all(b" Z" in reply for reply in replies if reply not in won), replies
                assert won in ([], replies[:1]), f"not the first of its stream won: {replies}"
                wins.extend(won)
                barrier.wait(patience(60))

        def guarded(client, _number):
            try:
                read(client)
            except BaseException:
                barrier.abort()
                done.set()
                raise

        def other(client, _number):
            while not done.is_set():
                for command in disturb:
                    (client.records if command[:2] == b"ga" or command[:3] == b"get" else client.ask)(command)

        threads.start(guarded, clients)
        if disturb:
            threads.start(other, 3)
        try:
            for number in range(rounds):
                prepare(number)
                wins.clear()
                barrier.wait(patience(60))
                barrier.wait(patience(60))
                self.assertEqual(len(wins), 1, f"round {number}: {wins}")
        except threading.BrokenBarrierError:
            pass  # the failure of a reader says more
        except BaseException:
            barrier.abort()
            raise
        finally:
            done.set()
            threads.join()

    def test_one_wins_what_was_invalidated(self):
        self.store(b"ms k 1", b"a")
        self.race(lambda _: self.assertEqual(self.one.ask(b"md k I"), b"HD"), b"mg k", scaled(150, 20))

    def test_one_wins_while_others_touch_and_get(self):
        self.store(b"ms k 1", b"a")
        self.race(lambda _: self.assertEqual(self.one.ask(b"md k I T100"), b"HD"), b"mg k", scaled(100, 15),
                  disturb=(b"touch k 0", b"get k", b"touch k 1000", b"gat 0 k", b"gat 500 k", b"mg other T30 q\r\nmn"))

    def test_one_wins_what_is_touched_by_the_winners_themselves(self):
        self.store(b"ms k 1", b"a")
        self.race(lambda _: self.assertEqual(self.one.ask(b"md k I"), b"HD"), b"mg k T300", scaled(100, 15),
                  disturb=(b"touch k 0", b"gat 200 k"))

    def test_one_makes_what_is_not_there(self):
        def gone(_):
            self.assertIn(self.one.ask(b"md k"), (b"HD", b"NF"))
        self.race(gone, b"mg k N30", scaled(100, 15), disturb=(b"touch k 0", b"get k"))

    def test_one_recaches(self):
        def short(_):
            self.assertEqual(self.store(b"ms k 1 T100", b"a"), b"HD")
        self.race(short, b"mg k R5000", scaled(100, 15), disturb=(b"get k", b"mg k u O1"))
