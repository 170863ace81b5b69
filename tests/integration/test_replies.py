"""The reply table against the server: exact bytes, and the stream stays in step after every error."""

import re
import unittest

import reply_table
from harness import IS_MEMCACHED, ServerCase
from harness.connection import block, converse

_VERSION = re.compile(rb"^VERSION [^\r\n]*", re.MULTILINE)
_STATE = b"delete a\r\ndelete n\r\n" + block(b"set", b"a", b"10", flags=3)


class ReplyCase(ServerCase):
    def check(self, rows) -> None:
        for row in rows:
            with self.subTest(row.name):
                # A separate connection writes this, so that it is done before a stream that ends with a close.
                prepare = self.connect()
                prepare.send(_STATE)
                self.assertEqual([prepare.line() for _ in range(3)][-1], b"STORED")
                prepare.close()
                expected = row.memcached if IS_MEMCACHED and row.memcached is not None else row.reply
                if not row.closes:
                    expected += b"VERSION\r\n"
                received = converse(self.server.port, [row.stream + (b"" if row.closes else b"version\r\n")])
                self.assertEqual(_VERSION.sub(b"VERSION", received), expected)


class LinesTest(ReplyCase):
    def test_lines(self):
        self.check(reply_table.LINES)


class RetrievalTest(ReplyCase):
    def test_retrieval(self):
        self.check(reply_table.RETRIEVAL)


class StorageTest(ReplyCase):
    def test_storage(self):
        self.check(reply_table.STORAGE)


class RestTest(ReplyCase):
    def test_rest(self):
        self.check(reply_table.REST)


class TableTest(unittest.TestCase):
    def test_every_difference_is_named_and_used(self):
        rows = reply_table.LINES + reply_table.RETRIEVAL + reply_table.STORAGE + reply_table.REST
        used = {row.why for row in rows if row.memcached is not None}
        self.assertEqual(used, set(reply_table.DIFFERENCES))
        self.assertEqual(len({row.name for row in rows}), len(rows), "names are unique")
