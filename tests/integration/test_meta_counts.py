"""mc: exact counts and figures of a range, prefixes with their items and bytes, and estimates, against a Python model."""

import random

from harness import Options, mxkv_only, scaled
from meta_ranges import MetaCase, ask_flags, ask_page, encoded, pages
from scanning import UNHURRIED


def size(pairs) -> int:
    return sum(len(key) + len(value) for key, value in pairs)


@mxkv_only("mc")
class CountTest(MetaCase):
    def count(self, command: bytes) -> tuple:
        flags = ask_flags(self.client, command)
        return int(flags[b"A"]), int(flags[b"B"])

    def test_small_ranges_are_exact_without_being_asked(self):
        pairs = [(b"k%02d" % i, b"v" * i) for i in range(100)]
        self.load(self.client, pairs)
        for command, wanted in ((b"mc -", pairs), (b"mc k20 Hk30", pairs[20:30]), (b"mc k20 Hk30 i o", pairs[21:31]),
                                (b"mc k30 Hk20 r", pairs[21:31]), (b"mc k5 p", pairs[50:60]), (b"mc k50 Hk20", []),
                                (b"mc z", []), (b"mc %s b H%s" % (encoded(b"k20"), encoded(b"k30")), pairs[20:30])):
            for exact in (b"", b" e"):
                with self.subTest(command + exact):
                    flags = ask_flags(self.client, command + exact)
                    self.assertEqual((int(flags[b"A"]), int(flags[b"B"])), (len(wanted), size(wanted)))
                    self.assertNotIn(b"~", flags)

    def test_the_reply_is_exact(self):
        self.client.set(b"a", b"12")
        self.assertEqual(self.client.ask(b"mc - e Oxyz"), b"HD A1 B3 Oxyz")
        self.assertEqual(self.client.ask(b"mc - Msnx O7"), b"HD A1 B3 N1 Ms12 Mn12 Mx12 O7")
        self.assertEqual(self.client.ask(b"mc b Mn"), b"HD A0 B0 N0")
        self.assertEqual(self.client.ask(b"mc b Ms"), b"HD A0 B0 N0 Ms0")

    def test_expired_items_are_left_out(self):
        self.client.set(b"e1", b"v")
        self.client.store(b"set", b"e2", b"v", exptime=-1)
        self.assertEqual(self.client.ask(b"mc e p e"), b"HD A1 B3")

    def test_numbers_do_not_overflow(self):
        most = (1 << 64) - 1
        numbers = [most, most, most, 0, 10**18, 10**18 - 1]
        self.load(self.client, ((b"n%d" % i, b"%d" % number) for i, number in enumerate(numbers)))
        self.load(self.client, [(b"nx", b"text"), (b"ny", b"-1"), (b"nz", b"")])
        flags = ask_flags(self.client, b"mc n p Msnx")
        self.assertEqual((flags[b"A"], flags[b"N"]), (b"9", b"6"))
        self.assertEqual((int(flags[b"Ms"]), int(flags[b"Mn"]), int(flags[b"Mx"])), (sum(numbers), 0, most))

    def test_random_ranges_exactly(self):
        chance = random.Random(11)
        model = {b"%d" % chance.randrange(1 << 30): b"v" * chance.randrange(100) for _ in range(scaled(20000, 2000))}
        self.load(self.client, model.items())
        for _ in range(scaled(50, 10)):
            low, high = sorted(b"%d" % chance.randrange(1 << 30) for _ in range(2))
            wanted = [pair for pair in model.items() if low <= pair[0] < high]
            self.assertEqual(self.count(b"mc %s H%s e" % (low, high)), (len(wanted), size(wanted)))

    def test_wide_ranges_are_estimated_and_say_how_well(self):
        chance = random.Random(12)
        model = {b"%08d" % chance.randrange(100000000): b"v" * chance.randrange(40, 60)
                 for _ in range(scaled(100000, 30000))}
        self.load(self.client, model.items())
        ordered = sorted(model)
        inside = 0
        asked = scaled(40, 10)
        for _ in range(asked):
            begin = chance.randrange(len(ordered) // 2)
            end = begin + chance.randrange(len(ordered) // 4, len(ordered) // 2)
            flags = ask_flags(self.client, b"mc %s H%s" % (ordered[begin], ordered[end]))
            wanted, percent = end - begin, int(flags[b"~"])
            self.assertLess(percent, 40)
            off = abs(int(flags[b"A"]) - wanted) * 100 / wanted
            self.assertLess(off, 60)  # farther off than chance allows
            self.assertLess(abs(int(flags[b"B"]) / int(flags[b"A"]) - 58), 6)  # 8 bytes of the key, 50 of the value
            inside += off <= percent + 1
        self.assertGreaterEqual(inside, asked * 0.7, "of two standard errors each")

    def test_the_error_told_holds_for_bytes_of_skewed_sizes_too(self):
        """One value in 500 is 500 times as long as the others: half of the bytes. 19 of 20 estimates must be within their stated
        error; at that rate fewer than 120 of 150 are within it once in a million runs."""
        chance = random.Random(13)
        model = {b"%07d" % number: b"v" * (50000 if chance.random() < 0.002 else 100) for number in range(30000)}
        self.load(self.client, model.items())
        truth = {b"A": len(model), b"B": size(model.items())}
        inside = {b"A": 0, b"B": 0}
        for _ in range(150):
            flags = ask_flags(self.client, b"mc - ")
            for letter, wanted in truth.items():
                told = int(flags[letter])
                inside[letter] += abs(told - wanted) <= told * int(flags[b"~"]) / 100
        self.assertGreaterEqual(inside[b"A"], 120)
        self.assertGreaterEqual(inside[b"B"], 120)


@mxkv_only("mc")
class PrefixTest(MetaCase):
    options = Options(settings=(UNHURRIED, ("limits.scan_items", "10")))

    def groups(self, command: bytes) -> tuple:
        """{prefix: (items, bytes)} of all pages, and (items, bytes) of keys without a delimiter."""
        found, single = [], [0, 0]
        for page in pages(self.client, command):
            found += [(key, (int(flags[b"A"]), int(flags[b"B"]))) for key, _, flags in page.items]
            single = [single[0] + int(page.end[b"K"]), single[1] + int(page.end[b"B"])]
        keys = [key for key, _ in found]
        self.assertEqual(keys, sorted(set(keys)), "in order, each once")
        return dict(found), tuple(single)

    def model_groups(self, model: dict, delimiter: bytes, prefix: bytes = b"") -> tuple:
        found, single = {}, (0, 0)
        for key, value in model.items():
            if not key.startswith(prefix):
                continue
            at = key.find(delimiter, len(prefix))
            bytes_ = len(key) + len(value)
            if at < 0:
                single = (single[0] + 1, single[1] + bytes_)
            else:
                name = key[:at + len(delimiter)]
                items, before = found.get(name, (0, 0))
                found[name] = (items + 1, before + bytes_)
        return found, single

    def test_the_reply_is_exact(self):
        self.load(self.client, [(b"a:1", b"x"), (b"a:2", b"yy"), (b"ab", b"z"), (b"b:1", b"")])
        self.client.send(b"mc - D: Oq\r\n")
        self.assertEqual([self.client.line() for _ in range(3)],
                         [b"HD ka: A2 B9 Oq", b"HD kb: A1 B3 Oq", b"EN A2 K1 B3 Oq"])

    def test_random_keys_equal_the_model(self):
        chance, model = random.Random(21), {}
        while len(model) < scaled(5000, 800):
            key = b":".join(chance.choice((b"user", b"u", b"order", b"\x00", b"\xff", b"", b"%d" % chance.randrange(40)))
                            for _ in range(chance.randrange(1, 4)))
            if key:
                model[key] = b"v" * chance.randrange(30)
        self.store_binary(model.items())
        for prefix in (b"", b"u", b"user:", b"\x00", b"\xff:", b"nothing"):
            for limit in (b"", b" A3"):
                start = b"%s b p" % encoded(prefix) if prefix else b"-"
                with self.subTest(prefix=prefix, limit=limit):
                    wanted = self.model_groups(model, b":", prefix)
                    self.assertEqual(self.groups(b"mc %s D: e%s" % (start, limit)), wanted)
                    found, single = self.groups(b"mc %s D:%s" % (start, limit))
                    self.assertEqual({key: items for key, (items, _) in found.items()},
                                     {key: items for key, (items, _) in wanted[0].items()})
                    self.assertEqual(single, wanted[1])
                    names = [key for page in pages(self.client, b"mc %s D: k%s" % (start, limit)) for key in page.keys]
                    self.assertEqual(names, sorted(wanted[0]))

    def test_wide_prefixes_are_counted_by_leaf_and_say_so(self):
        sizes = {b"many/": scaled(20000, 3000), b"few/": 5}
        chance = random.Random(7)
        self.load(self.client, ((b"%s%06d" % (name, i), b"v" * chance.randrange(90, 110)) for name, count in sizes.items()
                                for i in range(count)))
        few, many = ask_page(self.client, b"mc - D/").items
        self.assertEqual((few[0], few[2][b"A"], b"~" in few[2]), (b"few/", b"5", False))
        self.assertEqual((many[0], int(many[2][b"A"]), b"~" in many[2]), (b"many/", sizes[b"many/"], True))
        self.assertLess(abs(int(many[2][b"B"]) / sizes[b"many/"] - 111), 4)  # 11 bytes of the key, 100 of the value
        exact = ask_page(self.client, b"mc - D/ e").items[1][2]
        self.assertEqual((exact[b"A"], b"~" in exact), (b"%d" % sizes[b"many/"], False))

    def test_pages_end_at_the_ceiling(self):
        self.load(self.client, ((b"p%02d/%d" % (i, j), b"v") for i in range(25) for j in range(30)))
        self.assertEqual([len(page.items) for page in pages(self.client, b"mc - D/")], [10, 10, 5])
        page = ask_page(self.client, b"mc p03 Hp05 D/")
        self.assertEqual([(key, flags[b"A"]) for key, _, flags in page.items], [(b"p03/", b"30"), (b"p04/", b"30")])
