"""Runs the tests of a module beside each other, for modules whose tests mostly wait for their daemons.

A module says so by one line:

    from harness.beside import load_tests  # noqa: F401

Tests that each start a daemon of their own become one task each. A class that shares a server stays one task, and its tests
run one after the other. Classes with `ALONE = True` run at the end, in the main thread: for tests that change the state of
the whole process or that fork with preexec_fn.

Several such modules as one suite, so that all their waits overlap:

    python3 -B -m harness.beside test_users test_admin_login test_admin_tls
"""

import concurrent.futures
import sys
import threading
import unittest

from .case import OwnServerCase
from .environment import SANITIZED

_AT_ONCE = 2 if SANITIZED else 6
_WITHOUT_FIXTURE = (unittest.TestCase.setUpClass.__func__, OwnServerCase.setUpClass.__func__)
_TOLD = ("startTest", "stopTest", "addSuccess", "addError", "addFailure", "addSkip", "addExpectedFailure", "addUnexpectedSuccess",
         "addSubTest")


class _Part(unittest.TestResult):
    """The result of one task. It holds unittest's state of class fixtures, and tells `whole` each test when it has ended."""

    def __init__(self, whole: unittest.TestResult, lock: threading.Lock):
        super().__init__()
        self._whole, self._lock, self._events = whole, lock, []

    def tell(self) -> None:
        """Reports all events of one test in one piece, because several threads share the result of the whole run."""
        with self._lock:
            for name, arguments in self._events:
                getattr(self._whole, name)(*arguments)
        self._events.clear()


def _recorder(name: str):
    def record(part, *arguments):
        getattr(unittest.TestResult, name)(part, *arguments)
        part._events.append((name, arguments))
        if name == "stopTest":
            part.tell()
    return record


for _name in _TOLD:
    setattr(_Part, _name, _recorder(_name))


class BesideSuite(unittest.TestSuite):
    def run(self, result, debug=False):
        beside, alone = _tasks(self)
        lock = threading.Lock()

        def run_one(tests) -> None:
            part = _Part(result, lock)
            unittest.TestSuite(tests).run(part)
            part.tell()  # errors of class fixtures belong to no test

        with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
            for future in [pool.submit(run_one, tests) for tests in beside]:
                future.result()
        for tests in alone:
            run_one(tests)
        return result


def _flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def _tasks(suite) -> tuple:
    """(lists of tests that may run beside each other, lists of tests that run alone)."""
    shared, single, alone = {}, [], []
    for test in _flat(suite):
        kind = type(test)
        if getattr(kind, "ALONE", False):
            alone.append([test])
        elif isinstance(test, unittest.TestCase) and kind.setUpClass.__func__ in _WITHOUT_FIXTURE:
            single.append([test])
        else:
            shared.setdefault(kind, []).append(test)
    return [*shared.values(), *single], alone


def load_tests(_loader, tests, _pattern) -> BesideSuite:
    """unittest calls it for the whole module. A single class or test named on the command line runs as usual."""
    return BesideSuite([tests])


if __name__ == "__main__":
    _found = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(BesideSuite([_found])).wasSuccessful())
