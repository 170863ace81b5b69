"""Operations on many keys that Toggle orders by buckets of keys: replies are the same as by one queue, and counters show which
worker did the work."""

from harness import Options, OwnServerCase, Server, mxkv_only, wait_for
from harness.connection import Connection
from meta_ranges import MetaCase
from scanning import UNHURRIED
from test_batches import BatchTest
from test_locked_ranges import EmptySlotsTest, LockedCountTest, LockedDeleteTest, LockedPageTest, RangeTouchTest

# Connections must stay on their workers, whatever the load.
_STAY = ("server.balance", "off")
TOGGLE = (("experimental.toggle.order", "toggle"), _STAY)
_MANY = 3000
_PATIENCE_S = 120


class ToggleLockedPageTest(LockedPageTest):
    options = Options(workers=2, settings=(*LockedPageTest.options.settings, *TOGGLE))


class ToggleEmptySlotsTest(EmptySlotsTest):
    options = Options(workers=3, settings=(*EmptySlotsTest.options.settings, *TOGGLE, ("experimental.toggle.slots", "4")))


class ToggleLockedCountTest(LockedCountTest):
    options = ToggleLockedPageTest.options


class ToggleLockedDeleteTest(LockedDeleteTest):
    options = ToggleEmptySlotsTest.options


class ToggleRangeTouchTest(RangeTouchTest):
    options = ToggleEmptySlotsTest.options


class ToggleBatchTest(BatchTest):
    options = Options(workers=2, settings=(("experimental.toggle.order", "toggle"), ("experimental.toggle.inner", "false")))


class BucketsCase(MetaCase):
    """Two workers and their buckets: keys that begin with a belong to the first, keys with z to the second. The server draws the
    map from samples: its middle is somewhere in m."""
    def setUp(self):
        super().setUp()
        self.load(self.client, ((b"%c%05d" % (letter, i), b"%d" % i) for letter in b"amz" for i in range(_MANY)))
        wait_for(lambda: self.client.ask(b"mc a p X") and int(self.locks()["slot_maps"]) > 0, "a map is drawn", _PATIENCE_S)
        self.away = self.on_worker(0)

    def locks(self) -> dict:
        return self.client.stats(b"locks")

    def on_worker(self, worker: int) -> Connection:
        """A client whose connection belongs to that worker."""
        for _ in range(20):
            client = self.connect()
            client.ask(b"version")
            stats = self.client.stats(b"conns")
            name = next(name.split(":")[0] for name, text in stats.items()
                        if name.endswith(":addr") and text == "tcp:%s:%d" % client.socket.getsockname())
            if int(stats[f"{name}:worker"]) == worker:
                return client
        self.fail(f"no connection came to worker {worker}")

    def wait_carried(self, request: bytes, times: int) -> None:
        """Waits until the home worker holds so many operations in a row, and runs most of their tasks.

        One such try is enough. A try fails if a worker gets no processor, another worker steals its tasks, or the map changes.
        """
        last = []

        def carried() -> bool:
            (home, other), held = last[:] = self.asked(request, times)
            return held == 0 and home > 4 * other
        try:
            wait_for(carried, f"{times} times {request[:60]!r}", _PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}: tasks of each worker, operations held away: {last}") from None

    def asked(self, request: bytes, times: int) -> tuple:
        """Sends the request so often to worker 0 under one map; returns each worker's tasks, and operations held elsewhere."""
        def counted():
            stats, locks = self.client.stats(b"runtime"), self.locks()
            return ([int(stats[f"worker:{worker}:tasks"]) for worker in range(2)], int(locks["operations_away_from_home"]),
                    int(locks["slot_maps"]))
        for _ in range(100):
            (tasks, away, maps) = counted()
            for _ in range(times):
                self.away.send(request + b"mn\r\n")
                while self.away.line() != b"MN":
                    pass
            (tasks_then, away_then, maps_then) = counted()
            if maps_then == maps:
                return [then - before for then, before in zip(tasks_then, tasks)], away_then - away
        self.fail("maps are drawn all the time")


@mxkv_only("mt")
class HomesCarryTest(BucketsCase):
    options = Options(workers=2, settings=(UNHURRIED, *TOGGLE))
    requests = {"touch": b"mt z01 p T900\r\n", "page": b"mr z01 p v k X\r\n", "count": b"mc z01 p e X\r\n"}

    def test_the_home_runs_all_where_no_other_operation_waits(self):
        for name, request in self.requests.items():
            with self.subTest(name):
                self.wait_carried(request, 40)


@mxkv_only("mt")
class OrderInForceTest(OwnServerCase):
    """stats locks shows the order that the configuration resulted in."""

    def test_stats_tell_the_order_in_force(self):
        yes = {"true": "yes", "false": "no"}
        for order, inner, stealing in (("toggle", "true", "true"), ("toggle", "false", "false"), ("toggle", "false", "true"),
                                       ("queue", "true", "true")):
            values = {"order": order, "inner": inner, "stealing": stealing, "buckets": "3", "slots": "5"}
            with self.subTest(values):
                server = Server(Options(workers=2, settings=tuple((f"experimental.toggle.{name}", value)
                                                                  for name, value in values.items()))).start()
                self.addCleanup(server.stop)
                client = Connection(server.port, timeout=60)
                self.addCleanup(client.close)
                stats = client.stats(b"locks")
                told = [stats[name] for name in ("order", "inner", "stealing", "buckets", "slots")]
                of_buckets = [yes[inner], yes[stealing]] if order == "toggle" else ["no"] * 2
                self.assertEqual(told, [order, *of_buckets, "3", "15"])
