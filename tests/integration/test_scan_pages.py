"""Ranges over many keys: pages that the client's limit or the server's ceilings end, against a sorted Python model."""

import random

from harness import Options, mxkv_only, scaled
from harness.connection import block
from scanning import UNHURRIED, ScanCase, page_through


@mxkv_only("scans")
class ManyKeysTest(ScanCase):
    options = Options(memory_mib=512, settings=(UNHURRIED,))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(4)
        cls.model = {b"%s:%d" % (chance.choice((b"user", b"u", b"order-with-a-longer-prefix")), chance.randrange(1 << 40)):
                     b"%d" % i for i in range(scaled(100000, 5000))}

    def setUp(self):
        self.client = self.connect(timeout=60)
        if not self.keys(b"scan - 1"):
            self.load(self.client, self.model.items())

    def test_all_pages_equal_the_model(self):
        ordered = sorted(self.model)
        found = page_through(self.client, b"scan - + 100000000 keys", lambda c: b"scan cursor=%s 100000000 keys" % c)
        self.assertTrue(found == ordered, "forward")
        found = page_through(self.client, b"scan - + 777 cursor keys reverse", lambda c: b"scan cursor=%s 777 cursor keys" % c)
        self.assertTrue(found == ordered[::-1], "reverse")

    def test_random_ranges_equal_the_model(self):
        chance, ordered = random.Random(8), sorted(self.model)
        for _ in range(scaled(300, 50)):
            begin = chance.randrange(len(ordered))
            wanted = ordered[begin:begin + chance.choice((1, 10, 100))]
            found = self.client.records(b"scan [%s [%s 100" % (wanted[0], wanted[-1]))
            self.assertEqual(found, [(key, self.model[key], [0]) for key in wanted])
            found = self.keys(b"scan [%s [%s 100 reverse" % (wanted[0], wanted[-1]))
            self.assertEqual(found, wanted[::-1])

    def test_many_scans_in_a_pipeline(self):
        chance, ordered = random.Random(2), sorted(self.model)
        begins = [chance.randrange(len(ordered)) for _ in range(scaled(500, 50))]
        self.client.send(b"".join(b"scan %s 100\r\nget %s\r\n" % (ordered[b], ordered[b]) for b in begins))
        for begin in begins:
            self.assertEqual([r[0] for r in self.client.records()], ordered[begin:begin + 100])
            self.assertEqual(self.client.records(), [(ordered[begin], self.model[ordered[begin]], [0])])


class CeilingProperties:
    """The server's ceiling, not the client's limit, ends the pages: the server adds a cursor unasked, and no key is lost."""
    items = (3000, 500)  # more items than a page takes; fewer under sanitizers

    def setUp(self):
        self.client = self.connect()
        self.client.ask(b"flush_all")

    def test_pages_are_cut_with_a_cursor_and_give_everything_once(self):
        keys = [b"c%05d" % i for i in range(scaled(*self.items))]
        self.load(self.client, ((key, b"v" * 200) for key in keys))
        first = self.client.records(b"scan - + 1000000")
        self.assertEqual(first[-1][0], "CURSOR")
        self.assertLess(len(first) - 1, len(keys))
        for words in (b"", b" reverse"):
            found = page_through(self.client, b"scan - + 1000000" + words, lambda c: b"scan cursor=%s 1000000" % c)
            self.assertTrue(found == (keys[::-1] if words else keys), words)

    def test_a_page_has_at_least_one_item(self):
        self.client.set(b"large1", b"x" * 500000)
        self.client.set(b"large2", b"x" * 500000)
        self.assertEqual(page_through(self.client, b"pscan large 10", lambda c: b"pscan cursor=%s 10" % c),
                         [b"large1", b"large2"])


@mxkv_only("scans")
class ItemCeilingTest(CeilingProperties, ScanCase):
    options = Options(settings=(UNHURRIED, ("limits.scan_items", "7")))

    def test_the_ceiling_is_exact(self):
        self.load(self.client, ((b"i%03d" % i, b"v") for i in range(20)))
        self.assertEqual(self.keys(b"pscan i 100"), [b"i%03d" % i for i in range(7)] + ["CURSOR"])
        self.assertEqual(self.keys(b"pscan i 7"), [b"i%03d" % i for i in range(7)])
        self.assertEqual(len(self.keys(b"pscan i 5")), 5)


@mxkv_only("scans")
class ByteCeilingTest(CeilingProperties, ScanCase):
    options = Options(settings=(UNHURRIED, ("limits.scan_bytes", "1KiB")))


@mxkv_only("scans")
class TimeCeilingTest(CeilingProperties, ScanCase):
    options = Options(settings=(("limits.scan_time", "1ms"), ("limits.scan_items", "1000000"),
                                ("limits.scan_bytes", "1GiB")))
    items = (60000, 20000)


@mxkv_only("scans")
class AllKindsOfItemsTest(ScanCase):
    """Rows of usual items, and unusual ones between them: other lengths, flags, times to live, large values."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        chance = random.Random(11)
        cls.model, cls.lines = {}, []
        for number in range(scaled(4000, 1500)):
            usual = chance.random() < 0.8
            key = b"%08d" % chance.randrange(10 ** 8) + b"k" * (12 if usual else chance.choice((1, 7, 8, 9, 23, 24, 25, 90)))
            size = 100 if usual else chance.choice((0, 1, 3, 4, 15, 16, 17, 32, 63, 64, 65, 127, 128, 129, 999, 1000, 1001, 9000))
            flags = 0 if usual else chance.choice((0, 0, 7))
            exptime = 0 if usual else chance.choice((0, 10000, -1))
            value = (b"%d:" % number * (size // 2 + 1))[:size]
            cls.lines.append(block(b"set", key, value, flags, exptime))
            cls.model.pop(key, None)
            if exptime >= 0:
                cls.model[key] = (value, [flags])
        cls.ordered = sorted(cls.model)

    def setUp(self):
        self.client = self.connect(timeout=60)
        if not self.keys(b"scan - 1"):
            self.client.send(b"".join(self.lines))
            for _ in self.lines:
                self.assertEqual(self.client.line(), b"STORED")

    def expected(self, begin, count):
        return [(key, *self.model[key]) for key in self.ordered[begin:begin + count]]

    def test_scans_equal_the_model_one_at_a_time_and_in_a_pipeline(self):
        chance = random.Random(12)
        for depth in (1, 16):
            for _ in range(scaled(200, 40) // depth):
                asked = [(chance.randrange(len(self.ordered)), chance.choice((1, 2, 11, 100, 300))) for _ in range(depth)]
                self.client.send(b"".join(b"scan %s %d\r\n" % (self.ordered[begin], count) for begin, count in asked))
                for begin, count in asked:
                    self.assertEqual(self.client.records(), self.expected(begin, count))

    def test_bounds_and_bytes_end_a_page_at_the_same_item(self):
        chance = random.Random(13)
        for _ in range(scaled(200, 40)):
            begin, count = chance.randrange(len(self.ordered)), chance.randrange(1, 80)
            wanted = self.expected(begin, count)
            self.assertEqual(self.client.records(b"scan [%s [%s 1000" % (wanted[0][0], wanted[-1][0])), wanted)
            room = chance.randrange(100, 20000)
            page, left = [], room
            for record in self.expected(begin, 1000):
                left -= len(record[0]) + len(record[1])
                if left < 0 and page:
                    break
                page.append(record)
            found = self.client.records(b"scan %s 1000 bytes=%d" % (wanted[0][0], room))
            self.assertEqual([record for record in found if record[0] != "CURSOR"], page)
