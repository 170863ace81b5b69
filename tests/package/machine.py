"""The machine that these tests need: programs, rights, a bare Debian. A missing need is reported in one line.

MXKVD           path of the daemon
MXKV_BUILD      the build tree that the package is made from
MXKV_CPACK      path of cpack
MXKV_CACHE      where downloaded parts are kept between runs (default: build/machines in the repository)
MXKV_TEST_LONG  "1": also what takes minutes and the network
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LONG = os.environ.get("MXKV_TEST_LONG", "") == "1"
MXKVD = os.environ.get("MXKVD", "mxkvd")
BUILD = Path(os.environ.get("MXKV_BUILD", REPOSITORY / "build" / "dev"))
CPACK = os.environ.get("MXKV_CPACK", "cpack")
CACHE = Path(os.environ.get("MXKV_CACHE", REPOSITORY / "build" / "machines"))
SKIPPED = 77


def missing(*programs: str) -> str:
    """Why a test that needs these programs cannot run; empty if it can."""
    absent = [program for program in programs if shutil.which(program) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def long_only() -> str:
    return "" if LONG else "takes minutes and the network: set MXKV_TEST_LONG=1 (tests/run --long)"


def root_only() -> str:
    return "" if os.geteuid() == 0 else "needs root"


def needs(*reasons: str):
    """Skips a test, or a class of them, for the first reason that is not empty."""
    reason = next((reason for reason in reasons if reason), "")
    return unittest.skipIf(reason, reason)


def run(*command, check=True, **options) -> subprocess.CompletedProcess:
    """Runs a command to its end; a failure shows its whole output. Returns standard output as text."""
    done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}")
    return done


def fetch(*command, **options) -> None:
    """Runs a command that fetches packages. Skips the test if debootstrap or apt-get reports that it cannot fetch them."""
    try:
        run(*command, **options)
    except AssertionError as error:
        found = re.search(r"^E: (?:Failed getting release file|Couldn't download|Failed to fetch|The repository .* does not have).*",
                          str(error), re.MULTILINE)
        if found:
            raise unittest.SkipTest(f"packages cannot be had: {found[0]}") from error
        raise


def packaged_configuration() -> str:
    """The configuration that the package installs: every default, except that items outlive the process."""
    text = (REPOSITORY / "config" / "mxkv.yaml").read_text(encoding="utf-8")
    return (text.replace("every key with its default.", "every key with its default, but durability.directory and sync.", 1)
            .replace("\n  directory: none\n", "\n  directory: /var/lib/mxkv\n")
            .replace("\n  sync: commit\n", "\n  sync: never\n"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_version(port: int, alive, seconds: float = 60) -> None:
    """Waits until the server answers `version`; fails at once if `alive()` is false."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not alive():
            raise AssertionError("the server ended before it answered")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(b"version\r\n")
                if connection.recv(64).startswith(b"VERSION "):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"no answer to `version` on port {port} in {seconds} s")


def ask(port: int, request: bytes) -> bytes:
    """The server's whole answer; a `quit` behind the request makes it close."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request + b"quit\r\n")
        replies = b""
        while data := connection.recv(4096):
            replies += data
    return replies


def exercise(test: unittest.TestCase, port: int) -> None:
    """One client stores, reads and scans, whatever other items there are."""
    replies = ask(port, b"set b 0 0 1\r\nB\r\nset a 0 0 1\r\nA\r\nget b\r\nscan a [b 10\r\n")
    test.assertEqual(replies, b"STORED\r\nSTORED\r\nVALUE b 0 1\r\nB\r\nEND\r\n"
                              b"VALUE a 0 1\r\nA\r\nVALUE b 0 1\r\nB\r\nEND\r\n")


def debian_base(suite: str = "bookworm") -> Path:
    """An archive of a minimal Debian, by default 12, made by debootstrap once and kept."""
    archive = CACHE / ("debian-base.tar" if suite == "bookworm" else f"debian-base-{suite}.tar")
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        folder, unfinished = CACHE / f"debian-base.{os.getpid()}", CACHE / f"debian-base.{os.getpid()}.tar"
        try:
            fetch("debootstrap", "--variant=minbase", suite, folder, timeout=900)
            # As in Debian's own images: a temporary tree need not survive a power cut.
            (folder / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n", encoding="utf-8")
            run("tar", "-C", folder, "--exclude=./var/cache/apt/archives/*.deb", "-cf", unfinished, ".")
            unfinished.rename(archive)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            unfinished.unlink(missing_ok=True)
    return archive


def main() -> None:
    """Runs the calling file's tests; exit code 77 when every one of them was skipped."""
    program = unittest.main(module="__main__", exit=False)
    result = program.result
    for reason in sorted({reason for _, reason in result.skipped}):
        print(f"SKIPPED: {reason}", flush=True)
    # The tests of a class that setUpClass() skips do not count as run.
    skipped_tests = sum(isinstance(test, unittest.TestCase) for test, _ in result.skipped)
    if result.wasSuccessful() and result.testsRun == skipped_tests:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)
