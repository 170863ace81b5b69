"""Values of every size around the borders of buffers and chunks come back byte for byte, and cas, append, incr on them."""

import hashlib

from harness import Options, ServerCase, mxkv_only, scaled
from harness.connection import block

_MIB = 1 << 20


def pattern(seed: int, size: int) -> bytes:
    """Repeatable bytes of all values, with line ends and reply words among them."""
    unit = b"".join(hashlib.sha256(b"%d.%d" % (seed, i)).digest() for i in range(32)) + b"\r\nEND\r\nSTORED\r\n\x00"
    return (unit * (size // len(unit) + 1))[:size]


def border_sizes() -> list:
    sizes = set(range(0, 70)) | {100, 1000, 1023, 1024, 1025, _MIB - 200, _MIB - 1000}
    for border in (1 << shift for shift in range(11, 20)):
        sizes |= {border + delta for delta in (-64, -17, -3, -2, -1, 0, 1, 2, 3, 17, 64)}
    return sorted(sizes)


class SizesTest(ServerCase):
    def test_every_size_comes_back(self):
        client = self.connect()
        for size in border_sizes():
            value = pattern(size, size)
            self.assertEqual(client.set(b"k%d" % size, value, flags=size), b"STORED")
        for size in border_sizes():
            self.assertEqual(client.records(b"get k%d" % size), [(b"k%d" % size, pattern(size, size), [size])])

    def test_many_values_in_one_reply(self):
        client = self.connect()
        sizes = [size for size in border_sizes() if size < 200000]
        client.send(b"".join(block(b"set", b"m%d" % size, pattern(size, size)) for size in sizes))
        self.assertEqual({client.line() for _ in sizes}, {b"STORED"})
        found = client.records(b"get " + b" ".join(b"m%d" % size for size in sizes))
        self.assertEqual([len(record[1]) for record in found], sizes)
        self.assertTrue(all(record[1] == pattern(size, size) for record, size in zip(found, sizes)))

    def test_value_borders_at_every_offset_of_a_read_buffer(self):
        client = self.connect()
        for lead in range(0, scaled(200, 20)):
            filler = block(b"set", b"f", b"x" * (16384 - 150 + lead), tail=b"noreply")
            value = pattern(lead, 40)
            client.send(filler + block(b"set", b"b", value) + b"get b\r\n")
            self.assertEqual(client.line(), b"STORED")
            self.assertEqual(client.records()[0][1], value)

    def test_keys_of_every_length(self):
        client = self.connect()
        keys = [bytes([97 + length % 26]) * length for length in range(1, 251)]
        client.send(b"".join(block(b"set", key, key[::-1]) for key in keys))
        self.assertEqual({client.line() for _ in keys}, {b"STORED"})
        self.assertEqual([record[0] for record in client.records(b"get " + b" ".join(keys))], keys)


class GrowthTest(ServerCase):
    def test_appends_and_prepends_build_a_large_value(self):
        client = self.connect()
        model = b"<>"
        client.set(b"grown", model, flags=5)
        for step in range(120):
            piece = pattern(step, step * 137 % 9000)
            verb = b"prepend" if step % 3 == 0 else b"append"
            self.assertEqual(client.store(verb, b"grown", piece, flags=9), b"STORED")
            model = piece + model if verb == b"prepend" else model + piece
        self.assertEqual(client.records(b"get grown"), [(b"grown", model, [5])])

    def test_a_reader_keeps_the_value_it_began_to_read(self):
        reader, writer = self.connect(receive_buffer=4096), self.connect()
        value = pattern(1, 900000)
        writer.set(b"shared", value)
        reader.send(b"get shared\r\n")
        self.assertEqual(reader.exactly(10), b"VALUE shar")
        for step in range(20):
            writer.set(b"shared", pattern(step, 900000 - step))
        writer.ask(b"delete shared")
        self.assertEqual(reader.exactly(len(b"ed 0 900000\r\n") + len(value))[-len(value):], value)

    @mxkv_only("memcached answers an append beyond the limit otherwise")
    def test_append_beyond_the_limit_keeps_the_old_value(self):
        client = self.connect()
        value = pattern(3, _MIB - 5)
        client.set(b"full", value)
        self.assertEqual(client.store(b"append", b"full", b"x" * 6), b"SERVER_ERROR object too large for cache")
        self.assertEqual(client.get(b"full"), value)
        self.assertEqual(client.store(b"append", b"full", b"12345"), b"STORED")
        self.assertEqual(client.get(b"full"), value + b"12345")

    @mxkv_only("the limit of memcached counts headers")
    def test_the_limit_itself_fits_and_one_more_does_not(self):
        client = self.connect()
        self.assertEqual(client.set(b"limit", pattern(1, _MIB)), b"STORED")
        self.assertEqual(client.get(b"limit"), pattern(1, _MIB))
        self.assertEqual(client.set(b"limit", pattern(1, _MIB + 1)), b"SERVER_ERROR object too large for cache")
        self.assertIsNone(client.get(b"limit"))


class LargeLimitTest(ServerCase):
    options = Options(value_bytes=64 * _MIB, memory_mib=512)

    def test_values_of_many_mebibytes(self):
        client = self.connect(timeout=60)
        for size in (_MIB + 1, 10 * _MIB + 7, scaled(40) * _MIB):
            value = pattern(size, size)
            self.assertEqual(client.set(b"large", value), b"STORED")
            self.assertTrue(client.get(b"large") == value, f"{size} bytes")


class CasTest(ServerCase):
    def test_cas_stores_once(self):
        client = self.connect()
        client.set(b"c", b"one")
        unique = client.gets(b"c")[2]
        self.assertEqual(client.store(b"cas", b"c", b"two", tail=b"%d" % unique), b"STORED")
        self.assertEqual(client.store(b"cas", b"c", b"three", tail=b"%d" % unique), b"EXISTS")
        self.assertEqual(client.get(b"c"), b"two")

    def test_unique_grows_with_every_change(self):
        client = self.connect()
        seen = []
        for command in (block(b"set", b"u", b"1"), block(b"replace", b"u", b"2"), block(b"append", b"u", b"3"),
                        block(b"prepend", b"u", b"4"), b"incr u 1\r\n", b"decr u 1\r\n", block(b"set", b"u", b"1")):
            client.send(command)
            client.line()
            seen.append(client.gets(b"u")[2])
        self.assertEqual(sorted(set(seen)), seen)
        self.assertLess(seen[-1], 1 << 53)

    def test_a_created_again_key_has_a_greater_unique(self):
        client = self.connect()
        last = 0
        for ending in (b"delete again", b"delete again", b"touch again -1", b"flush_all"):
            client.set(b"again", b"v")
            unique = client.gets(b"again")[2]
            self.assertGreater(unique, last)
            last = unique
            client.ask(ending)

    def test_noreply_cas_takes_effect(self):
        client = self.connect()
        client.set(b"c", b"one")
        unique = client.gets(b"c")[2]
        client.send(block(b"cas", b"c", b"two", tail=b"%d noreply" % unique) + b"get c\r\n")
        self.assertEqual(client.records(), [(b"c", b"two", [0])])
