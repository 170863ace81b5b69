"""Deep pipelines: replies in the order of the requests, and each connection sees its own writes."""

import random
import threading

from harness import Connection, Options, ServerCase, Threads, campaign, mxkv_only
from harness.connection import block
from scanning import UNHURRIED


class Model:
    """A dictionary that predicts the server's replies; no other run uses the keys of this one."""

    def __init__(self, prefix: bytes, seed: int):
        self.chance = random.Random(seed)
        self.keys = [b"%s%d" % (prefix, i) for i in range(12)]
        self.values = {}

    def step(self):
        """(request, reply) of one random command; the model changes accordingly."""
        key = self.chance.choice(self.keys)
        action = self.chance.choice((self.store, self.store, self.get, self.get, self.change, self.count, self.remove,
                                     self.get_many))
        return action(key)

    def store(self, key):
        value = b"%d" % self.chance.randrange(1000) + b"." * self.chance.choice((0, 1, 30, 300, 3000))
        present = key in self.values
        verb = self.chance.choice((b"set", b"set", b"add", b"replace"))
        done = verb == b"set" or (verb == b"add") != present
        if done:
            self.values[key] = value
        return self.quietly(lambda tail: block(verb, key, value, tail=tail), b"STORED\r\n" if done else b"NOT_STORED\r\n")

    def change(self, key):
        verb = self.chance.choice((b"append", b"prepend"))
        present = key in self.values
        if present:
            self.values[key] = self.values[key] + b"!" if verb == b"append" else b"?" + self.values[key]
        return self.quietly(lambda tail: block(verb, key, b"!" if verb == b"append" else b"?", tail=tail),
                            b"STORED\r\n" if present else b"NOT_STORED\r\n")

    def count(self, key):
        if not self.values.get(key, b"").isdigit():
            self.values[key] = b"0"
            return block(b"set", key, b"0"), b"STORED\r\n"
        self.values[key] = b"%d" % (int(self.values[key]) + 7)
        return self.quietly(lambda tail: b"incr %s 7%s\r\n" % (key, b" " + tail if tail else b""),
                            self.values[key] + b"\r\n")

    def remove(self, key):
        present = self.values.pop(key, None) is not None
        return self.quietly(lambda tail: b"delete %s%s\r\n" % (key, b" " + tail if tail else b""),
                            b"DELETED\r\n" if present else b"NOT_FOUND\r\n")

    def quietly(self, request, reply):
        return (request(b"noreply"), b"") if self.chance.random() < 0.3 else (request(b""), reply)

    def get(self, key):
        return b"get %s\r\n" % key, self.answer([key])

    def get_many(self, _key):
        keys = [self.chance.choice(self.keys) for _ in range(self.chance.randrange(1, 9))]
        return b"get %s\r\n" % b" ".join(keys), self.answer(keys)

    def answer(self, keys) -> bytes:
        found = [b"VALUE %s 0 %d\r\n%s\r\n" % (key, len(self.values[key]), self.values[key])
                 for key in keys if key in self.values]
        return b"".join(found) + b"END\r\n"


class ScanningModel(Model):
    """Adds scans over the run's own keys: a scan waits for the writes before it."""

    def get_many(self, key):
        if self.chance.random() < 0.5:
            return super().get_many(key)
        low, high = sorted((self.chance.choice(self.keys), self.chance.choice(self.keys)))
        return b"scan %s [%s 100\r\n" % (low, high), self.answer(sorted(k for k in self.keys if low <= k <= high))


def expect_in_order(client: Connection, model: Model, steps: int) -> None:
    """Sends all requests in one go while another thread reads, and compares every byte."""
    pairs = [model.step() for _ in range(steps)]
    expected = b"".join(reply for _, reply in pairs) + b"VERSION "
    sender = threading.Thread(target=client.send, args=(b"".join(request for request, _ in pairs) + b"version\r\n",))
    sender.start()
    try:
        received = client.exactly(len(expected))
    finally:
        sender.join()
    if received != expected:
        at = next(i for i, (a, b) in enumerate(zip(received, expected)) if a != b)
        raise AssertionError(f"byte {at}: received {received[at - 100:at + 200]!r}, "
                             f"expected {expected[at - 100:at + 200]!r}")


class PipelineProperties:
    """These tests run once for each set of options below."""

    def setUp(self):
        self.connect().ask(b"flush_all")

    def run_models(self, make_model, prefix: bytes, steps: int):
        for seed in range(3):
            expect_in_order(self.connect(timeout=60), make_model(b"%s%d." % (prefix, seed), seed), steps)

    def run_many_at_once(self, make_model):
        threads = Threads(self.server.port)
        threads.start(lambda client, number: expect_in_order(client, make_model(b"t%d." % number, number),
                                                             campaign(2000, 200, part=2)), 8)
        threads.join()

    def test_thousands_of_mixed_requests_in_one_go(self):
        self.run_models(Model, b"p", campaign(10000, 1000, part=2))

    def test_many_connections_at_once(self):
        self.run_many_at_once(Model)

    def test_the_same_key_over_and_over(self):
        client = self.connect()
        rounds = campaign(3000, 300, part=2)
        client.send(b"set n 0 0 1\r\n0\r\n" + b"incr n 1\r\nget n\r\n" * rounds)
        self.assertEqual(client.line(), b"STORED")
        for number in range(1, rounds + 1):
            self.assertEqual(client.line(), b"%d" % number)
            self.assertEqual(client.records()[0][1], b"%d" % number)

    def test_noreply_set_is_seen_by_the_get_behind_it(self):
        client = self.connect()
        rounds = campaign(2000, 200, part=2)
        client.send(b"".join(block(b"set", b"k", b"%d" % i, tail=b"noreply") + b"get k other\r\n" for i in range(rounds)))
        for i in range(rounds):
            self.assertEqual(client.records(), [(b"k", b"%d" % i, [0])])

    def test_flush_all_in_a_pipeline_is_a_barrier(self):
        client = self.connect()
        part = b"".join(block(b"set", b"f%d" % i, b"v", tail=b"noreply") for i in range(50))
        get = b"get " + b" ".join(b"f%d" % i for i in range(50)) + b"\r\n"
        client.send((part + get + b"flush_all noreply\r\n" + get) * 20)
        for _ in range(20):
            self.assertEqual(len(client.records()), 50)
            self.assertEqual(client.records(), [])

    @mxkv_only("scans")
    def test_scans_see_the_writes_before_them(self):
        self.run_models(ScanningModel, b"s", campaign(5000, 500, part=2))

    @mxkv_only("scans")
    def test_scans_on_many_connections_at_once(self):
        self.run_many_at_once(ScanningModel)


class OneWorkerTest(PipelineProperties, ServerCase):
    options = Options(workers=1, settings=(UNHURRIED,))


class TwoWorkersTest(PipelineProperties, ServerCase):
    options = Options(workers=2, settings=(UNHURRIED,))


@mxkv_only("prefetching")
class PrefetchOffTest(PipelineProperties, ServerCase):
    options = Options(workers=2, settings=(UNHURRIED, ("experimental.prefetch.mode", "off")))


@mxkv_only("prefetching")
class PrefetchTunedTest(PipelineProperties, ServerCase):
    options = Options(workers=2, settings=(UNHURRIED, ("experimental.prefetch.mode", "auto")))


@mxkv_only("prefetching")
class PrefetchDistanceTest(PipelineProperties, ServerCase):
    options = Options(workers=2, settings=(UNHURRIED, ("experimental.prefetch.mode", "distance"), ("experimental.prefetch.distance", "8")))


@mxkv_only("limits")
class NarrowLimitsTest(PipelineProperties, ServerCase):
    """Every limit of a turn at its minimum: all pipelines take the paths that wait."""
    options = Options(workers=2, settings=(UNHURRIED, ("limits.requests_per_turn", "1"), ("limits.pipeline", "2"),
                                           ("limits.output_high_water", "4KiB")))
