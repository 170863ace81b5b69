"""Operations on many keys beside each other and beside single writes: no client sees, or leaves, half of an operation."""

import random

from harness import Options, Threads, campaign, mxkv_only
from meta_ranges import MetaCase, ask_page, flags_of
from scanning import UNHURRIED

ACCOUNTS = 48
BALANCE = 1_000_000
SUM = ACCOUNTS * BALANCE
FILLERS = 40  # filler keys between two accounts, so that accounts lie in several slots
PAIRS = 8     # pairs of counters: one key of a pair is among the first keys, the other among the last


def account(number: int) -> bytes:
    return b"a%03d" % number


def pair(number: int) -> tuple:
    return b"a000-early%d" % number, b"a%03d-late%d" % (ACCOUNTS - 1, number)


def batch(*lines: bytes) -> bytes:
    return b"mb %d\r\n" % len(lines) + b"".join(line + b"\r\n" for line in lines)


def batch_replies(client, lines: int) -> list:
    """The replies to a batch whose lines have one reply each; if the batch failed, its only reply."""
    first = client.line()
    if first.startswith(b"EX ") and first[3:4].isdigit():
        return [first]
    replies = [first] + [client.line() for _ in range(lines)]
    assert replies[-1] == b"HD", replies
    return replies


@mxkv_only("mb")
class TransferTest(MetaCase):
    options = Options(workers=2, settings=(UNHURRIED, ("limits.scan_items", "100000")))

    def setUp(self):
        super().setUp()
        self.load(self.client, ((account(i), b"%d" % BALANCE) for i in range(ACCOUNTS)))
        self.load(self.client, ((b"%s-%d" % (account(i), j), b"filler") for i in range(ACCOUNTS) for j in range(FILLERS)))
        self.load(self.client, ((key, b"c0") for i in range(PAIRS) for key in pair(i)))
        self.assertEqual(self.sum(self.client), SUM)  # this also draws a map
        self.threads = Threads(self.server.port)

    def sum(self, client, more: bytes = b"") -> int:
        line = client.ask(b"mc a p X Ms" + more)
        word, *tokens = line.split(b" ")
        assert word == b"HD", line
        flags = flags_of(tokens)
        assert flags[b"N"] == b"%d" % ACCOUNTS, line
        return int(flags[b"Ms"])

    # The work of clients: each repeats it `times` times, or until the others have ended.

    def transfer(self, client, chance) -> None:
        """Moves an amount by arithmetic, or by new values that require unchanged uniques."""
        one, other = chance.sample(range(ACCOUNTS), 2)
        amount = chance.randrange(1, 100)
        if chance.random() < 0.5:
            client.send(batch(b"ma %s MD D%d" % (account(one), amount), b"ma %s D%d" % (account(other), amount)))
            replies = batch_replies(client, 2)
            assert replies == [b"HD", b"HD", b"HD"], replies
            return
        values, uniques = [], []
        for number in (one, other):
            line = client.ask(b"mg %s v c" % account(number))
            assert line.startswith(b"VA "), line
            values.append(int(client.exactly(int(line.split()[1]) + 2)[:-2]))
            uniques.append(flags_of(line.split(b" ")[2:])[b"c"])
        new = [b"%d" % (values[0] - amount), b"%d" % (values[1] + amount)]
        client.send(batch(*(b"ms %s %d C%s\r\n%s" % (account(number), len(value), unique, value)
                            for number, value, unique in zip((one, other), new, uniques))))
        replies = batch_replies(client, 2)
        assert replies in ([b"HD"] * 3, [b"EX 1 EX"], [b"EX 2 EX"]), replies

    def fail(self, client, chance) -> None:
        """Batches that change nothing, because their last line fails."""
        one, other = chance.sample(range(ACCOUNTS), 2)
        last, code = chance.choice([(b"ma none", b"NF"), (b"ms %s 1 C1\r\n0" % account(other), b"EX"),
                                    (b"ma %s-0" % account(other), b"CLIENT_ERROR cannot increment or decrement non-numeric value"),
                                    (b"ms %s 1 ME\r\n0" % account(other), b"NS")])
        client.send(batch(b"ma %s D7" % account(one), b"ms %s 1\r\n0" % account(one), b"ms new%d 1\r\n0" % one,
                          b"md %s" % account(one), last))
        replies = batch_replies(client, 5)
        assert replies == [b"EX 5 " + code], replies

    def look(self, client, chance) -> None:
        if chance.random() < 0.5:
            assert self.sum(client) == SUM
            return
        backward = b" r" if chance.random() < 0.5 else b""
        page = ask_page(client, b"mr a p v X" + backward)
        values = {key: value for key, value, _ in page.items}
        for number in range(PAIRS):
            ahead = len(values[pair(number)[0]]) - len(values[pair(number)[1]])
            assert ahead in (0, 1), f"single writes in the order sent: {ahead}"
        balances = [int(value) for _, value, _ in page.items if value.isdigit()]
        assert (len(balances), sum(balances), page.cursor) == (ACCOUNTS, SUM, None)

    def fill(self, client, chance) -> None:
        """Single writes to keys between the accounts."""
        key = b"%s-%d" % (account(chance.randrange(ACCOUNTS)), chance.randrange(FILLERS))
        client.send(b"set %s 0 0 6\r\nfiller\r\nappend %s 0 0 1\r\n!\r\ntouch %s 0\r\nget %s\r\n" % (key, key, key, key))
        assert [client.line() for _ in range(3)] == [b"STORED", b"STORED", b"TOUCHED"]
        assert client.line().startswith(b"VALUE "), key
        assert client.line().startswith(b"filler"), key
        assert client.line() == b"END"

    def count(self, client, chance) -> None:
        """Two single writes, the earlier key first: a page sees neither, the first, or both."""
        for key in pair(client.number % PAIRS):
            client.send(b"append %s 0 0 1\r\n.\r\n" % key)
        assert [client.line(), client.line()] == [b"STORED", b"STORED"]

    def repeat(self, what, times: int):
        def work(client, number):
            chance = random.Random(number * 1000 + times)
            client.number = number
            for _ in range(times):
                what(client, chance)
        return work

    def run_all(self, *parts) -> None:
        for what, count, times in parts:
            self.threads.start(self.repeat(what, times), count)
        self.threads.join()

    def test_the_sum_stays(self):
        each = campaign(250, 60)
        self.run_all((self.transfer, 3, each), (self.fail, 1, each), (self.look, 3, each), (self.fill, 2, each),
                     (self.count, PAIRS, each))
        self.assertEqual(self.sum(self.client), SUM)
        self.assertEqual(ask_page(self.client, b"mr new p").items, [], "what a failed batch made")

    def test_what_comes_and_goes_together_is_seen_together(self):
        """Batches make a whole group; others touch, expire or delete the whole group."""
        names = [b"%s-g" % account(i) for i in range(0, ACCOUNTS, 3)]
        low, high = names[0], names[-1]
        chosen = b"%s H%s i" % (low, high)

        def make(client, chance):
            value = b"group%d" % chance.randrange(10**6)
            client.send(batch(*(b"ms %s %d T100\r\n%s" % (name, len(value), value) for name in names)))
            assert batch_replies(client, len(names)) == [b"HD"] * (len(names) + 1)

        def unmake(client, chance):
            client.send(batch(*(b"md %s" % name for name in names)))
            replies = batch_replies(client, len(names))
            assert len(set(replies[:-1])) == 1, f"all are there, or none: {replies}"

        def expire(client, chance):
            assert client.ask(b"mt %s T%d" % (chosen, chance.choice((100, 100, 0)))).startswith(b"HD A")

        def see(client, chance):
            client.send(batch(*(b"mg %s v" % name for name in names)))
            first = client.line()
            lines, values = [first], []
            while lines[-1] != b"HD":
                if lines[-1].startswith(b"VA "):
                    values.append(client.exactly(int(lines[-1].split()[1]) + 2))
                lines.append(client.line())
            assert len(values) in (0, len(names)) and len(set(values)) <= 1, f"half of a group: {values}"
            page = ask_page(client, b"mr %s v t X" % chosen)
            group = [item for item in page.items if item[0].endswith(b"-g")]
            assert len(group) in (0, len(names)), page.keys
            assert len({item[1] for item in group}) <= 1, group

        each = campaign(150, 40)
        self.run_all((make, 2, each), (unmake, 2, each), (expire, 1, each // 2), (see, 3, each), (self.fill, 2, each),
                     (self.look, 1, each), (self.count, 3, each))
        self.assertEqual(self.sum(self.client), SUM)

    def test_those_who_go_away_leave_nothing_half_done(self):
        def go_away(client, number):
            chance = random.Random(number)
            for _ in range(campaign(40, 10)):
                other = self.connect()
                one, two = chance.sample(range(ACCOUNTS), 2)
                whole = batch(b"ma %s MD D5" % account(one), b"ms x%d 3\r\nabc" % number, b"ma %s D5" % account(two))
                other.send((whole * 3)[:chance.randrange(1, 3 * len(whole))])
                other.close()

        self.threads.start(go_away, 3)
        self.run_all((self.transfer, 2, campaign(150, 30)), (self.look, 2, campaign(100, 30)))
        self.assertEqual(self.sum(self.client), SUM)


class FewSlotsTransferTest(TransferTest):
    options = Options(workers=2, settings=(*TransferTest.options.settings, ("experimental.lock_slots", "6")))
