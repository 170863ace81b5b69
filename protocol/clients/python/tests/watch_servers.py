"""For tests of watches: a proxy that cuts and delays them, and a server that answers in the order that a test chooses."""

import contextlib
import queue
import random
import socket
import threading
import time


def wait_for(condition, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.001)


class _Listening:
    """Accepts connections, each with a thread of its own."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open, self._lock = set(), threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()

    def cut_all(self) -> None:
        with self._lock:
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._opened(near)
            threading.Thread(target=self._guarded, args=(near,), daemon=True).start()

    def _opened(self, end: socket.socket) -> None:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open.add(end)

    def _guarded(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            self._serve(near)

    def _serve(self, near: socket.socket) -> None:
        raise NotImplementedError


class WatchProxy(_Listening):
    """In front of a server. A connection that began a watch is cut after about `cut_every` bytes of its lines, at random. `delay`: each
    half second the proxy chooses how long lines of watches, and replies to others, are on their way: not at all, or up to so many seconds.
    """

    def __init__(self, port: int, cut_every: int = 0, delay: float = 0):
        self._target, self._cut_every, self._delay = port, cut_every, delay
        self.cuts = self.reads = self.watches = 0
        super().__init__()

    def _serve(self, near: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._target)) as far:
            self._opened(far)
            watches = threading.Event()
            threading.Thread(target=self._to_server, args=(near, far, watches), daemon=True).start()
            pieces: queue.SimpleQueue = queue.SimpleQueue()
            threading.Thread(target=self._to_client, args=(pieces, near, watches), daemon=True).start()
            with contextlib.suppress(OSError):
                while data := far.recv(1 << 14):
                    pieces.put((time.monotonic(), data))
            pieces.put((0, b""))
            while not pieces.empty():
                time.sleep(0.001)

    def _to_client(self, pieces: queue.SimpleQueue, near: socket.socket, watches: threading.Event) -> None:
        chance, left, latency, chosen = random.Random(), None, 0.0, 0.0
        with contextlib.suppress(OSError):
            while (piece := pieces.get())[1]:
                came, data = piece
                if self._delay:
                    if came > chosen + 0.5:
                        latency, chosen = chance.choice((0, chance.random())) * self._delay, came
                    time.sleep(max(0, came + latency / (1 if watches.is_set() else 20) - time.monotonic()))
                if watches.is_set() and self._cut_every:
                    left = chance.randrange(2 * self._cut_every) if left is None else left
                    if left < len(data):
                        near.sendall(data[:left])
                        self.cuts += 1
                        break
                    left -= len(data)
                near.sendall(data)
            near.shutdown(socket.SHUT_RDWR)

    def _to_server(self, near: socket.socket, far: socket.socket, watches: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 14):
                self.reads += data.count(b"mg ")
                if data.startswith(b"mw "):
                    self.watches += 1
                    watches.set()
                far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)


class ScriptedServer(_Listening):
    """Answers `mw` by `answers` one after the other, the last of them for ever, and marks while `answers_marks`. Reads wait in
    `reads` until the test answers them.
    """

    def __init__(self, *answers: bytes):
        self._answers = list(answers) or [b"HD Ow G0123456789abcdef.1"]
        self.answers_marks = True
        self.watch_lines = []
        self.reads = []
        self._watch = None
        super().__init__()

    def _serve(self, near: socket.socket) -> None:
        for line in near.makefile("rb"):
            words = line.split()
            if words[0] == b"mw":
                self.watch_lines.append(line.rstrip())
                answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                self._watch = near if answer.startswith(b"HD") else self._watch
                near.sendall(answer + b"\r\n")
            elif words[0] == b"mu":
                if self.answers_marks:
                    near.sendall(b"HD Ow\r\nWS Ow\r\nWE Ow G0123456789abcdef.1 %s\r\n" % words[2])
            else:
                self.reads.append((near, line.rstrip()))

    def tell(self, *lines: bytes) -> None:
        """Pushes a section to the watch."""
        self._watch.sendall(b"".join(line + b"\r\n" for line in (b"WS Ow", *lines, b"WE Ow G0123456789abcdef.2")))

    def say(self, line: bytes) -> None:
        self._watch.sendall(line + b"\r\n")

    def waiting(self) -> bytes:
        """The line of the oldest request that waits."""
        wait_for(lambda: self.reads, "a request comes")
        return self.reads[0][1]

    def answer(self, *lines: bytes) -> None:
        """Answers the oldest request that waits."""
        self.waiting()
        near, _ = self.reads.pop(0)
        near.sendall(b"".join(line + b"\r\n" for line in lines))
