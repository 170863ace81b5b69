"""Clients that watch ranges: each folds what it hears into a map."""

from harness.connection import block


class Watcher:
    """Folds what a connection hears into a map."""

    def __init__(self, client):
        self.client, self.items, self.lines, self.position, self.over = client, {}, [], None, None
        self.batches = []

    def begin(self, line: bytes) -> bytes:
        answer = self.client.ask(line)
        assert answer.startswith(b"HD O"), answer
        self.position = answer.split(b" G")[1]
        return answer

    def section(self) -> bytes:
        """Reads one section, and returns its end."""
        first = self.client.line()
        if first.startswith(b"WO "):
            self.over = first
            return first
        assert first.startswith(b"WS O"), first
        while True:
            line = self.client.line()
            if line.startswith(b"WE O"):
                if b" G" in line:
                    self.position = line.split(b" G")[1].split(b" ")[0]
                return line
            self.apply(line)

    def until_mark(self, opaque: bytes) -> None:
        while not self.section().endswith(b" m" + opaque):
            assert self.over is None, self.over

    def apply(self, line: bytes) -> None:
        self.lines.append(line)
        words = line.split(b" ")
        named = {word[:1]: word[1:] for word in words[1:]}
        if words[0] == b"WB":
            self.batches.append(int(words[1]))
        elif words[0] == b"WV":
            self.items[named[b"k"]] = self.client.exactly(int(words[1]) + 2)[:-2]
        elif words[0] == b"WP":
            self.items[named[b"k"]] = None
        elif words[0] == b"WG":
            self.items.pop(named[b"k"], None)
        elif words[0] == b"WX":
            low, high = named[b"k"], named.get(b"H")
            for key in list(self.items):
                above = key > low or key == low and b"o" not in named
                below = high is None or key < high or key == high and b"i" in named
                if above and below:
                    del self.items[key]
        else:
            assert words[0] in (b"WT", b"WY"), line


def mark(client, name: bytes, opaque: bytes) -> None:
    client.send(b"mu O%s m%s\r\n" % (name, opaque))


def drain_to(watcher: Watcher, answer: bytes) -> None:
    """Reads sections up to an answer between them."""
    while True:
        line = watcher.client.line()
        if line == answer:
            return
        if not line.startswith((b"WS ", b"WE ")):
            watcher.apply(line)
        elif line.startswith(b"WE ") and b" G" in line:
            watcher.position = line.split(b" G")[1].split(b" ")[0]


def change(client, chance, keys: list, value: bytes) -> None:
    """Changes some keys at random, and waits for the answers."""
    key, what = chance.choice(keys), chance.randrange(20)
    if what < 12:
        client.ask(b"ms %s %d\r\n%s" % (key, len(value), value))
    elif what < 15:
        client.ask(b"delete " + key)
    elif what < 16:
        client.send(b"".join(block(b"set", each, value * 40) for each in chance.sample(keys, 10)))
        for _ in range(10):
            client.line()
    elif what < 18:
        pair = chance.sample(keys, 2)
        client.send(b"mb 2\r\n" + b"".join(b"ms %s %d\r\n%s\r\n" % (each, len(value), value) for each in pair))
        for _ in range(3):
            client.line()
    elif what < 19:
        client.ask(b"mx %s p X" % key[:-1])
    else:
        client.ask(b"touch %s 0" % key)
