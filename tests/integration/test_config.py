"""The commands of mxkvd that print and exit, and the daemon's messages when it starts."""

import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import Connection, Options, Server, campaign, environment, mxkv_only, patience
from harness.beside import load_tests  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
RING = ROOT / "tests/unit/topology/ring_of_four_nodes.xml"
TWO_NODES = "Package:2 [NUMANode(memory=64GiB)] L3Cache:1 Core:8 PU:2"


def run(*arguments, **options) -> subprocess.CompletedProcess:
    return subprocess.run([environment.MXKVD, *arguments], capture_output=True, text=True, timeout=patience(60),
                          check=False, stdin=subprocess.DEVNULL, **options)


class ConfigCase(unittest.TestCase):
    def file(self, text: str) -> str:
        file = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
        self.addCleanup(os.unlink, file.name)
        with file:
            file.write(text)
        return file.name

    def folder(self) -> str:
        """An empty folder, which the end of the test removes."""
        folder = tempfile.TemporaryDirectory(prefix="mxkv-config-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def told(self, *arguments, **options) -> str:
        done = run(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def refused(self, *arguments, **options) -> list:
        done = run(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr.splitlines()

    def served(self, use, *arguments) -> str:
        """Starts a server with these arguments alone, lets `use` be its client, and returns its log."""
        with subprocess.Popen([environment.MXKVD, *arguments, "--listen", "127.0.0.1:0"],
                              stderr=subprocess.PIPE, text=True) as process:
            log, port = "", None
            for line in process.stderr:
                log += line
                if port := re.search(r"listening on \S+:(\d+)", line):
                    break
            self.assertIsNotNone(port, log)
            client = Connection(int(port[1]))
            use(client)
            client.close()
            process.terminate()
            log += process.stderr.read()
        self.assertEqual(process.returncode, 0, log)
        return log


@mxkv_only("its commands")
class TopologyTest(ConfigCase):
    ALONE = True  # preexec_fn

    def test_the_table_names_nodes_and_cpus(self):
        table = self.told("topology")
        self.assertRegex(table, r"^\d+ NUMA nodes?, .* \d+ CPUs?, ")
        self.assertRegex(table, r"(?m)^node +memory +cores +CPUs +CPUs by shared cache$")

    def test_json_tells_the_cpus_that_the_process_may_use(self):
        machine = json.loads(self.told("topology", "--json"))
        self.assertEqual({cpu["cpu"] for cpu in machine["cpus"]}, os.sched_getaffinity(0))
        self.assertEqual(len(machine["distances"]), len(machine["nodes"]))
        self.assertGreater(machine["memory_bytes"], 0)

    def test_an_inherited_mask_is_respected(self):
        cpu = max(os.sched_getaffinity(0))
        narrow = {"preexec_fn": lambda: os.sched_setaffinity(0, {cpu})}
        machine = json.loads(self.told("topology", "--json", **narrow))
        self.assertEqual([unit["cpu"] for unit in machine["cpus"]], [cpu])
        self.assertRegex(self.told("print-config", "--effective", **narrow), rf"(?m)^cpus: {cpu} +# detected$")

    def test_the_file_for_this_machine_is_right_and_starts(self):
        file = self.file(self.told("topology", "--yaml"))
        self.assertIn(f"{file}: fits this machine, topology this-machine\n", self.told("check", file))
        log = self.served(lambda client: self.assertEqual(client.set(b"k", b"v"), b"STORED"),
                          "--config", file, "--memory", "64MiB")
        self.assertIn(f"topology this-machine fits (set by {file}:4:3)", log)
        self.assertIn("memory: limit 64MiB (set by --memory); when it is full", log)

    def test_other_machines_by_xml_and_by_description(self):
        ring = json.loads(self.told("topology", "--json", "--topology", str(RING)))
        self.assertEqual(len(ring["nodes"]), 4)
        self.assertNotEqual(ring["distances"][0][1], ring["distances"][0][2], "a ring has near and far nodes")
        self.assertTrue(self.told("topology", "--topology", TWO_NODES).startswith("2 NUMA nodes, "))
        for name in (f"{self.folder()}/none.xml", "Nonsense:2"):
            self.assertEqual(len(self.refused("topology", "--topology", name)), 1)


@mxkv_only("its commands")
class CheckTest(ConfigCase):
    def test_each_file_for_each_machine_is_right_there(self):
        for topology in (TWO_NODES, str(RING)):
            file = self.file(self.told("topology", "--yaml", "--topology", topology))
            self.assertIn("topology this-machine", self.told("check", file, "--topology", topology))

    def test_an_example_says_where_workers_and_memory_go(self):
        file = ROOT / "config/examples/two-nodes.yaml"
        self.assertEqual(self.told("check", str(file), "--topology", TWO_NODES),
                         f"{file}: fits {TWO_NODES}, topology two-sockets\n"
                         "  node 0: 14 workers on CPUs 2-15, 44.7GiB of memory\n"
                         "  node 1: 16 workers on CPUs 16-31, 51.1GiB of memory\n"
                         "  memory: limit 95.9GiB\n")

    def test_a_file_for_another_machine_says_why(self):
        file = str(ROOT / "config/examples/two-nodes.yaml")
        errors = self.refused("check", file, "--topology", str(RING))
        self.assertEqual(len(errors), 1)
        self.assertRegex(errors[0], rf"^{file}:11:3: topologies: none fits this machine, which has nodes: 4, .*"
                                    r"two-nodes wants nodes: 2\)$")

    def test_watches_that_want_more_than_their_part_of_the_memory_are_told(self):
        rest = "watch: {ring: 1TiB, memory: 16MiB}\n"
        done = run("check", self.file("memory: {limit: 64MiB}\n" + rest))
        for name, figure in (("ring", "1TiB"), ("memory", "16MiB")):
            self.assertRegex(done.stderr,
                             rf"watch\.{name}: {figure} is more than 1/8 of memory\.limit, which is 64MiB: 8MiB are used")
        done = run("check", self.file("memory: {limit: 64MiB}\n"))
        self.assertEqual(done.stderr, "")

    def test_all_that_is_wrong_is_told_in_order(self):
        file = self.file("wrokers: 2\nnodes:\n  - {node: 0, cpus: \"0-4000\"}\n  - {node: 77}\n"
                         "limits:\n  pipeline: 0\n  pipeline: 2\n")
        errors = self.refused("check", file)
        self.assertEqual([error.removeprefix(file).split(": ")[0] for error in errors],
                         [":1:1", ":3:21", ":4:12", ":6:13", ":7:3"])
        self.assertIn("did you mean workers?", errors[0])
        # The daemon prints the same, and starts nothing.
        self.assertEqual(self.refused("--config", file), [f"mxkvd: {error}" for error in errors])

    def test_doubts_about_folders_and_workers_are_warnings(self):
        workers = len(os.sched_getaffinity(0)) + 3
        file = self.file(f"workers: {workers}\nserver: {{pid_file: /nosuch/x}}\ndurability: {{directory: /nosuch/d/e}}\n")
        done = run("check", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{file}:3:25: warning: durability.directory: the folder /nosuch/d does not exist", done.stderr)
        self.assertIn(f"{file}:2:20: warning: server.pid_file: the folder /nosuch does not exist", done.stderr)
        self.assertRegex(done.stderr, rf"{file}:1:10: warning: workers: {workers} workers share \d+ CPUs?: ")

    def test_unknown_flags_are_answered(self):
        self.assertEqual(self.refused("--memroy", "1GiB"), ["mxkvd: there is no option --memroy, did you mean --memory?"])
        self.assertEqual(self.refused("-p", "11211", "-m", "64"),
                         ["mxkvd: -p: memcached's flag; here --listen ADDRESS:PORT, such as --listen 127.0.0.1:11211; "
                          "-m: memcached's flag; here --memory SIZE with a unit, such as --memory 64MiB"])

    def test_a_file_of_many_unknown_keys_is_refused_while_one_waits(self):
        count = campaign(300_000)
        file = self.file("".join(f"key{number}: 1\n" for number in range(count)))
        errors = self.refused("check", file)
        self.assertEqual(len(errors), 51)
        self.assertEqual(errors[-1], f"and {count - 50} more")

    def test_an_unknown_key_says_nothing_to_the_terminal(self):
        errors = self.refused("check", self.file("\"\\e[31mred\": 1\n"))
        self.assertIn(": \\x1b[31mred: an unknown key", errors[0])

    def test_a_file_of_users_that_is_not_there_is_named_with_its_place(self):
        users = f"{self.folder()}/users"
        file = self.file(f"server:\n  auth_file: {users}\n")
        error = f"{file}:2:14: server.auth_file: {users}: cannot be read: No such file or directory"
        self.assertEqual(self.refused("check", file), [error])
        self.assertIn("fits", self.told("check", file, "--topology", TWO_NODES), "another machine has files of its own")
        self.assertEqual(self.refused("--config", file), [f"mxkvd: {error}"])
        folder = self.folder()
        self.assertEqual(self.refused("--set", f"server.auth_file={folder}"),
                         [f"mxkvd: --set server.auth_file: {folder}: cannot be read: Is a directory"])

    def test_a_folder_of_the_log_that_is_not_there_is_named_with_its_place_and_not_made(self):
        folder = f"{self.folder()}/none"
        file = self.file(f"log:\n  file: {folder}/mxkv.log\n")
        error = f"{file}:2:9: log.file: the folder {folder} does not exist (allowed: a file in a folder that exists)"
        self.assertEqual(self.refused("check", file), [error])
        self.assertIn("fits", self.told("check", file, "--topology", TWO_NODES), "another machine has folders of its own")
        for arguments in ((), ("--daemonize",), ("--set", "log.rotate_bytes=1MiB")):
            self.assertEqual(self.refused("--config", file, "--listen", "127.0.0.1:0", *arguments), [f"mxkvd: {error}"])
        self.assertFalse(os.path.exists(folder))

    def test_more_memory_than_there_is_is_a_warning_with_its_place(self):
        file = self.file("memory:\n  limit: 64TiB\n")
        done = run("check", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rf"^{file}:2:10: warning: memory.limit: 64TiB is more than the .* of this machine: .*\n$")

    def test_one_address_for_two_listeners_is_refused(self):
        file = self.file("listeners: [\"127.0.0.1:7\", \"127.0.0.1:7\"]\n")
        refusal = f"{file}:1:28: listeners[1]: 127.0.0.1:7 is taken already (by listeners[0], 127.0.0.1:7)"
        self.assertEqual(self.refused("check", file), [refusal])
        self.assertEqual(self.refused("--config", file), [f"mxkvd: {refusal}"])

    def test_a_file_that_is_not_there(self):
        file = f"{self.folder()}/none.yaml"
        self.assertEqual(self.refused("check", file), [f"{file}: cannot be read: No such file or directory"])
        self.assertEqual(len(self.refused("check")), 1, "the file is required")


@mxkv_only("its commands")
class PrintConfigTest(ConfigCase):
    def test_each_value_says_who_set_it(self):
        file = self.file("limits:\n  pipeline: 5\n  scan_items: 6\n")
        text = self.told("print-config", "--config", file, "--set", "limits.scan_items=7", "--workers", "1")
        self.assertRegex(text, rf"(?m)^  pipeline: 5 +# {file}:2:13$")
        self.assertRegex(text, r"(?m)^  scan_items: 7 +# --set limits\.scan_items$")
        self.assertRegex(text, r"(?m)^workers: 1 +# --workers$")
        self.assertRegex(text, r"(?m)^  scan_bytes: 1MiB +# default$")

    def test_what_is_printed_is_a_file(self):
        for how in ([], ["--defaults"], ["--effective"]):
            with self.subTest(how):
                text = self.told("print-config", *how, *([] if how == ["--defaults"] else ["--workers", "1"]))
                again = self.told("print-config", "--config", self.file(text))
                strip = lambda lines: [line.split("#")[0].rstrip() for line in lines.splitlines()]
                self.assertEqual(strip(again), strip(text))

    def test_effective_says_what_was_found_out(self):
        text = self.told("print-config", "--effective", "--memory", "64MiB")
        self.assertRegex(text, rf"(?m)^workers: {len(os.sched_getaffinity(0))} +# detected$")
        self.assertRegex(text, r"(?m)^  limit: 64MiB +# --memory$")

    def test_wrong_flags_are_refused_as_by_the_daemon(self):
        self.assertEqual(self.refused("print-config", "--workers", "0", "--memory", "x"), [
            'mxkvd: --workers: "0" is out of range (allowed: 1 to 1024, or auto)',
            'mxkvd: --memory: "x" is not an amount of memory (allowed: a size such as 512MiB or 8GiB, a part such as '
            '75%, or auto)'])
        self.assertEqual(len(self.refused("print-config", "--effective", "--defaults")), 1)


@mxkv_only("its switches")
class ExperimentalTest(ConfigCase):
    WARNING = "experimental.prefetch.distance: has no effect: experimental.prefetch.mode is not "

    def test_a_switch_without_effect_is_a_warning_of_check_and_print_config_and_at_start(self):
        file = self.file("workers: 2\nexperimental:\n  prefetch: {distance: 7}\n")
        for command in (("check", file), ("print-config", "--config", file), ("print-config", "--effective", "--config", file)):
            with self.subTest(command):
                done = run(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, rf"^{file}:3:24: warning: {self.WARNING}.*\n$")
        self.assertIn(f"{file}:3:24: {self.WARNING}", self.served(lambda client: None, "--config", file))

    def test_with_the_others_that_it_needs_it_is_none(self):
        file = self.file("workers: 2\nexperimental:\n  prefetch: {distance: 7, mode: distance}\n")
        self.told("check", file)
        self.told("print-config", "--config", file)
        self.assertNotIn("has no effect", self.served(lambda client: None, "--config", file))

    def test_a_former_place_is_an_error_of_every_command_that_names_the_new_one(self):
        file = self.file("workers: 2\nprefetch:\n  distance: 4\n")
        error = f"{file}:3:3: prefetch.distance: is now experimental.prefetch.distance"
        self.assertEqual(self.refused("check", file), [error])
        self.assertEqual(self.refused("--config", file), ["mxkvd: " + error])
        self.assertEqual(self.refused("print-config", "--set", "order=nls"),
                         ["mxkvd: --set order: is now experimental.order"])

    def test_a_removed_switch_is_an_error_of_every_command_that_says_what_to_do(self):
        file = self.file("workers: 2\nexperimental:\n  epoch: {interval: 9ms, mode: task}\n")
        error = (f"{file}:3:26: experimental.epoch.mode: was removed: a worker always publishes its epoch once for many tasks "
                 "(delete the key)")
        self.assertEqual(self.refused("check", file), [error])
        self.assertEqual(self.refused("--config", file), ["mxkvd: " + error])
        self.assertEqual(self.refused("print-config", "--set", "experimental.epoch.mode=task"), [
            "mxkvd: --set experimental.epoch.mode: was removed: a worker always publishes its epoch once for many tasks "
            "(delete the key)"])

    def test_print_config_shows_the_section_and_takes_what_it_shows(self):
        shown = self.told("print-config", "--set", "experimental.epoch.bytes=3MiB")
        self.assertRegex(shown, r"(?m)^experimental:\n  order: las +# default\n")
        self.assertRegex(shown, r"(?m)^  epoch:\n    interval: 50ms +# default\n    bytes: 3MiB +# --set experimental.epoch.bytes$")
        self.assertIn("\n    bytes: 3MiB ", self.told("print-config", "--config", self.file(shown)))


@mxkv_only("its log")
class NodeOptionsTest(ConfigCase):
    def test_a_server_with_options_of_its_node_serves(self):
        """Prefetching and a share of memory of the node that every machine has."""
        file = self.file("nodes:\n  - node: 0\n    workers: 2\n    memory: 64MiB\n    experimental:\n"
                         "      prefetch: {mode: distance, distance: 3, window: 5}\n")

        def use(client):
            for number in range(2000):
                self.assertEqual(client.set(b"key%04d" % number, b"v" * 100), b"STORED")
            self.assertEqual(client.get(b"key1999"), b"v" * 100)
            self.assertEqual(int(client.stats()["limit_maxbytes"]), 64 << 20)
            stats = client.stats(b"runtime")
            self.assertEqual((stats["worker:1:prefetch"], stats["worker:1:prefetch_in_force"]), ("distance", "3"))
        log = self.served(use, "--config", file)
        self.assertRegex(log, r"node 0: 2 workers .*, 64MiB of memory")

    def test_a_nodes_workers_may_tune_their_prefetching(self):
        file = self.file("experimental: {prefetch: {mode: off}}\n"
                         "nodes:\n  - {node: 0, workers: 1, experimental: {prefetch: {mode: auto}}}\n")

        def use(client):
            self.assertEqual(client.stats(b"runtime")["worker:0:prefetch"], "auto")
        self.served(use, "--config", file)

    def test_flags_put_the_files_placement_aside(self):
        file = self.file("nodes:\n  - {node: 55, memory: 64MiB}\n")
        server = Server(Options(workers=1, memory_mib=64, extra=("--config", file))).start()
        self.addCleanup(server.kill)
        self.assertIn("workers: 1; workers set by --workers", server.log())
        server.stop()


if __name__ == "__main__":
    unittest.main()
