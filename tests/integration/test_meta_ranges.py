"""Ranges in the meta form: mr with every flag, and mx, against a Python model."""

import random

from harness import Options, campaign, mxkv_only, scaled, wait_for
from meta_ranges import MetaCase, all_items, ask_flags, ask_page, delete_all, encoded, pages
from scanning import UNHURRIED


@mxkv_only("mr")
class ReadTest(MetaCase):
    all = [b"k%02d" % i for i in range(0, 100, 10)]

    def setUp(self):
        super().setUp()
        self.load(self.client, ((key, b"v-" + key) for key in self.all))

    def keys_of(self, command: bytes) -> list:
        return ask_page(self.client, command).keys

    def test_bounds_in_walking_order(self):
        cases = {
            b"mr -": self.all,
            b"mr - r": self.all[::-1],
            b"mr k20 Hk40": [b"k20", b"k30"],
            b"mr k20 Hk40 i": [b"k20", b"k30", b"k40"],
            b"mr k20 Hk40 o": [b"k30"],
            b"mr k20 Hk40 i o": [b"k30", b"k40"],
            b"mr k40 Hk20 r": [b"k40", b"k30"],
            b"mr k40 Hk20 r i o": [b"k30", b"k20"],
            b"mr k15 A2": [b"k20", b"k30"],
            b"mr k85 r A2": [b"k80", b"k70"],
            b"mr k9 p": [b"k90"],
            b"mr k p r A3": [b"k90", b"k80", b"k70"],
            b"mr z": [],
            b"mr k40 Hk20": [],
            b"mr %s b H%s" % (encoded(b"k10"), encoded(b"k30")): [b"k10", b"k20"],
        }
        for command, expected in cases.items():
            with self.subTest(command):
                self.assertEqual(self.keys_of(command), expected)

    def test_lines_are_exact(self):
        self.client.send(b"mr k20 Hk30 i v f s Oxy\r\n")
        self.assertEqual([self.client.line() for _ in range(5)],
                         [b"VA 5 kk20 f0 s5 Oxy", b"v-k20", b"VA 5 kk30 f0 s5 Oxy", b"v-k30", b"EN A2 Oxy"])
        self.client.send(b"mr k20 A1 s k f\r\nmr z O9\r\n")
        self.assertRegex(self.client.line(), b"^HD kk20 s5 f0$")
        self.assertRegex(self.client.line(), b"^EN A1 G[A-Za-z0-9+/=]+$")
        self.assertEqual(self.client.line(), b"EN A0 O9")

    def test_flags_tell_what_mg_tells(self):
        self.client.store(b"set", b"k55", b"value", flags=77, exptime=1000)
        self.client.ask(b"mg k20 v")
        self.client.line()
        for key in (b"k20", b"k55", b"k90"):
            got = self.client.ask(b"mg %s k f c s t h l u" % key)
            self.assertEqual(self.client.ask(b"mr %s A1 H~ f c s t h l" % key).split(b" ")[1:], got.split(b" ")[1:])
            self.client.line()

    def test_a_range_bumps_nothing(self):
        ask_page(self.client, b"mr - v f h l t")
        self.assertEqual(self.client.ask(b"mg k30 h u"), b"HD h0")

    def test_quiet_leaves_out_the_last_line_where_nothing_remains(self):
        self.client.send(b"mr k80 q\r\nmr z q\r\nmn\r\nmr k20 A1 q\r\n")
        self.assertEqual([self.client.line() for _ in range(4)], [b"HD kk80", b"HD kk90", b"MN", b"HD kk20"])
        self.assertRegex(self.client.line(), b"^EN A1 G")

    def test_stale_and_won_items_say_so(self):
        self.assertEqual(self.client.ask(b"md k30 I"), b"HD")
        self.assertEqual(self.client.ask(b"mr k30 A1 Hk40"), b"HD kk30 X")
        self.client.line()
        self.assertEqual(self.client.ask(b"mg k30"), b"HD X W")
        self.assertEqual(self.client.ask(b"mr k30 A1 Hk40"), b"HD kk30 Z X")
        self.client.line()

    def test_expired_items_are_left_out(self):
        self.client.store(b"set", b"k35", b"gone", exptime=-1)
        self.assertEqual(self.keys_of(b"mr k30 Hk50"), [b"k30", b"k40"])

    def test_binary_keys(self):
        keys = [b"\x00", b"\x00\x00", b"a b", b"z\r\n", b"\xff" * 186]  # the last one is the longest key that fits in base64
        self.store_binary((key, b"of-" + key) for key in keys)
        expected = sorted(keys + self.all)
        for words, wanted in ((b"", expected), (b" r", expected[::-1])):
            items = all_items(self.client, b"mr - v A3" + words)
            self.assertEqual([item[0] for item in items], wanted)
            for key, value, flags in items:
                self.assertEqual(b"b" in flags, key in keys)
                self.assertEqual(value, (b"of-" if key in keys else b"v-") + key)
        self.assertEqual(self.keys_of(b"mr %s b H%s i" % (encoded(b"\x00"), encoded(b"a b"))), expected[:3])
        self.assertEqual(self.keys_of(b"mr %s b p" % encoded(b"\x00")), expected[:2])

    def test_large_values(self):
        self.client.set(b"k31", b"x" * 500000)
        items = ask_page(self.client, b"mr k30 Hk40 v s").items
        self.assertEqual([(item[0], len(item[1])) for item in items], [(b"k30", 5), (b"k31", 500000)])

    def test_byte_budget(self):
        items = [page.keys for page in pages(self.client, b"mr - v B20")]
        self.assertEqual([len(page) for page in items], [2] * 5)
        self.assertEqual(len(ask_page(self.client, b"mr - v B1").keys), 1)

    def test_a_cursor_of_scan_goes_on_with_mr(self):
        cursor = self.client.records(b"scan k20 (k60 1 cursor")[-1][1]
        self.assertEqual(self.keys_of(b"mr - G" + cursor), [b"k30", b"k40", b"k50"])


@mxkv_only("mx")
class DeleteTest(MetaCase):
    def test_a_range_goes_and_nothing_else(self):
        keys = [b"d%05d" % i for i in range(scaled(20000, 2000))]
        self.load(self.client, ((key, b"value") for key in keys))
        low, high = keys[len(keys) // 4], keys[len(keys) // 2]
        removed = delete_all(self.client, b"mx %s H%s A700" % (low, high))
        self.assertEqual(sum(removed), len(keys) // 2 - len(keys) // 4)
        self.assertTrue(all(count == 700 for count in removed[:-1]), removed)
        left = keys[:len(keys) // 4] + keys[len(keys) // 2:]
        self.assertTrue([item[0] for item in all_items(self.client, b"mr -")] == left)
        # The count includes flushed items until their memory comes back.
        wait_for(lambda: int(self.client.stats()["curr_items"]) == len(left), "the number of items is that of those left")
        self.assertEqual(sum(delete_all(self.client, b"mx d p")), len(left))
        self.assertEqual(ask_page(self.client, b"mr -").items, [])
        self.assertEqual(ask_flags(self.client, b"mx - Oq1"), {b"A": b"0", b"O": b"q1"})

    def test_a_cursor_of_a_wider_range_deletes_nothing(self):
        self.load(self.client, ((key, b"v") for key in (b"a1", b"user:1", b"user:2", b"video:1", b"video:2")))
        wide = ask_page(self.client, b"mr - A2").cursor
        self.assertEqual(self.client.ask(b"mx user: p G" + wide), b"CLIENT_ERROR the cursor leads out of the range")
        self.assertEqual(self.client.ask(b"mx a Hv G" + wide), b"CLIENT_ERROR the cursor leads out of the range")
        self.assertEqual([item[0] for item in all_items(self.client, b"mr -")],
                         [b"a1", b"user:1", b"user:2", b"video:1", b"video:2"])
        own = ask_page(self.client, b"mr user: p A1").cursor
        self.assertEqual(self.client.ask(b"mx user: p G" + own), b"HD A1")
        self.assertEqual(self.client.ask(b"mx - G" + wide), b"HD A2")
        self.assertEqual([item[0] for item in all_items(self.client, b"mr -")], [b"a1", b"user:1"])

    def test_bounds(self):
        keys = [b"k%d" % i for i in range(10)]
        for command, gone in ((b"mx k2 Hk5", keys[2:5]), (b"mx k2 Hk5 i o", keys[3:6]), (b"mx k7", keys[7:]),
                              (b"mx k5 p", keys[5:6]), (b"mx k5 Hk2", [])):
            with self.subTest(command):
                self.load(self.client, ((key, b"v") for key in keys))
                self.assertEqual(sum(delete_all(self.client, command)), len(gone))
                self.assertEqual(ask_page(self.client, b"mr k p").keys, [key for key in keys if key not in gone])

    def test_a_new_item_has_a_greater_unique_than_the_removed_one(self):
        self.client.set(b"u", b"1")
        before = self.client.gets(b"u")[2]
        self.assertEqual(delete_all(self.client, b"mx u p"), [1])
        self.client.set(b"u", b"2")
        self.assertGreater(self.client.gets(b"u")[2], before)

    def test_expired_items_go_uncounted(self):
        self.client.set(b"e1", b"v")
        self.client.store(b"set", b"e2", b"v", exptime=-1)
        # The count includes flushed items until their memory comes back.
        wait_for(lambda: int(self.client.stats()["curr_items"]) in (1, 2), "what is there is counted")
        self.assertEqual(delete_all(self.client, b"mx e p"), [1])
        self.assertEqual(self.client.stats()["curr_items"], "0")

    def test_requests_around_it_keep_their_order(self):
        for _ in range(scaled(200, 20)):
            self.client.send(b"set o1 0 0 1\r\na\r\nset o2 0 0 1\r\nb\r\nmx o p\r\nset o2 0 0 1\r\nc\r\nmr o p v\r\n")
            self.assertEqual([self.client.line() for _ in range(7)],
                             [b"STORED", b"STORED", b"HD A2", b"STORED", b"VA 1 ko2", b"c", b"EN A1"])

    def test_quiet(self):
        self.load(self.client, ((b"q%d" % i, b"v") for i in range(3)))
        self.client.send(b"mx q p q A2\r\nmx q p q\r\nmn\r\n")
        self.assertRegex(self.client.line(), b"^HD A2 G")
        self.assertEqual(self.client.line(), b"MN")


@mxkv_only("mr, mx")
class ModelTest(MetaCase):
    """Random operations, each against a dictionary."""
    options = Options(settings=(UNHURRIED, ("limits.scan_items", "50")))

    def test_random_operations(self):
        seed = random.randrange(1 << 32)
        chance, model = random.Random(seed), {}
        alphabet = [b"a", b"b", b"ab", b"\x00", b"\xff", b"key-with-a-long-common-part-", b"7"]

        def key():
            return b"".join(chance.choice(alphabet) for _ in range(chance.randrange(1, 6)))

        for step in range(campaign(1200, 200)):
            with self.subTest(seed=seed, step=step):
                what = chance.random()
                low, high = key(), key()
                if what < 0.6:
                    pairs = [(key(), b"%d" % chance.randrange(1000)) for _ in range(20)]
                    self.store_binary(pairs)
                    model.update(pairs)
                elif what < 0.9:
                    self.check_read(chance, model, low, high)
                elif what < 0.95 and chance.random() < 0.5:
                    doomed = [name for name in model if name.startswith(low)]
                    self.assertEqual(sum(delete_all(self.client, b"mx %s b p" % encoded(low))), len(doomed))
                    for name in doomed:
                        del model[name]
                else:
                    doomed = sorted(name for name in model if low <= name < high)[:30]
                    flags = ask_flags(self.client, b"mx %s b H%s A30" % (encoded(low), encoded(high)))
                    self.assertEqual(int(flags[b"A"]), len(doomed))
                    for name in doomed:
                        del model[name]
        self.assertTrue([item[:2] for item in all_items(self.client, b"mr - v")] == sorted(model.items()), seed)

    def check_read(self, chance, model, low, high):
        backward, inclusive, after = (chance.random() < 0.5 for _ in range(3))
        if backward:
            low, high = high, low
        def wanted(name):
            near = name < low or (name == low and not after) if backward else name > low or (name == low and not after)
            far = name > high or (name == high and inclusive) if backward else name < high or (name == high and inclusive)
            return near and far
        words = (b" r" if backward else b"") + (b" i" if inclusive else b"") + (b" o" if after else b"")
        command = b"mr %s b H%s v A%d%s" % (encoded(low), encoded(high), chance.choice((1, 7, 1000)), words)
        expected = sorted((pair for pair in model.items() if wanted(pair[0])), reverse=backward)
        self.assertEqual([item[:2] for item in all_items(self.client, command)], expected, command)


@mxkv_only("mr, mx")
class ConcurrentTest(MetaCase):
    """Pages while others write: keys come in order, none twice, and no key that stays is missing."""
    options = Options(settings=(("limits.scan_items", "97"),))

    def test_pages_while_others_write(self):
        stay = [b"c%06d" % i for i in range(0, scaled(20000, 2000), 2)]
        come_and_go = [key + b"x" for key in stay]
        self.load(self.client, ((key, b"v") for key in stay))
        writer, chance = self.connect(timeout=60), random.Random(5)
        for words in (b"", b" r"):
            seen = []
            for page in pages(self.client, b"mr c p" + words):
                seen += page.keys
                batch = [(chance.choice((b"set %s 0 0 1 noreply\r\nv\r\n", b"delete %s noreply\r\n")) %
                          chance.choice(come_and_go)) for _ in range(200)]
                begin = chance.randrange(len(stay) - 1)
                writer.send(b"".join(batch) + b"mx %s H%s o\r\n" % (stay[begin], stay[begin + 1]))
            self.assertTrue(seen == sorted(set(seen), reverse=bool(words)), "strict order")
            self.assertTrue(set(stay) <= set(seen), "nothing lost")
            writer.send(b"mn\r\n")
            while writer.line() != b"MN":
                pass
