"""The container image and the compose file: built, run by file, by environment and by arguments, checked, loaded, stopped.

Runs without an engine's daemon: buildah and podman with a storage of their own, so that the machine's is not touched. They use
the host's network, except the compose file, which makes its own. debootstrap makes the base image under the name that the
Dockerfile asks for.
"""

import json
import os
import resource
import shutil
import tempfile
import unittest
from pathlib import Path

import machine

BASE = "docker.io/library/debian:bookworm-slim"
COMMIT = "0123456789ab"
COMPOSE = machine.REPOSITORY / "docker" / "compose.yaml"


def ulimits() -> list:
    """A container may not ask for more than its parent has; buildah itself lowers its processes to 32768."""
    wanted = {"nofile": (resource.RLIMIT_NOFILE, 1 << 20), "nproc": (resource.RLIMIT_NPROC, 1 << 15)}
    found = []
    for name, (which, most) in wanted.items():
        hard = resource.getrlimit(which)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(hard, most)
        found.append(f"{name}={limit}:{limit}")
    return found


@machine.needs(machine.long_only(), machine.root_only(),
               machine.missing("buildah", "podman", "podman-compose", "runc", "iptables", "debootstrap"))
class ContainerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        base = machine.debian_base()
        cls.folder = Path(tempfile.mkdtemp(prefix="containers.", dir=machine.CACHE))
        cls.addClassCleanup(cls.remove_storage)
        storage, settings = cls.folder / "storage.conf", cls.folder / "containers.conf"
        storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{cls.folder}/graph"\nrunroot = "{cls.folder}/run"\n')
        settings.write_text(f'[containers]\ndefault_ulimits = {json.dumps(ulimits())}\n'
                          '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
                          f'tmp_dir = "{cls.folder}/tmp"\n'
                          f'[network]\nnetwork_backend = "netavark"\nnetwork_config_dir = "{cls.folder}/networks"\n')
        cls.environment = os.environ | {"CONTAINERS_STORAGE_CONF": str(storage), "CONTAINERS_CONF": str(settings),
                                        "BUILDAH_ISOLATION": "chroot"}
        cls.engine("podman", "import", base, BASE)
        # Use this machine's compiler cache: a second build takes a minute in place of ten.
        cache = Path(os.environ.get("CCACHE_DIR", Path.home() / ".cache" / "ccache"))
        cache.mkdir(parents=True, exist_ok=True)
        cls.engine("buildah", "bud", "--format", "docker", "--network", "host", "--pull-never", "-t", "mxkv",
                   "--build-arg", f"MXKV_COMMIT={COMMIT}",
                   "--volume", f"{cache}:/root/.cache/ccache", "-f", "docker/Dockerfile", ".",
                   cwd=machine.REPOSITORY, timeout=3000)

    @classmethod
    def remove_storage(cls):
        cls.engine("podman", "rm", "--all", "--force", check=False)
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def engine(cls, *command, **options):
        return machine.run(*command, env=cls.environment, **options)

    def setUp(self):
        self.port = machine.free_port()

    def start(self, *arguments, command=()) -> str:
        """A container of the image on the host's network."""
        name = self.engine("podman", "run", "--detach", "--network", "host", *arguments, "mxkv", *command).stdout.strip()
        self.addCleanup(self.engine, "podman", "rm", "--force", name, check=False)
        return name

    def inspect(self, name: str, what: str) -> str:
        return self.engine("podman", "inspect", "--format", "{{" + what + "}}", name).stdout.strip()

    def wait(self, name: str) -> None:
        try:
            machine.wait_for_version(self.port, lambda: self.inspect(name, ".State.Running") == "true")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log(name)}") from None

    def log(self, name: str) -> str:
        found = self.engine("podman", "logs", name)
        return found.stdout + found.stderr

    def stop_in_order(self, name: str) -> None:
        """SIGTERM to the first process: it answers the requests that it has, and exits with 0, long before it would be killed."""
        self.engine("podman", "stop", "--time", "60", name)
        self.assertEqual(self.inspect(name, ".State.ExitCode"), "0", self.log(name))

    def test_options_from_the_environment(self):
        name = self.start("--env", f'MXKVD_LISTENERS=["127.0.0.1:{self.port}"]', "--env", "MXKVD_LIMITS__VALUE_BYTES=1KiB",
                          "--env", "MXKVD_PORT=tcp://10.0.0.1:11211", "--env", f"MXKV_HEALTH_PORT={self.port}",
                          "--cap-drop", "ALL", "--read-only")
        self.wait(name)
        machine.exercise(self, self.port)
        refused = machine.ask(self.port, b"set big 0 0 1025\r\n" + b"x" * 1025 + b"\r\n")
        self.assertTrue(refused.startswith(b"SERVER_ERROR"), refused)
        status = Path("/proc", self.inspect(name, ".State.Pid"), "status").read_text(encoding="utf-8")
        self.assertIn("Uid:\t411\t411\t411\t411\n", status)
        self.assertIn("CapEff:\t0000000000000000\n", status)
        self.engine("podman", "healthcheck", "run", name)
        self.stop_in_order(name)

    def test_options_from_a_file(self):
        file = self.folder / "mounted.yaml"
        file.write_text(f'listeners: ["127.0.0.1:{self.port}"]\nlimits: {{value_bytes: 1KiB}}\n', encoding="utf-8")
        name = self.start("--volume", f"{file}:/etc/mxkv/mxkv.yaml:ro")
        self.wait(name)
        machine.exercise(self, self.port)
        self.stop_in_order(name)

    def test_arguments_win_over_the_environment(self):
        name = self.start("--env", "MXKVD_LIMITS__CONNECTIONS=7", command=(
            "--listen", f"127.0.0.1:{self.port}", "--set", "limits.connections=9"))
        self.wait(name)
        self.assertIn(b"STAT max_connections 9\r\n", machine.ask(self.port, b"stats\r\n"))
        self.stop_in_order(name)

    def test_a_server_that_does_not_answer_is_unhealthy(self):
        name = self.start("--env", f"MXKV_HEALTH_PORT={machine.free_port()}", command=("--listen", f"127.0.0.1:{self.port}"))
        self.wait(name)
        self.assertNotEqual(self.engine("podman", "healthcheck", "run", name, check=False).returncode, 0)

    def test_a_wrong_option_ends_it_with_its_name(self):
        done = self.engine("podman", "run", "--rm", "--network", "host", "--env", "MXKVD_LIMITS__VALUE_BITES=1KiB", "mxkv",
                        check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("limits.value_bites", done.stderr)

    def test_another_command_runs_in_place_of_the_server(self):
        version = machine.run(machine.MXKVD, "--version").stdout.split()[1]
        told = self.engine("podman", "run", "--rm", "--network", "host", "mxkv", "mxkvd", "--version").stdout
        self.assertIn(version, told)
        self.assertIn(COMMIT, told)

    def test_compose_starts_the_server_and_loads_it(self):
        def compose(*arguments, **options):
            return machine.run("podman-compose", "-p", "mxkv-test", "-f", COMPOSE, *arguments, cwd=machine.REPOSITORY,
                               env=self.environment | {"MXKV_PORT": str(self.port), "RECORDS": "1000",
                                                       "MXKV_ADMIN_PORT": str(machine.free_port())}, **options)
        self.addCleanup(compose, "down", check=False)
        compose("up", "--detach", "--no-build", "mxkvd")
        name, = self.engine("podman", "ps", "--all", "--quiet").stdout.split()
        self.wait(name)
        self.engine("podman", "healthcheck", "run", name)
        self.assertEqual(json.loads(self.inspect(name, "json .State.Health.Log"))[-1]["Output"].strip(), "ready", "what /readyz says")
        loaded = compose("run", "--rm", "--no-deps", "load")
        self.assertIn("[INSERT], Operations, 1000", loaded.stdout)
        self.assertIn(b"STAT curr_items 1000\r\n", machine.ask(self.port, b"stats\r\n"))
        self.stop_in_order(name)
        self.engine("podman", "start", name)  # its items are in its volume
        self.wait(name)
        self.assertIn(b"STAT curr_items 1000\r\n", machine.ask(self.port, b"stats\r\n"))
        self.stop_in_order(name)

    def test_the_image_says_what_it_offers(self):
        image, = json.loads(self.engine("podman", "inspect", "mxkv").stdout)
        self.assertEqual(list(image["Config"]["ExposedPorts"]), ["11211/tcp"])
        self.assertEqual(image["Config"]["User"], "411:411")
        self.assertIn("healthcheck", " ".join(image["Healthcheck"]["Test"]))
        plain = self.engine("podman", "run", "--rm", "mxkv", "cat", "/etc/mxkv/mxkv.yaml").stdout
        before = machine.packaged_configuration()
        self.assertEqual(plain, before.replace('listeners: ["127.0.0.1:11211"]', 'listeners: ["0.0.0.0:11211"]'))
        self.assertEqual(list(image["Config"]["Volumes"]), ["/var/lib/mxkv"])


if __name__ == "__main__":
    machine.main()
