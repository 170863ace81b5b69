"""A minimal Debian in a folder: commands run in it, packages are installed, the packaged daemon serves from there."""

import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import machine

# apt-get asks no questions, and retries failed downloads.
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3"


def unpack(root: Path, suite: str = "bookworm") -> Path:
    """A tree of that Debian release, with the host names of this machine."""
    root.mkdir()
    machine.run("tar", "-C", root, "-xpf", machine.debian_base(suite))
    for name in ("etc/resolv.conf", "etc/hosts"):
        shutil.copy(Path("/", name), root / name)
    return root


def entry(root: Path, command: str, *mounts: tuple[Path, str]) -> list:
    """Runs a shell command in the tree. /proc and /sys, and folders of this machine at places of the tree, are mounted in a
    namespace that ends with the command.
    """
    steps = [f'mount --rbind /{name} "$0/{name}"' for name in ("proc", "sys", "dev")]
    steps += [f'mkdir -p "$0{place}" && mount --bind "{folder}" "$0{place}"' for folder, place in mounts]
    return ["unshare", "--mount", "sh", "-c", f'{" && ".join(steps)} && exec chroot "$0" sh -c "$1"', str(root), command]


def inside(root: Path, command: str, *mounts: tuple[Path, str], **options) -> str:
    return machine.run(*entry(root, command, *mounts), **options).stdout


def install(root: Path, *packages: str) -> None:
    machine.fetch(*entry(root, f"{APT} -o APT::Update::Error-Mode=any update && "
                               f"{APT} install -y --no-install-recommends {' '.join(packages)}"), timeout=1800)


def copy_sources(root: Path) -> None:
    """Copies this work tree's files, tracked ones and new ones that are not ignored, to /source of the tree."""
    listed = machine.run("git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard",
                         cwd=machine.REPOSITORY).stdout.splitlines()
    for name in listed:
        if (machine.REPOSITORY / name).exists():
            (root / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(machine.REPOSITORY / name, root / "source" / name, follow_symlinks=False)


def compilers_cache(kind: str) -> tuple[Path, str]:
    """A compilers' cache of its own for each kind of build, kept between runs, and its place in a tree."""
    folder = machine.CACHE / f"ccache-{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder, "/root/.cache/ccache"


def serve(test: unittest.TestCase, root: Path, items: int) -> None:
    """Runs the unit's command line as the unit's user, with another port, and the load client beside it. `items` items must
    exist from before.
    """
    unit = (root / "lib/systemd/system/mxkvd.service").read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1)
    port = machine.free_port()
    log = root / "tmp" / "log"
    with log.open("w") as output:
        daemon = subprocess.Popen(
            entry(root, f"exec setpriv --reuid mxkv --regid mxkv --clear-groups --no-new-privs "
                        f"{command} --listen 127.0.0.1:{port} --memory 256MiB"),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        machine.wait_for_version(port, lambda: daemon.poll() is None)
        test.assertIn(b"STAT curr_items %d\r\n" % items, machine.ask(port, b"stats\r\n"))
        machine.exercise(test, port)
        report = inside(root, f"mxkv-ycsb load --server 127.0.0.1:{port} --recordcount 1000")
        test.assertRegex(report, r"\[INSERT\], Return=OK, 1000|\[INSERT\], Operations, 1000")
        status = Path(f"/proc/{daemon.pid}/status").read_text(encoding="utf-8")
        test.assertNotIn("Uid:\t0", status)
        daemon.send_signal(signal.SIGTERM)
        test.assertEqual(daemon.wait(60), 0, log.read_text())
    finally:
        daemon.kill()
        daemon.wait()
