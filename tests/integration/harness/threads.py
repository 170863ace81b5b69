"""Several clients at once, each in a thread with a connection of its own. A failure in one fails the test."""

import threading

from .connection import Connection


class Threads:
    """Runs functions of (connection, its number) at once; the test raises the first failure."""

    def __init__(self, port: int, **connection):
        """`connection`: options of each connection; the default timeout is a minute."""
        self.connection = {"timeout": 60, **connection}
        self.port, self.failures, self.threads = port, [], []
        self.stop = threading.Event()

    def start(self, work, count: int) -> None:
        for number in range(count):
            thread = threading.Thread(target=self._run, args=(work, number))
            self.threads.append(thread)
            thread.start()

    def _run(self, work, number) -> None:
        client = Connection(self.port, **self.connection)
        try:
            work(client, number)
        except BaseException as error:  # noqa: BLE001 - handed to the test
            self.failures.append(error)
            self.stop.set()
        finally:
            client.close()

    def join(self) -> None:
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]
