"""Packages from public registries, installed by each one's ordinary client and kept between runs.

A registry that cannot be reached skips the test, with one line that names it. A package that does not install for any
other reason fails the test. Each folder of packages belongs to one manifest: a changed manifest installs anew.
"""

import contextlib
import fcntl
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import machine

HERE = Path(__file__).resolve().parent
CACHE = machine.CACHE / "clients"
_MAVEN_DEPENDENCY_PLUGIN = "3.6.1"

# The messages of pip, npm, go and Maven for an unreachable registry. A registry that answers, even with an error, is reachable.
_UNREACHABLE = re.compile(
    r"(Failed to establish a new connection|ConnectTimeout|Read timed out|ProxyError|Temporary failure in name resolution|"
    r"Name or service not known|Network is unreachable|"
    r"\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b|"
    r"dial tcp|no such host|i/o timeout|TLS handshake timeout|"
    r"Unknown host|Connection refused|Connect(?:ion)? timed out|Connection reset|Could not transfer artifact|"
    r"\b50[234] (?:Bad Gateway|Service Unavailable|Gateway Time-?out))", re.IGNORECASE)


# The messages of go for a registry that answers but withholds a module, as a company's own may.
_WITHHELD = re.compile(r"\b(?:403 Forbidden|404 Not Found|410 Gone)\b")


def run_installer(registry: str, *command, may_withhold: bool = False, **options) -> str:
    """Runs an installer and returns its output. SkipTest if its registry cannot be reached, or withholds a module where that is
    allowed; AssertionError if it failed otherwise.
    """
    try:
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900, **options)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest(f"{registry} cannot be reached: no answer within 15 minutes") from None
    if done.returncode == 0:
        return done.stdout
    if found := _UNREACHABLE.search(done.stdout):
        raise unittest.SkipTest(f"{registry} cannot be reached: {found.group()}")
    if may_withhold and (found := _WITHHELD.search(done.stdout)):
        raise unittest.SkipTest(f"{registry} does not hand out {command[-1]}: {found.group()}")
    raise AssertionError(f"{command[0]} ended with {done.returncode}\n{done.stdout[-8000:]}")


@contextlib.contextmanager
def _alone(name: str):
    """Allows one installation of a kind at a time, among all test processes."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def installed(name: str, manifest: str, install) -> Path:
    """The folder that `install(folder)` filled for this manifest; made if it does not exist yet."""
    digest = hashlib.sha256(manifest.encode()).hexdigest()[:12]
    folder = CACHE / f"{name}-{digest}"
    with _alone(name):
        if not folder.exists():
            for old in CACHE.glob(f"{name}-*"):
                shutil.rmtree(old)
            unfinished = CACHE / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            install(unfinished)
            unfinished.rename(folder)
    return folder


def python_module(name: str, requirements: Path = HERE / "python" / "requirements.txt"):
    """A module of the packages that a list names, for this interpreter, from PyPI."""

    def install(folder: Path) -> None:
        run_installer("PyPI", sys.executable, "-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "60",
                      "--disable-pip-version-check", "--no-warn-script-location", "--target", folder, "-r", requirements)

    kind = "python" if requirements.parent.name == "python" else requirements.stem
    folder = installed(kind, sys.version + requirements.read_text(encoding="utf-8"), install)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def python_sources(name: str, requirements: Path = HERE / "python" / "requirements.txt") -> Path:
    """The unpacked source distribution of a package that a list names, with its own tests, from PyPI."""
    wanted = next(line for line in requirements.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}=="))

    def install(folder: Path) -> None:
        run_installer("PyPI", sys.executable, "-m", "pip", "download", "--quiet", "--retries", "1", "--timeout", "60",
                      "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:", "--dest", folder, wanted)
        for archive in list(folder.iterdir()):
            shutil.unpack_archive(archive, folder)
            archive.unlink()

    folder = installed(f"sources.{name}", sys.version + wanted, install)
    return next(folder.iterdir())


def javascript_folder(manifest: Path = HERE / "javascript" / "package.json", name: str = "javascript") -> Path:
    """A folder with the packages that a package.json names, from the npm registry."""

    def install(folder: Path) -> None:
        shutil.copy(manifest, folder)
        run_installer("the npm registry", "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts",
                      "--fetch-retries=1", "--fetch-timeout=60000", cwd=folder)

    return installed(name, manifest.read_text(encoding="utf-8"), install)


def java_folder() -> Path:
    """A folder with the libraries that java/pom.xml names, from Maven Central."""
    project = HERE / "java" / "pom.xml"

    def install(folder: Path) -> None:
        run_installer("Maven Central", "mvn", "--batch-mode", "--quiet", "--file", project, f"-DoutputDirectory={folder}",
                      f"org.apache.maven.plugins:maven-dependency-plugin:{_MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies")

    return installed("java", project.read_text(encoding="utf-8"), install)


def rust_folder() -> Path:
    """A folder with the project of rust/ and the crates that it names, from crates.io, in cargo's own cache."""
    project = HERE / "rust"
    sources = [path for path in sorted(project.rglob("*")) if path.suffix in (".toml", ".rs")]

    def install(folder: Path) -> None:
        shutil.copytree(project, folder, dirs_exist_ok=True)
        run_installer("crates.io", "cargo", "fetch", "--quiet", cwd=folder)

    return installed("rust", "".join(path.read_text(encoding="utf-8") for path in sources), install)


def go_environment(**more: str) -> dict:
    """The environment for `go`: the installed toolchain, and modules exactly as in go.mod and go.sum."""
    return os.environ | {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"} | more


def go_download(folder: Path) -> None:
    """Downloads the modules of `folder`/go.mod from the module proxy to go's own cache."""
    with _alone("go"):
        run_installer("the Go module proxy", "go", "mod", "download", cwd=folder, env=go_environment())


def go_program(package: str, version: str) -> Path:
    """A program of another project's Go module, built here."""
    name = package.rpartition("/")[2]

    def install(folder: Path) -> None:
        run_installer("the Go module proxy", "go", "install", f"{package}@{version}", may_withhold=True,
                      env=go_environment(GOBIN=str(folder), GOFLAGS="-buildvcs=false"))

    return installed(name, f"{package}@{version}", install) / name
