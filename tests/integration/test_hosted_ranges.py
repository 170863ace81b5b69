"""Operations on many keys that run on the worker that hosts the keys: replies are the same as from the home worker, and counters
show which worker did the work."""

from harness import Options, OwnServerCase, Server, mxkv_only, wait_for
from harness.connection import Connection
from meta_ranges import MetaCase
from scanning import UNHURRIED
from test_batches import BatchTest, batch, ms
from test_locked_ranges import EmptySlotsTest, LockedCountTest, LockedDeleteTest, LockedPageTest, RangeTouchTest

# Connections must stay on their workers, whatever the load.
_STAY = ("server.balance", "off")
HOSTED = (UNHURRIED, ("experimental.toggle.order", "toggle"), ("experimental.toggle.hosts", "true"), _STAY)
_MANY = 3000
_PATIENCE_S = 120


class HostedLockedPageTest(LockedPageTest):
    options = Options(workers=2, settings=(*LockedPageTest.options.settings, *HOSTED[1:]))


class HostedEmptySlotsTest(EmptySlotsTest):
    options = Options(workers=3, settings=(*EmptySlotsTest.options.settings, *HOSTED[1:], ("experimental.toggle.slots", "4")))


class HostedLockedCountTest(LockedCountTest):
    options = HostedLockedPageTest.options


class HostedLockedDeleteTest(LockedDeleteTest):
    options = HostedEmptySlotsTest.options


class HostedRangeTouchTest(RangeTouchTest):
    options = HostedEmptySlotsTest.options


class HostedBatchTest(BatchTest):
    options = Options(workers=2, settings=(("experimental.toggle.order", "toggle"), ("experimental.toggle.hosts", "true"),
                                           ("experimental.toggle.inner", "false")))


class BucketsCase(MetaCase):
    """Two workers and their buckets: keys that begin with a belong to the first, keys with z to the second. The server draws the
    map from samples: its middle is somewhere in m."""
    hosted = True

    def setUp(self):
        super().setUp()
        self.load(self.client, ((b"%c%05d" % (letter, i), b"%d" % i) for letter in b"amz" for i in range(_MANY)))
        wait_for(lambda: self.client.ask(b"mc a p X") and int(self.locks()["slot_maps"]) > 0, "a map is drawn", _PATIENCE_S)
        self.away = self.on_worker(0)
        if self.hosted:
            wait_for(self.in_force, "the map is in force", _PATIENCE_S)

    def in_force(self) -> bool:
        """The server counts a map when it is drawn. It applies later: then worker 1 hosts z, and worker 0 hosts a."""
        return self.asked(b"mt z00001 p T900\r\n", 1)[1] == 1 and self.asked(b"mt a00001 p T900\r\n", 1)[1] == 0

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

    def wait_carried(self, request: bytes, times: int, away: int, by_host: bool, prepare=lambda: None) -> None:
        """Waits until so many operations are held away from home and their worker runs most of the tasks.

        One such try is enough. A try fails if a worker gets no processor, another worker steals its tasks, or the map changes.
        """
        last = []

        def carried() -> bool:
            prepare()
            (home, host), held = last[:] = self.asked(request, times)
            return held == away and (host > home if by_host else home > 4 * host)
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
class HostsCarryTest(BucketsCase):
    options = Options(workers=2, settings=HOSTED)
    requests = {"touch": b"mt %c01 p T900\r\n", "page": b"mr %c01 p v k X\r\n", "count": b"mc %c01 p e X\r\n"}

    def test_the_host_runs_the_operations_on_its_keys(self):
        for name, request in self.requests.items():
            with self.subTest(name):
                # The host runs the operation. The home worker handles the requests and the replies.
                self.wait_carried(request % b"z", 40, away=40, by_host=True)
                self.wait_carried(request % b"a", 40, away=0, by_host=False)

    def test_the_host_runs_a_range_to_its_end(self):
        deleted = [(b"z%05d" % i, b"%d" % i) for i in range(2000, 3000)]
        self.wait_carried(b"mt z01 p T900\r\nmt z02 p T900\r\nmx z02 p X\r\n", 1, away=3, by_host=True,
                          prepare=lambda: self.load(self.client, deleted))
        self.assertEqual(self.client.ask(b"mc z02 p e"), b"HD A0 B0")

    def test_a_batch_is_the_lowest_bucket_s(self):
        self.wait_carried(batch(*(ms(b"z%05d" % (7 * i), b"new") for i in range(50))), 20, away=20, by_host=True)
        both = batch(ms(b"a00001", b"new"), ms(b"z00001", b"new"))
        wait_for(lambda: self.asked(both, 20)[1] == 0, "home runs a batch that begins there", _PATIENCE_S)
        self.assertEqual(self.client.get(b"z00001"), b"new")

    def test_a_long_batch_reply_is_answered(self):
        value = b"v" * 5000
        stream = batch(*(ms(b"z%05d" % i, value) for i in range(6)))
        wait_for(lambda: self.asked(stream, 3)[1] == 3, "the host runs the batch", _PATIENCE_S)
        self.away.send(batch(*(b"mg z%05d v\r\n" % i for i in range(6))))
        for _ in range(6):
            self.assertEqual([self.away.line(), self.away.line()], [b"VA 5000", value])
        self.assertEqual(self.away.line(), b"HD")

    def test_a_page_with_large_values_is_whole(self):
        large = bytes(range(97, 123)) * 40_000
        for key in (b"z01003", b"z01007", b"z01008"):
            self.client.set(key, large)
        for line in (b"mr z010 p k v X", b"mr z010 p r k v X", b"mr z01003 Hz01010 k v X", b"mr z01008 Hz01001 i r k v X"):
            with self.subTest(line):
                self.assertEqual(self.items(line), self.items(line.removesuffix(b" X")))

    def items(self, line: bytes) -> list:
        self.away.send(line + b"\r\n")
        lines = []
        while not lines or not lines[-1].startswith(b"EN"):
            lines.append(self.away.line())
        return lines


@mxkv_only("mt")
class HomesCarryTest(BucketsCase):
    """The same without hosts: the home worker runs everything."""
    hosted = False
    options = Options(workers=2, settings=(UNHURRIED, ("experimental.toggle.order", "toggle"), ("experimental.toggle.hosts", "false"),
                                           _STAY))

    def test_the_home_runs_all(self):
        for name, request in HostsCarryTest.requests.items():
            with self.subTest(name):
                self.wait_carried(request % b"z", 40, away=0, by_host=False)


@mxkv_only("mt")
class OrderInForceTest(OwnServerCase):
    """stats locks shows the order that the configuration resulted in."""

    def test_stats_tell_the_order_in_force(self):
        yes = {"true": "yes", "false": "no"}
        for order, hosts, inner, stealing in (("toggle", "true", "true", "true"), ("toggle", "true", "false", "false"),
                                              ("toggle", "false", "true", "true"), ("toggle", "false", "false", "true"),
                                              ("queue", "false", "true", "true")):
            values = {"order": order, "hosts": hosts, "inner": inner, "stealing": stealing, "buckets": "3", "slots": "5"}
            with self.subTest(values):
                server = Server(Options(workers=2, settings=tuple((f"experimental.toggle.{name}", value)
                                                                  for name, value in values.items()))).start()
                self.addCleanup(server.stop)
                client = Connection(server.port, timeout=60)
                self.addCleanup(client.close)
                stats = client.stats(b"locks")
                told = [stats[name] for name in ("order", "hosts", "inner", "stealing", "buckets", "slots")]
                of_buckets = [yes[hosts], yes[inner], yes[stealing]] if order == "toggle" else ["no"] * 3
                self.assertEqual(told, [order, *of_buckets, "3", "15"])
