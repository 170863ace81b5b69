"""memcached's binary protocol, by raw sockets: each opcode, and each mistake that a client may make."""

import random
import struct

from binary_case import BinaryCase
from harness import LONG, Options, mxkv_only, patience, scaled, wait_for
from harness import binary
from harness.binary import (ADD, ADDQ, APPEND, APPENDQ, DECR, DECRQ, DELETE, DELETEQ, EXISTS, FLUSH, FLUSHQ, GAT, GATK, GATKQ, GATQ, GET, GETK,
                            GETKQ, GETQ, INCR, INCRQ, INVALID, MISSING, NOOP, NOT_A_NUMBER, NOT_STORED, OK, PREPEND, PREPENDQ, QUIT, QUITQ,
                            REPLACE, REPLACEQ, SASL_MECHANISMS, SASL_STEP, SET, SETQ, STAT, TEXTS, TOO_LARGE, TOUCH, UNKNOWN,
                            VERBOSITY, VERSION, count, replies_in, request, store, touch)

_FLAGS = struct.Struct(">I")
_NUMBER = struct.Struct(">Q")


class OpcodesTest(BinaryCase):
    def test_get_tells_flags_value_and_unique_and_k_the_key(self):
        cas = self.assert_done(self.client.ask(store(SET, b"key", b"value", flags=0xdeadbeef)))
        self.assertNotEqual(cas, 0)
        for opcode in (GET, GETQ, GETK, GETKQ):
            reply = self.client.ask(request(opcode, b"key", opaque=0x01020304))
            key = b"key" if opcode in (GETK, GETKQ) else b""
            self.assertEqual(reply, binary.Reply(opcode, OK, 0x01020304, cas, _FLAGS.pack(0xdeadbeef), key, b"value"))

    def test_a_miss_says_so_but_for_quiet_ones(self):
        self.assert_says(self.client.ask(request(GET, b"nothing", opaque=7)), MISSING)
        reply = self.client.ask(request(GETK, b"nothing", opaque=7))
        self.assertEqual(reply, binary.Reply(GETK, MISSING, 7, 0, b"", b"nothing", b""))
        self.assertEqual(self.client.until_noop(request(GETQ, b"nothing") + request(GETKQ, b"nothing")), [])

    def test_add_replace_and_set_store_where_they_may(self):
        self.assert_says(self.client.ask(store(REPLACE, b"k", b"1")), MISSING)
        self.assertNotEqual(self.assert_done(self.client.ask(store(ADD, b"k", b"2"))), 0)
        self.assert_says(self.client.ask(store(ADD, b"k", b"3")), EXISTS)
        self.assertNotEqual(self.assert_done(self.client.ask(store(REPLACE, b"k", b"4"))), 0)
        self.assertEqual(self.value(b"k"), b"4")
        self.assert_done(self.client.ask(store(SET, b"k", b"")))
        self.assertEqual(self.value(b"k"), b"")

    def test_with_a_unique_each_of_them_compares(self):
        for opcode in (SET, ADD, REPLACE):
            self.assert_says(self.client.ask(store(opcode, b"none", b"x", cas=5)), MISSING)
            cas = self.assert_done(self.client.ask(store(SET, b"k", b"1")))
            self.assert_says(self.client.ask(store(opcode, b"k", b"2", cas=cas + 1)), EXISTS)
            after = self.assert_done(self.client.ask(store(opcode, b"k", b"3", cas=cas)))
            self.assertNotIn(after, (0, cas))
            self.assertEqual(self.value(b"k"), b"3")

    def test_append_and_prepend_join(self):
        self.assert_says(self.client.ask(request(APPEND, b"k", b"x")), NOT_STORED)
        self.assert_says(self.client.ask(request(PREPEND, b"k", b"x")), NOT_STORED)
        cas = self.assert_done(self.client.ask(store(SET, b"k", b"b", flags=9)))
        self.assert_says(self.client.ask(request(APPEND, b"k", b"x", cas=cas + 1)), EXISTS)
        cas = self.assert_done(self.client.ask(request(APPEND, b"k", b"c", cas=cas)))
        self.assert_done(self.client.ask(request(PREPEND, b"k", b"a", cas=cas)))
        reply = self.client.ask(request(GET, b"k"))
        self.assertEqual((reply.value, reply.flags), (b"abc", 9))

    def test_delete_compares_where_it_is_told_to(self):
        self.assert_says(self.client.ask(request(DELETE, b"k")), MISSING)
        cas = self.assert_done(self.client.ask(store(SET, b"k", b"v")))
        self.assert_says(self.client.ask(request(DELETE, b"k", cas=cas + 1)), EXISTS)
        self.assertEqual(self.assert_done(self.client.ask(request(DELETE, b"k", cas=cas))), 0)
        self.assert_says(self.client.ask(request(GET, b"k")), MISSING)

    def test_increment_and_decrement_count(self):
        def number(packet):
            reply = self.client.ask(packet)
            self.assertEqual((reply.status, reply.extras, reply.key, len(reply.value)), (OK, b"", b"", 8))
            self.assertNotEqual(reply.cas, 0)
            return _NUMBER.unpack(reply.value)[0]

        self.assert_says(self.client.ask(count(INCR, b"n")), MISSING)
        self.assert_says(self.client.ask(count(DECR, b"n")), MISSING)
        self.assertEqual(number(count(INCR, b"n", 5, initial=77, exptime=0)), 77)
        self.assertEqual(number(count(INCR, b"n", 5, initial=77, exptime=0)), 82)
        self.assertEqual(number(count(DECR, b"n", 2)), 80)
        self.assertEqual(number(count(DECR, b"n", 1000)), 0)
        self.assertEqual(number(count(DECR, b"m", 1, initial=(1 << 64) - 1, exptime=0)), (1 << 64) - 1)
        self.assertEqual(number(count(INCR, b"m", 2)), 1)
        self.assertEqual(self.value(b"m").rstrip(b" "), b"1")  # memcached keeps the length of a number
        self.client.ask(store(SET, b"text", b"text"))
        self.assert_says(self.client.ask(count(INCR, b"text")), NOT_A_NUMBER)
        cas = self.client.ask(request(GET, b"m")).cas
        self.assert_says(self.client.ask(count(INCR, b"m", cas=cas + 1)), EXISTS)
        self.assertEqual(number(count(INCR, b"m", cas=cas)), 2)

    def test_what_counts_keeps_flags(self):
        self.client.ask(store(SET, b"n", b"10", flags=12345))
        self.client.ask(count(INCR, b"n"))
        self.assertEqual(self.client.ask(request(GET, b"n")).flags, 12345)

    def test_a_counter_that_is_made_may_expire(self):
        self.client.ask(count(INCR, b"n", 1, initial=1, exptime=1))
        wait_for(lambda: self.client.ask(request(GET, b"n")).status == MISSING, "the counter expires", 120)

    def test_quiet_ones_say_nothing_where_all_goes_well(self):
        packets = (store(SETQ, b"k", b"5"), store(REPLACEQ, b"k", b"6"), store(ADDQ, b"a", b"1"), request(APPENDQ, b"k", b"7"),
                   request(PREPENDQ, b"k", b"1"), count(INCRQ, b"k"), count(DECRQ, b"k", 2), request(DELETEQ, b"a"))
        self.assertEqual(self.client.until_noop(b"".join(packets)), [])
        self.assertEqual(self.value(b"k"), b"166")
        self.assert_says(self.client.ask(request(GET, b"a")), MISSING)
        self.assertEqual(self.client.until_noop(request(FLUSHQ)), [])
        self.assert_says(self.client.ask(request(GET, b"k")), MISSING)

    def test_quiet_ones_say_what_went_wrong(self):
        self.client.ask(store(SET, b"k", b"text"))
        packets = ((store(ADDQ, b"k", b"x"), EXISTS), (store(REPLACEQ, b"none", b"x"), MISSING), (store(SETQ, b"k", b"x", cas=1), EXISTS),
                   (request(APPENDQ, b"none", b"x"), NOT_STORED), (request(PREPENDQ, b"none", b"x"), NOT_STORED),
                   (count(INCRQ, b"k"), NOT_A_NUMBER), (count(DECRQ, b"none"), MISSING), (request(DELETEQ, b"none"), MISSING))
        replies = self.client.until_noop(b"".join(packet for packet, _ in packets))
        self.assertEqual(len(replies), len(packets))
        for reply, (packet, status) in zip(replies, packets):
            self.assertEqual(reply.opcode, packet[1])
            self.assert_says(reply, status)

    def test_touch_and_gat_give_another_time(self):
        self.client.ask(store(SET, b"k", b"v", flags=3, exptime=1000))
        cas = self.client.ask(request(GET, b"k")).cas
        self.assertEqual(self.client.ask(touch(TOUCH, b"k", 2000, 5)), binary.Reply(TOUCH, OK, 5, cas, _FLAGS.pack(3), b"", b""))
        for opcode in (GAT, GATQ, GATK, GATKQ):
            key = b"k" if opcode in (GATK, GATKQ) else b""
            self.assertEqual(self.client.ask(touch(opcode, b"k", 3000, 6)), binary.Reply(opcode, OK, 6, cas, _FLAGS.pack(3), key, b"v"))
        self.assert_says(self.client.ask(touch(TOUCH, b"none", 9)), MISSING)
        self.assert_says(self.client.ask(touch(GAT, b"none", 9)), MISSING)
        self.assertEqual(self.client.ask(touch(GATK, b"none", 9)), binary.Reply(GATK, MISSING, 0, 0, b"", b"none", b""))
        self.assertEqual(self.client.until_noop(touch(GATQ, b"none", 9) + touch(GATKQ, b"none", 9)), [])
        self.client.ask(touch(GAT, b"k", 1))
        wait_for(lambda: self.client.ask(request(GET, b"k")).status == MISSING, "the item expires", 120)

    @mxkv_only("memcached 1.6.18 tells no flags and no unique of an item that has none")
    def test_an_item_without_flags_can_be_touched(self):
        self.client.ask(store(SET, b"k", b"v"))
        self.assertEqual(self.client.ask(touch(TOUCH, b"k", 100)).flags, 0)
        self.assertEqual(self.client.ask(touch(GAT, b"k", 0)).value, b"v")

    def test_noop_and_version_answer(self):
        self.assertEqual(self.client.ask(request(NOOP, opaque=0xffffffff)), binary.Reply(NOOP, OK, 0xffffffff, 0, b"", b"", b""))
        reply = self.client.ask(request(VERSION))
        self.assertRegex(reply.value, rb"^[0-9]+\.[0-9]+\.[0-9]+")
        self.assertEqual((reply.status, reply.key, reply.extras), (OK, b"", b""))

    def test_flush_may_be_for_later(self):
        self.client.ask(store(SET, b"k", b"v"))
        self.assert_done(self.client.ask(request(FLUSH, extras=_FLAGS.pack(3600))))
        self.assertEqual(self.value(b"k"), b"v")
        self.assert_done(self.client.ask(request(FLUSH, extras=_FLAGS.pack(0))))
        self.assert_says(self.client.ask(request(GET, b"k")), MISSING)

    def test_quit_answers_and_quitq_does_not_and_both_close(self):
        client = self.dial()
        self.assert_done(client.ask(request(QUIT)))
        self.assert_closes(client)
        client = self.dial()
        client.send(request(SETQ, b"k", b"v", bytes(8)) + request(QUITQ) + request(NOOP))
        self.assert_closes(client)
        self.assertEqual(self.value(b"k"), b"v")

    def test_stat_tells_what_stats_tells(self):
        stats = self.client.stats()
        self.assertEqual(stats["pid"], str(self.server.process.pid))
        self.assertLessEqual({"curr_items", "cmd_get", "version", "limit_maxbytes"}, set(stats))
        self.assertIn("maxconns", self.client.stats(b"settings"))
        self.assert_says(self.client.ask(request(STAT, b"nonsense")), MISSING)
        self.assertEqual(self.client.stats(b"reset"), {})
        self.assert_done(self.client.ask(request(NOOP)))

    @mxkv_only("its groups")
    def test_stat_knows_the_groups_of_mxkv(self):
        self.assertTrue(self.client.stats(b"conns"), "they come and go")
        for group in (b"runtime", b"index", b"locks", b"memory", b"latency"):
            before, told, behind = (list(client.stats(group)) for client in (self.connect(), self.client, self.connect()))
            self.assertTrue(told, group)
            # Latency lines appear when another command was sampled. Verdicts and class sizes change with the state of memory.
            lasting = [name for name in told if name in set(before) and name in set(behind)]
            self.assertTrue(lasting, group)
            for names in (before, told, behind):
                self.assertEqual([name for name in names if name in set(lasting)], lasting, group)
            passing = {name for names in (before, told, behind) for name in names} - set(lasting)
            self.assertEqual([name for name in passing if not name.startswith(("verdict:", "class:")) and group != b"latency"],
                             [], group)

    @mxkv_only("memcached does not know it, though its specification does")
    def test_verbosity_is_taken(self):
        self.assert_done(self.client.ask(request(VERBOSITY, extras=_FLAGS.pack(0))))

    def test_without_users_there_is_no_login(self):
        for packet in (request(SASL_MECHANISMS), binary.plain("ann", "secret"), request(SASL_STEP, b"PLAIN", b"x")):
            self.assert_says(self.client.ask(packet), UNKNOWN)
        self.assert_done(self.client.ask(request(NOOP)))


class FramingTest(BinaryCase):
    @mxkv_only("memcached passes over more than the body, and waits for what does not come")
    def test_an_unknown_command_is_told_and_its_body_passed_over(self):
        for opcode in (0x1f, 0x25, 0x30, 0x3c, 0x7f, 0xff):
            self.assert_says(self.client.ask(request(opcode, b"key", b"value" * 100, b"extras!!")), UNKNOWN)
            self.assert_done(self.client.ask(request(NOOP)))

    def test_a_request_that_its_command_cannot_be_is_told_and_closes(self):
        wrong = (request(GET), request(GET, b"k", b"value"), request(GET, b"k", extras=b"1234"), request(SET, b"k", b"v"), store(SET, b"", b"v"),
                 request(SET, b"k", extras=bytes(4)), request(DELETE), request(DELETE, b"k", b"v"), request(INCR, b"k", extras=bytes(19)),
                 request(INCR, extras=bytes(20)), request(APPEND, b"k", b"v", bytes(8)), request(APPEND, value=b"v"),
                 request(NOOP, b"k"), request(NOOP, extras=b"1"), request(VERSION, b"k"), request(QUIT, b"k"), request(FLUSH, b"k"),
                 request(FLUSH, extras=bytes(8)), request(STAT, b"k", extras=b"1"), request(TOUCH, b"k"), request(GAT, extras=bytes(4)),
                 request(GET, b"k" * 251), request(SET, b"k" * 251, extras=bytes(8)))
        for packet in wrong:
            client = self.dial()
            client.send(packet)
            with self.subTest(packet=packet[:40]):
                self.assert_says(client.reply(), INVALID)
                self.assert_closes(client)

    def test_lengths_that_contradict_each_other_close(self):
        for packet in (request(GET, b"key", body_bytes=2), request(SET, b"k", b"", bytes(8), body_bytes=8),
                       request(GET, b"k" * 200, body_bytes=0)):
            client = self.dial()
            client.send(packet)
            self.assert_says(client.reply(), UNKNOWN)
            self.assert_closes(client)

    @mxkv_only("newer than 1.6.18")
    def test_a_body_that_nobody_can_mean_closes(self):
        for body in (0xffffffff, 0x80000000, 0x7fffffff, 0x40000001):
            client = self.dial()
            client.send(request(SET, b"k", b"", bytes(8), body_bytes=body))
            self.assert_says(client.reply(), INVALID)
            self.assert_closes(client)

    @mxkv_only("memcached waits for the whole of such a key")
    def test_a_key_that_nobody_can_mean_closes_before_it_came(self):
        client = self.dial()
        client.send(request(GET, key_bytes=60000, body_bytes=60000))
        self.assert_says(client.reply(), INVALID)
        self.assert_closes(client)

    def test_another_magic_closes_without_a_word(self):
        for magic in (0x81, 0x00, 0xff, ord("g")):
            client = self.dial()
            client.send(request(NOOP) + request(NOOP, magic=magic) + bytes(100))
            self.assert_done(client.reply())
            self.assert_closes(client)

    def test_a_value_that_is_too_large_is_told_and_passed_over_and_what_was_there_goes(self):
        self.client.ask(store(SET, b"k", b"old"))
        self.client.ask(store(SET, b"j", b"old"))
        self.client.send(store(SET, b"k", bytes(3 << 20)) + store(ADD, b"j", bytes(3 << 20)) + request(NOOP))
        for _ in range(2):
            self.assert_says(self.client.reply(), TOO_LARGE)
        self.assert_done(self.client.reply())
        self.assert_says(self.client.ask(request(GET, b"k")), MISSING)
        self.assertEqual(self.value(b"j"), b"old")

    def test_any_bytes_may_be_a_key(self):
        for key in (b"two words", b"\0", b"line\r\nline", bytes(range(1, 251)), "käse".encode()):
            self.assert_done(self.client.ask(store(SET, key, b"v" + key)))
            self.assertEqual(self.client.ask(request(GETK, key)).key, key)
            self.assertEqual(self.value(key), b"v" + key)

    def test_what_comes_byte_by_byte_is_understood(self):
        stream = (store(SET, b"key", b"value", 1) + request(GETK, b"key") + count(INCR, b"n", 1, 5, 0) + store(SETQ, b"empty", b"") +
                  request(GETQ, b"empty") + request(0x1f) + request(VERSION) + request(NOOP))
        for byte in stream:
            self.client.send(bytes([byte]))
        replies = self.client.replies(7)
        self.assertEqual([(reply.opcode, reply.status) for reply in replies],
                         [(SET, OK), (GETK, OK), (INCR, OK), (GETQ, OK), (0x1f, UNKNOWN), (VERSION, OK), (NOOP, OK)])
        self.assertEqual(replies[1].value, b"value")

    def test_data_type_and_bucket_mean_nothing(self):
        self.assert_says(self.client.ask(request(GET, b"nothing", data_type=1, bucket=77)), MISSING)


class StreamsTest(BinaryCase):
    options = Options(memory_mib=512)

    def test_a_thousand_quiet_gets_are_answered_in_order_and_misses_are_silent(self):
        there = [b"key%d" % i for i in range(0, 1000, 3)]
        self.assertEqual(self.client.until_noop(b"".join(store(SETQ, key, key * 7) for key in there)), [])
        packets = [request(GETKQ if i % 2 else GETQ, b"key%d" % i, opaque=i) for i in range(1000)]
        replies = self.client.until_noop(b"".join(packets))
        self.assertEqual([reply.opaque for reply in replies], list(range(0, 1000, 3)))
        for reply in replies:
            self.assertEqual(reply.value, b"key%d" % reply.opaque * 7)

    def test_a_value_of_a_mebibyte_goes_in_and_out_whole(self):
        value = random.Random(1).randbytes((1 << 20) - 1000)
        self.assert_done(self.client.ask(store(SET, b"large", value, flags=5)))
        reply = self.client.ask(request(GETK, b"large"))
        self.assertEqual((reply.key, reply.flags), (b"large", 5))
        self.assertEqual(reply.value, value)
        self.assertEqual(self.client.ask(touch(GATK, b"large", 1000)).value, value)

    def test_values_of_all_sizes_come_in_pieces_of_all_sizes(self):
        chance = random.Random(2)
        for size in (0, 1, 2, 23, 24, 25, 4095, 4096, 4097, 9000, 70000, 300000):
            value = chance.randbytes(size)
            stream = store(SET, b"k%d" % size, value) + request(GET, b"k%d" % size)
            at = 0
            while at < len(stream):
                end = at + chance.choice((1, 10, 100, 4096, 65536))
                self.client.send(stream[at:end])
                at = end
            self.assertNotEqual(self.assert_done(self.client.reply()), 0)
            self.assertEqual(self.client.reply().value, value)

    def test_a_pipeline_is_answered_as_if_one_came_after_the_other(self):
        chance, packets, expected, items = random.Random(3), [], [], {}
        for i in range(scaled(3000)):
            key = b"k%d" % chance.randrange(20)
            kind = chance.randrange(4)
            if kind == 0:
                items[key] = b"%d" % i
                packets.append(store(chance.choice((SET, SETQ)), key, items[key], opaque=i))
                expected += [(SET, OK, i, b"")] if packets[-1][1] == SET else []
            elif kind == 1:
                packets.append(request(DELETE, key, opaque=i))
                expected.append((DELETE, OK, i, b"") if items.pop(key, None) is not None else (DELETE, MISSING, i, TEXTS[MISSING]))
            elif kind == 2:
                packets.append(request(GETQ, key, opaque=i))
                expected += [(GETQ, OK, i, items[key])] if key in items else []
            else:
                packets.append(request(APPEND, key, b"+", opaque=i))
                expected.append((APPEND, OK, i, b"") if key in items else (APPEND, NOT_STORED, i, TEXTS[NOT_STORED]))
                if key in items:
                    items[key] += b"+"
        replies = self.client.until_noop(b"".join(packets))
        self.assertEqual([(reply.opcode, reply.status, reply.opaque, reply.value) for reply in replies], expected)

    def test_a_client_that_does_not_read_is_served_when_it_does(self):
        client = self.dial(receive_buffer=4096)
        value = bytes(50_000)
        self.client.ask(store(SET, b"k", value))
        how_many = scaled(2000 if LONG else 500)
        packets = b"".join(request(GET, b"k", opaque=i) for i in range(how_many))
        client.socket.setblocking(False)
        sent = 0
        try:
            while sent < len(packets):
                sent += client.socket.send(packets[sent:sent + 10000])
        except BlockingIOError:
            pass
        client.socket.settimeout(patience(120))
        self.assert_done(self.client.ask(request(NOOP)))
        whole, rest = divmod(sent, len(packets) // how_many)
        for i in range(whole):
            reply = client.reply()
            self.assertEqual((reply.opaque, len(reply.value)), (i, len(value)))
        client.send(packets[sent:sent + (25 - rest) % 25])
        self.assert_rss_below(600)

    def test_a_client_that_leaves_in_the_middle_takes_nothing_along(self):
        for cut in (1, 23, 24, 30, 40, 1000, 100_000):
            client = self.dial()
            client.send(store(SET, b"cut", bytes(200_000))[:cut])
            client.reset()
        self.assert_says(self.client.ask(request(GET, b"cut")), MISSING)

    def test_a_text_connection_stays_text(self):
        text = self.connect()
        self.assertEqual(text.ask(b"mn"), b"MN")
        self.assertEqual([text.ask(b"\x80" + line) for line in (b"", b"x", b"\x01\0\0 k")], [b"ERROR"] * 3)
        self.assertEqual(text.ask(b"mn"), b"MN")

    def test_all_is_answered_though_the_client_sends_no_more(self):
        self.client.send(b"".join(store(SET, b"k%d" % i, b"v") for i in range(100)) + request(NOOP)[:20])
        self.client.finish_sending()
        self.assertEqual(len(replies_in(self.client.rest())), 100)


class ManyConnectionsTest(BinaryCase):
    options = Options(settings=(("limits.connections", 300),))

    @mxkv_only("its balancing between workers")
    def test_a_connection_stays_binary_wherever_it_goes(self):
        clients = [self.dial() for _ in range(50)]
        for turn in range(scaled(40)):
            for i, client in enumerate(clients):
                client.send(b"".join(store(SETQ, b"k%d" % i, b"%d" % (turn * 100 + j)) for j in range(20)) + request(GET, b"k%d" % i))
            for i, client in enumerate(clients):
                self.assertEqual(client.reply().value, b"%d" % (turn * 100 + 19))
