"""Every verb, reply and error line of the classic protocol: the bytes sent, and the exact bytes that come back.

Each row starts from the same state: key `a` holds "10" with flags 3, key `n` is absent. A trailing `version` shows
that the stream stayed in step. If memcached 1.6.18 answers differently, and we want that, the row has both replies, and
DIFFERENCES names the reason.
"""

import dataclasses

BAD = b"CLIENT_ERROR bad command line format\r\n"
CHUNK = b"CLIENT_ERROR bad data chunk\r\n"
DELTA = b"CLIENT_ERROR invalid numeric delta argument\r\n"
EXPTIME = b"CLIENT_ERROR invalid exptime argument\r\n"
NON_NUMERIC = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n"
TOO_LARGE = b"SERVER_ERROR object too large for cache\r\n"
ERROR = b"ERROR\r\n"
LONG_KEY = b"k" * 250
OVERLONG_KEY = b"k" * 251
MIB = 1 << 20

DIFFERENCES = {
    "arity": "a known verb with too few or too many words is a CLIENT_ERROR here, ERROR in 1.6.18; so is an empty line",
    "swallow": "an error after the length was parsed swallows the data block here, 1.6.18 reads it as commands",
    "flags range": "flags beyond 32 bits are an error here, cut off in 1.6.18",
    "limit": "the value limit counts the value alone here, value and header in 1.6.18",
    "put": "put is an alias of set here",
    "key bytes": "a key holds neither CR nor NUL here, 1.6.18 does not look",
    "decr length": "decr leaves the exact text here, 1.6.18 pads with spaces",
}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    stream: bytes
    reply: bytes
    memcached: bytes = None       # memcached's reply, if different
    why: str = None               # if different: a key of DIFFERENCES
    closes: bool = False          # the server closes the connection here


def _row(name, stream, reply, memcached=None, why=None, closes=False):
    return Row(name, stream, reply, memcached, why, closes)


def _value(key, flags, value):
    return b"VALUE %s %d %d\r\n%s\r\n" % (key, flags, len(value), value)


A = _value(b"a", 3, b"10")
END = b"END\r\n"

LINES = [
    _row("empty line", b"\r\n", BAD, ERROR, "arity"),
    _row("only spaces", b"  \r\n", BAD, ERROR, "arity"),
    _row("unknown", b"foo bar\r\n", ERROR),
    _row("upper case", b"GET a\r\n", ERROR),
    _row("prefix of a verb", b"ge a\r\n", ERROR),
    _row("bare LF", b"get a\n", A + END),
    _row("runs of spaces", b" get  a   n \r\n", A + END),
    _row("CR inside", b"get a\r\r\n", BAD, END, "key bytes"),
    _row("http", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"", closes=True),
    _row("http post", b"POST /x HTTP/1.0\r\n\r\n", b"", closes=True),
    _row("long unknown line", b"x" * 2000 + b"\r\n", ERROR),
    _row("line without an end", b"x" * 3000, b"", closes=True),
    _row("quit", b"get a\r\nquit\r\n", A + END, closes=True),
    _row("version", b"version\r\n", b"VERSION\r\n"),
    _row("version with words", b"version foo noreply\r\n", b"VERSION\r\n"),
]

RETRIEVAL = [
    _row("get hit", b"get a\r\n", A + END),
    _row("get miss", b"get n\r\n", END),
    _row("get hits only, in order, duplicates twice", b"get a n a\r\n", A + A + END),
    _row("get without a key", b"get\r\n", BAD, ERROR, "arity"),
    _row("get with a space only", b"get \r\n", BAD, ERROR, "arity"),
    _row("gets without a key", b"gets\r\n", BAD, ERROR, "arity"),
    _row("longest key", b"get " + LONG_KEY + b"\r\n", END),
    _row("overlong key", b"get " + OVERLONG_KEY + b"\r\n", BAD),
    _row("overlong key first", b"get " + OVERLONG_KEY + b" a\r\n", BAD),
    _row("control byte in key", b"get a\x01b\r\n", END),
    _row("tab in key", b"get a\tb\r\n", END),
    _row("delete byte in key", b"get a\x7fb\r\n", END),
    _row("high bytes in key", b"get \xff\xfe\r\n", END),
    _row("gat hit", b"gat 0 a n\r\n", A + END),
    _row("gat without a key", b"gat 0\r\n", BAD, END, "arity"),
    _row("gat without anything", b"gat\r\n", BAD, ERROR, "arity"),
    _row("gat bad time", b"gat x a\r\n", EXPTIME),
    _row("gat junk after time", b"gat 1x a\r\n", EXPTIME),
    _row("gat in the past expires", b"gat -1 a\r\nget a\r\n", A + END + END),
    _row("gats bad time", b"gats x a\r\n", EXPTIME),
]

STORAGE = [
    _row("set", b"set n 7 0 2\r\nhi\r\nget n\r\n", b"STORED\r\n" + _value(b"n", 7, b"hi") + END),
    _row("set largest flags", b"set n 4294967295 0 1\r\nb\r\nget n\r\n",
         b"STORED\r\n" + _value(b"n", 4294967295, b"b") + END),
    _row("set zero length", b"set n 0 0 0\r\n\r\nget n\r\n", b"STORED\r\n" + _value(b"n", 0, b"") + END),
    _row("set with bare LF on the line", b"set n 0 0 1\nb\r\n", b"STORED\r\n"),
    _row("set data that looks like commands", b"set n 0 0 9\r\nEND\r\nget \r\n", b"STORED\r\n"),
    _row("set longest key", b"set " + LONG_KEY + b" 0 0 1\r\nb\r\ndelete " + LONG_KEY + b"\r\n", b"STORED\r\nDELETED\r\n"),
    _row("set noreply", b"set n 0 0 1 noreply\r\nb\r\nget n\r\n", _value(b"n", 0, b"b") + END),
    _row("set no words", b"set\r\n", BAD, ERROR, "arity"),
    _row("set key only", b"set a\r\n", BAD, ERROR, "arity"),
    _row("set without a length", b"set a 0 0\r\n", BAD, ERROR, "arity"),
    _row("set length not a number", b"set a 0 0 x\r\n", BAD),
    _row("set length negative", b"set a 0 0 -1\r\nget a\r\n", BAD + A + END),
    _row("set length with junk", b"set a 0 0 1x\r\n", BAD),
    _row("set length beyond 64 bits", b"set a 0 0 99999999999999999999\r\n", BAD),
    _row("set length bad, noreply", b"set a 0 0 -1 noreply\r\n", b""),
    _row("set flags not a number", b"set n x 0 1\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
    _row("set flags negative", b"set n -1 0 1\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
    _row("set flags beyond 32 bits", b"set n 4294967296 0 1\r\nb\r\nget n\r\n", BAD + END,
         b"STORED\r\n" + _value(b"n", 0, b"b") + END, "flags range"),
    _row("set exptime not a number", b"set n 0 x 1\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
    _row("set exptime beyond 64 bits", b"set n 0 9223372036854775808 1\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
    _row("set overlong key", b"set " + OVERLONG_KEY + b" 0 0 1\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
    _row("set overlong key, noreply", b"set " + OVERLONG_KEY + b" 0 0 1 noreply\r\nb\r\n", b"", ERROR, "swallow"),
    _row("set control byte in key", b"set n\x01 0 0 1\r\nb\r\nget n\x01\r\n", b"STORED\r\n" + _value(b"n\x01", 0, b"b") + END),
    _row("set CR in key", b"set n\rn 0 0 1\r\nb\r\n", BAD, b"STORED\r\n", "key bytes"),
    _row("set data too long", b"set n 0 0 1\r\nbc\r\n\r\nget n\r\n", CHUNK + BAD + BAD + END, CHUNK + ERROR + ERROR + END, "arity"),
    _row("set data too long by a word", b"set n 0 0 1\r\nb\r \r\nget n\r\n", CHUNK + BAD + END, CHUNK + ERROR + END, "arity"),
    _row("set data ends in LF only", b"set n 0 0 1\r\nb\n\nget n\r\n", CHUNK + END),
    _row("set bad data chunk keeps the old value", b"set a 0 0 1\r\nbxxget a\r\n", CHUNK + A + END),
    _row("set bad data chunk, noreply", b"set a 0 0 1 noreply\r\nbxxget a\r\n", A + END),
    _row("put", b"put n 0 0 1\r\nb\r\n", b"STORED\r\n", ERROR + ERROR, "put"),
    _row("add on present", b"add a 0 0 1\r\nb\r\nget a\r\n", b"NOT_STORED\r\n" + A + END),
    _row("add on absent", b"add n 0 0 1\r\nb\r\n", b"STORED\r\n"),
    _row("add noreply on present", b"add a 0 0 1 noreply\r\nb\r\nget a\r\n", A + END),
    _row("replace on absent", b"replace n 0 0 1\r\nb\r\nget n\r\n", b"NOT_STORED\r\n" + END),
    _row("replace on present", b"replace a 5 0 1\r\nb\r\nget a\r\n", b"STORED\r\n" + _value(b"a", 5, b"b") + END),
    _row("append on absent", b"append n 0 0 1\r\nb\r\n", b"NOT_STORED\r\n"),
    _row("append keeps flags", b"append a 9 0 1\r\nb\r\nget a\r\n", b"STORED\r\n" + _value(b"a", 3, b"10b") + END),
    _row("append keeps exptime", b"append a 9 -1 1\r\nb\r\nget a\r\n", b"STORED\r\n" + _value(b"a", 3, b"10b") + END),
    _row("append nothing", b"append a 0 0 0\r\n\r\nget a\r\n", b"STORED\r\n" + A + END),
    _row("prepend on absent", b"prepend n 0 0 1\r\nb\r\n", b"NOT_STORED\r\n"),
    _row("prepend keeps flags", b"prepend a 9 0 1\r\nb\r\nget a\r\n", b"STORED\r\n" + _value(b"a", 3, b"b10") + END),
    _row("append then prepend, noreply", b"append a 0 0 1 noreply\r\nz\r\nprepend a 0 0 1 noreply\r\ny\r\nget a\r\n",
         _value(b"a", 3, b"y10z") + END),
    _row("too large deletes the old value", b"set a 0 0 %d\r\n%s\r\nget a\r\n" % (MIB + 1, b"x" * (MIB + 1)),
         TOO_LARGE + END),
    _row("too large, noreply", b"set a 0 0 %d noreply\r\n%s\r\nget a\r\n" % (MIB + 1, b"x" * (MIB + 1)), END),
    _row("add too large leaves the old value", b"add a 0 0 %d\r\n%s\r\n" % (MIB + 1, b"x" * (MIB + 1)), TOO_LARGE),
    _row("exactly the limit", b"set n 0 0 %d\r\n%s\r\n" % (MIB, b"x" * MIB), b"STORED\r\n", TOO_LARGE, "limit"),
    _row("cas on absent", b"cas n 0 0 1 1\r\nb\r\n", b"NOT_FOUND\r\n"),
    _row("cas differs", b"cas a 0 0 1 9007199254740991\r\nb\r\nget a\r\n", b"EXISTS\r\n" + A + END),
    _row("cas differs, noreply", b"cas a 0 0 1 9007199254740991 noreply\r\nb\r\nget a\r\n", A + END),
    _row("cas unique not a number", b"cas a 0 0 1 x\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
    _row("cas unique beyond 64 bits", b"cas a 0 0 1 18446744073709551616\r\nb\r\n", BAD, BAD + ERROR, "swallow"),
]

REST = [
    _row("delete", b"delete a\r\nget a\r\n", b"DELETED\r\n" + END),
    _row("delete absent", b"delete n\r\n", b"NOT_FOUND\r\n"),
    _row("delete with 0", b"delete a 0\r\n", b"DELETED\r\n"),
    _row("delete with 0 noreply", b"delete a 0 noreply\r\nget a\r\n", END),
    _row("delete noreply", b"delete a noreply\r\nget a\r\n", END),
    _row("delete without a key", b"delete\r\n", BAD, ERROR, "arity"),
    _row("delete overlong key", b"delete " + OVERLONG_KEY + b"\r\n", BAD),
    _row("touch", b"touch a 0\r\nget a\r\n", b"TOUCHED\r\n" + A + END),
    _row("touch absent", b"touch n 0\r\n", b"NOT_FOUND\r\n"),
    _row("touch noreply", b"touch a -1 noreply\r\nget a\r\n", END),
    _row("touch bad time", b"touch a x\r\n", EXPTIME),
    _row("touch without a time", b"touch a\r\n", BAD, ERROR, "arity"),
    _row("touch overlong key", b"touch " + OVERLONG_KEY + b" 0\r\n", BAD),
    _row("incr", b"incr a 5\r\nget a\r\n", b"15\r\n" + _value(b"a", 3, b"15") + END),
    _row("incr grows in length", b"incr a 990\r\nget a\r\n", b"1000\r\n" + _value(b"a", 3, b"1000") + END),
    _row("incr wraps", b"incr a 18446744073709551615\r\nget a\r\n", b"9\r\n" + _value(b"a", 3, b"9") + END,
         b"9\r\n" + _value(b"a", 3, b"9 ") + END, "decr length"),
    _row("incr to the last number", b"incr a 18446744073709551605\r\n", b"18446744073709551615\r\n"),
    _row("incr absent", b"incr n 1\r\n", b"NOT_FOUND\r\n"),
    _row("incr noreply", b"incr a 1 noreply\r\nget a\r\n", _value(b"a", 3, b"11") + END),
    _row("incr delta not a number", b"incr a x\r\n", DELTA),
    _row("incr delta negative", b"incr a -1\r\n", DELTA),
    _row("incr delta beyond 64 bits", b"incr a 18446744073709551616\r\n", DELTA),
    _row("incr text", b"set n 0 0 3\r\nabc\r\nincr n 1\r\n", b"STORED\r\n" + NON_NUMERIC),
    _row("incr empty value", b"set n 0 0 0\r\n\r\nincr n 1\r\n", b"STORED\r\n" + NON_NUMERIC),
    _row("incr trailing space in value", b"set n 0 0 3\r\n12 \r\nincr n 1\r\n", b"STORED\r\n13\r\n"),
    _row("incr value beyond 64 bits", b"set n 0 0 21\r\n%s\r\nincr n 1\r\n" % (b"9" * 21), b"STORED\r\n" + NON_NUMERIC),
    _row("incr without delta", b"incr a\r\n", BAD, ERROR, "arity"),
    _row("incr overlong key", b"incr " + OVERLONG_KEY + b" 1\r\n", BAD),
    _row("decr", b"decr a 1\r\nget a\r\n", b"9\r\n" + _value(b"a", 3, b"9") + END,
         b"9\r\n" + _value(b"a", 3, b"9 ") + END, "decr length"),
    _row("decr stops at nought", b"decr a 11\r\n", b"0\r\n"),
    _row("decr absent", b"decr n 1\r\n", b"NOT_FOUND\r\n"),
    _row("decr noreply", b"decr a 0 noreply\r\nget a\r\n", A + END),
    _row("verbosity", b"verbosity 1\r\n", b"OK\r\n"),
    _row("verbosity noreply", b"verbosity 1 noreply\r\n", b""),
    _row("verbosity without a level", b"verbosity\r\n", ERROR),
    _row("flush_all", b"flush_all\r\nget a\r\n", b"OK\r\n" + END),
    _row("flush_all 0", b"flush_all 0\r\nget a\r\n", b"OK\r\n" + END),
    _row("flush_all noreply", b"flush_all noreply\r\nget a\r\n", END),
    _row("flush_all 0 noreply", b"flush_all 0 noreply\r\nget a\r\n", END),
    _row("flush_all bad delay", b"flush_all x\r\nget a\r\n", EXPTIME + A + END),
    _row("stats reset", b"stats reset\r\n", b"RESET\r\n"),
]
