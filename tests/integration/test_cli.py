"""mxkv-cli, one command by its arguments: every command, its exit code, its text and its JSON."""

import re
import signal
import socket
import subprocess
import threading

from cli_case import CliCase
from harness import Options, environment
from harness.environment import patience, scaled

_BINARY = "\\x00\\xff key"  # in the form that --escaped takes


class CliItemsTest(CliCase):
    def test_set_get_and_delete(self):
        self.assertEqual(self.out("set", "a", "one"), "stored\n")
        self.assertEqual(self.out("get", "a"), "one\n")
        self.assertEqual(self.out("set", "b", "-", stdin=b"two\nlines"), "stored\n")
        self.assertEqual(self.out("get", "a", "b"), 'a one\nb "two\\nlines"\n')
        self.assertEqual(self.out("get", "nobody", code=1), "(not found)\n")
        self.assertEqual(self.out("get", "a", "nobody", code=1), "a one\nnobody (not found)\n")
        self.assertEqual(self.out("get", "none", "nobody", code=1), "none (not found)\nnobody (not found)\n")
        self.assertEqual(self.out("GET", "a"), "one\n", "in any case")
        self.assertEqual(self.out("delete", "a", "nobody", code=1), "deleted\n(not found)\n")
        self.assertIsNone(self.client.get(b"a"))

    def test_conditions_of_a_store(self):
        self.assertEqual(self.out("set", "k", "1", "--mode", "replace", code=1), "(not stored)\n")
        self.assertEqual(self.out("set", "k", "1", "--mode", "add", "--flags", "7", "--ttl", "100"), "stored\n")
        self.assertEqual(self.out("set", "k", "2", "--mode", "add", code=1), "(not stored)\n")
        self.assertEqual(self.out("set", "k", "2", "--mode", "append"), "stored\n")
        item = self.documents("get", "k")[0]
        self.assertEqual((item["value"], item["flags"]), ("12", 7))
        self.assertIn(item["ttl"], range(90, 101))
        self.assertEqual(self.out("set", "k", "x", "--cas", "1", code=1), "(another unique)\n")
        self.assertEqual(self.out("set", "k", "x", "--cas", str(item["cas"])), "stored\n")

    def test_counters_and_times(self):
        self.assertEqual(self.out("incr", "n", code=1), "(not found)\n")
        self.assertEqual(self.out("incr", "n", "--initial", "10"), "10\n")
        self.assertEqual(self.out("incr", "n", "5"), "15\n")
        self.assertEqual(self.out("decr", "n", "100"), "0\n")
        self.assertEqual(self.documents("incr", "n")[0]["value"], 1)
        self.assertEqual(self.out("touch", "n", "--ttl", "60"), "touched\n")
        self.assertEqual(self.out("touch", "nobody", "--ttl", "60", code=1), "(not found)\n")
        self.assertIn(self.documents("get", "n")[0]["ttl"], range(50, 61))
        info = self.documents("info", "n")[0]
        self.assertEqual((info["key"], info["fetch"]), ("n", "yes"))
        self.cli("info", "nobody", code=1)

    def test_keys_and_values_of_any_bytes(self):
        self.assertEqual(self.out("--escaped", "set", _BINARY, "\\x00\\xfe"), "stored\n")
        self.assertEqual(self.cli("--escaped", "get", _BINARY).stdout, b"\x00\xfe\n")
        self.assertEqual(self.out("scan", "--values"), '"\\0\\xff key" "\\0\\xfe"\n')
        document = self.documents("scan", "--values")[0]
        self.assertEqual((document["key"], document["value"]), ({"b64": "AP8ga2V5"}, {"b64": "AP4="}))
        self.assertEqual(self.documents("--escaped", "get", _BINARY, "none", code=1)[1], {"key": "none", "value": None})
        self.assertEqual(self.out("--escaped", "delete", _BINARY), "deleted\n")

    def test_words_in_brackets_are_single_words(self):
        names = ["[x,y]", "[]", "[[a],[b]]", "++", "%%", "{}"]
        for name in [*names, "x", "y", "a", "b"]:
            self.assertEqual(self.out("set", name, f"of {name}"), "stored\n")
        self.assertEqual(self.out("get", "[x,y]"), "of [x,y]\n")
        self.assertEqual(self.out("get", *names), "".join(f'{name} "of {name}"\n' for name in names))
        self.assertEqual(self.out("touch", "--ttl", "0", *names), "touched\n" * len(names))
        self.assertEqual(self.out("raw", "mg [x,y] s"), "HD s8\n")
        self.assertEqual(self.out("delete", *names), "deleted\n" * len(names))
        self.assertEqual(self.out(stdin=b"set '[x,y]' script\nget [x,y]\ndelete [x,y] ++\n"), "stored\nscript\ndeleted\n(not found)\n")
        self.assertEqual([self.client.get(key) for key in (b"x", b"y", b"a", b"b")], [b"of x", b"of y", b"of a", b"of b"])
        self.assertIsNone(self.client.get(b"[x,y]"))

    def test_times_to_live_have_units(self):
        for text, least, most in (("90", 80, 90), ("90s", 80, 90), ("2min", 110, 120), ("1h", 3590, 3600), ("2d", 172790, 172800)):
            self.assertEqual(self.out("set", "k", "v", "--ttl", text), "stored\n")
            self.assertIn(self.documents("get", "k")[0]["ttl"], range(least, most + 1), text)
        self.assertEqual(self.out("touch", "k", "--ttl", "1h"), "touched\n")
        self.assertEqual(self.out("touch-prefix", "k", "--ttl", "0"), "touched 1 items\n")
        self.assertEqual(self.documents("get", "k")[0]["ttl"], -1)
        self.assertIn(b"'1y' is no time: write seconds, or 90s, 10min, 1h, 7d", self.cli("set", "k", "v", "--ttl", "1y", code=2).stderr)

    def test_a_reader_that_has_seen_enough_ends_it_silently(self):
        self.client.send(b"".join(b"set key%06d 0 0 1 noreply\r\nv\r\n" % number for number in range(50_000)))
        self.assertEqual(self.client.ask(b"mn"), b"MN")
        for command in ("scan", "export"):
            done = subprocess.run(["bash", "-c", '"$0" "$@" | head -2; echo "${PIPESTATUS[0]}"', environment.MXKV_CLI, "--server",
                                   f"127.0.0.1:{self.server.port}", command], capture_output=True, timeout=patience(60), check=False,
                                  env=self.variables(), restore_signals=True)
            self.assertEqual(done.stdout.splitlines()[-1], str(128 + signal.SIGPIPE).encode(), done)
            self.assertEqual(done.stderr, b"")

    def test_an_empty_value_takes_no_other_word(self):
        self.cli("set", "k", "v")
        self.assertIn(b"a key must have 1 to 250 bytes, not 0", self.cli("scan", "--from=", "--to", "z", code=2).stderr)
        self.assertEqual(self.out("scan", "--to=z"), "k\n")

    def test_a_list_is_an_options_value(self):
        done = self.cli("config", "set", "listeners", '["127.0.0.1:1", "127.0.0.1:2"]', code=4)
        self.assertIn(b"listeners: cannot change while the daemon runs", done.stderr)

    def test_a_port_is_a_number_up_to_65535(self):
        for port in (str(self.server.port + 65536), "0", "-1", "http", "99999999999"):
            self.assertIn(b"the port must be a number from 1 to 65535",
                          self.cli("get", "k", code=2, where=f"127.0.0.1:{port}").stderr, port)

    def test_batches_happen_as_a_whole(self):
        lines = b"set a 1\n# a comment\n\nincr a 4\nget a\nadd b 'x y' 60\ndelete nobody\n"
        self.assertEqual(self.out("batch", "-", stdin=lines),
                         "set a: done\nincr a: 5\nget a: 5\nadd b: done\ndelete nobody: (not found)\n")
        failed = self.cli("batch", "-", stdin=b"set a 9\n\nadd b z\n", code=1)
        self.assertIn(b"-:3: the batch changed nothing: NS", failed.stderr)
        self.assertEqual(self.client.get(b"a"), b"5")
        self.assertIn(b"-:2: ", self.cli("batch", "-", stdin=b"get a\nflush_all now\n", code=6).stderr)

    def test_raw_lines_show_what_comes(self):
        self.assertEqual(self.out("raw", "ms k 3 c", "a\rb"), self.out("raw", "mg k c"))
        self.assertEqual(self.cli("raw", "get k").stdout, b"VALUE k 0 3\na\rb\nEND\n")
        self.assertEqual(self.out("raw", "nonsense", code=4), "ERROR\n")


class CliRangesTest(CliCase):
    def fill(self, count: int, prefix: str = "user:") -> None:
        self.client.send(b"".join(b"set %s%06d 0 0 2 noreply\r\nvv\r\n" % (prefix.encode(), number)
                                  for number in range(count)))
        self.assertEqual(self.client.ask(b"mn"), b"MN")

    def test_scans_follow_pages_by_themselves(self):
        self.fill(5000)
        keys = self.out("scan").splitlines()
        self.assertEqual(keys, [f"user:{number:06}" for number in range(5000)])
        self.assertEqual(self.out("scan", "user:00", "--reverse").splitlines(), keys[::-1])
        self.assertEqual(self.out("scan", "user:", "--limit", "1500").splitlines(), keys[:1500])
        self.assertEqual(self.out("scan", "--from", "user:000010", "--to", "user:000012"), "user:000010\nuser:000011\n")
        self.assertEqual(self.out("scan", "--from", "user:000010", "--to", "user:000012", "--reverse"),
                         "user:000011\nuser:000010\n")
        self.assertEqual(self.out("scan", "--values", "--limit", "1"), "user:000000 vv\n")

    def test_empty_ranges_are_empty(self):
        self.assertEqual(self.out("scan"), "")
        self.assertEqual(self.out("scan", "nobody:"), "")
        self.assertEqual(self.out("scan", "--from", "b", "--to", "a"), "")
        self.assertEqual(self.out("count", "nobody:"), "0 items, 0B\n")
        self.assertEqual(self.out("tree"), "")
        self.assertEqual(self.out("delete-prefix", "nobody:"), "deleted 0 items\n")
        self.assertIn("of 0 items", self.out("big"))

    def test_a_scan_of_many_keys_beside_a_writer_misses_none(self):
        count = scaled(100_000)
        self.fill(count)
        stop = threading.Event()
        writer = self.connect()

        def write():
            number = 0
            while not stop.is_set():
                writer.send(b"set user:%06d 0 0 3 noreply\r\nnew\r\ndelete x%d noreply\r\nset z%d 0 0 1\r\nz\r\n"
                            % (number % count, number, number))
                writer.line()
                number += 1
        thread = threading.Thread(target=write)
        thread.start()
        try:
            keys = [key for key in self.out("scan", "user:").splitlines()]
        finally:
            stop.set()
            thread.join()
        self.assertEqual(keys, [f"user:{number:06}" for number in range(count)])

    def test_counts_trees_and_big_items(self):
        self.fill(10)
        self.fill(5, "user:a:")
        self.client.set(b"lone", b"x" * 5000)
        self.assertEqual(self.documents("count", "user:", "--exact"), [{"items": 15, "bytes": 205, "within_percent": 0}])
        self.assertEqual([(part["prefix"], part["depth"], part["items"]) for part in self.documents("tree", "--depth", "2")],
                         [("user:", 0, 15), ("user:a:", 1, 5), (None, 1, 10), (None, 0, 1)])
        self.assertIn("user:  15 items", self.out("tree"))
        self.assertEqual(self.documents("big", "--top", "1"), [{"key": "lone", "bytes": 5000}])
        self.assertIn("of 16 items", self.out("big", "--rate", "1000000"))

    def test_deletes_by_prefix_count_first(self):
        self.fill(2500)
        self.client.set(b"other", b"x")
        self.assertIn("would delete 2500 items that begin with user:", self.out("delete-prefix", "user:", "--dry-run"))
        refused = self.cli("delete-prefix", "user:", code=2)
        self.assertIn(b"nothing was deleted: --yes deletes 2500 items", refused.stderr)
        self.assertEqual(self.out("touch-prefix", "user:", "--ttl", "600"), "touched 2500 items\n")
        self.assertIn(self.documents("get", "user:000000")[0]["ttl"], range(500, 601))
        self.assertEqual(self.documents("delete-prefix", "user:", "--yes"), [{"deleted": 2500}])
        self.assertEqual(self.out("scan"), "other\n")


class CliServerTest(CliCase):
    options = Options(settings=(("stats.sample", "1"),))

    def test_statistics_and_ping(self):
        self.assertRegex(self.out("ping"), r"^127\.0\.0\.1:\d+ 1\.6\.45-mxkv\S+ \S+\n$")
        self.assertIn("\ncurr_items ", self.out("stats"))
        self.assertEqual(self.documents("stats", "settings")[0]["evictions"], "on")
        self.assertIn(b"the server has no statistics nonsense", self.cli("stats", "nonsense", code=4).stderr)

    def test_options_and_clients_are_for_people_or_objects(self):
        self.assertRegex(self.out("config", "get", "limits.pipeline"), r"^limits\.pipeline: 1024  # \S.*, changes at once\n$")
        [option] = self.documents("config", "get", "limits.pipeline")
        self.assertEqual((option["option"], option["value"], option["changes_at_once"]), ("limits.pipeline", 1024, True))
        [listeners] = self.documents("config", "get", "listeners")
        self.assertIsInstance(listeners["value"], list)
        self.assertFalse(listeners["changes_at_once"])
        self.assertEqual(self.documents("config", "set", "limits.pipeline", "1024"), [{"reply": "OK"}])
        self.client.ask(b"client name tester")
        [named] = [one for one in self.documents("clients", "list") if one["name"] == "tester"]
        self.assertIsInstance(named["id"], int)
        self.assertRegex(self.out("clients", "list"), r"^id +cfd +addr +listen +name .*\n(?s:.*) tester ")
        self.assertEqual(self.documents("clients", "kill", str(named["id"])), [{"reply": "OK 1"}])
        self.client = self.connect()

    def test_info_and_slow_are_for_people_or_objects(self):
        self.cli("set", "k", "v", "--ttl", "2h")
        self.client.get(b"k")
        text = self.out("info", "k")
        self.assertRegex(text, r"(?m)^  expires +in (2h00m|1h59m)$")
        self.assertRegex(text, r"(?m)^  last access +\ds ago$")
        self.assertRegex(text, r"(?m)^  read before +yes$")
        self.assertIn("exp", self.documents("info", "k")[0])

    def test_latency_hot_and_slow(self):
        for _ in range(50):
            self.client.get(b"hot")
        latency = self.documents("latency")[0]
        self.assertGreaterEqual(latency["commands"]["get"]["samples"], 50)
        self.assertRegex(self.out("latency"), r"command +samples +p50.*\nget ")
        self.assertIn("hot", self.out("hot"))
        hot = next(entry for entry in self.documents("hot") if entry["key"] == "hot")
        self.assertLessEqual(hot["at_least"], hot["about"])
        self.assertLessEqual(hot["about"], hot["at_most"])
        self.assertIn("every request is counted", self.out("hot"))
        self.cli("slow")
        self.documents("slow")
        live = self.documents("latency", "--live", "--interval", "0.05", "--rounds", "2")
        self.assertEqual(len(live), 2)
        self.assertFalse([one for one in live if "get" in one.get("commands", {})], "there was no get in either interval")

    def test_top_tells_rates(self):
        stop = threading.Event()
        worker = self.connect()

        def work():
            while not stop.is_set():
                worker.get(b"k")
        thread = threading.Thread(target=work)
        thread.start()
        try:
            text = self.out("top", "--once", "--interval", "0.3")
            document = self.documents("top", "--rounds", "1", "--interval", "0.3")[0]
        finally:
            stop.set()
            thread.join()
        self.assertRegex(text, r"get +\d")
        self.assertRegex(text, r"worker +busy +connections")
        self.assertGreater(document["per_second"]["get"], 0)
        self.assertIsNotNone(document["hit_ratio"])
        self.assertIsNone(self.documents("top", "--rounds", "1", "--interval", "0.1")[0]["hit_ratio"], "there was no get")
        self.assertIn("no gets", self.out("top", "--once", "--interval", "0.1"))
        self.assertEqual(len(document["workers_busy"]), 2)

    def test_memory_has_a_verdict(self):
        self.assertIn("all is well", self.out("memory"))
        self.assertEqual(self.documents("memory")[0]["verdict"], ["all is well"])

    def test_watch_shows_what_happens(self):
        lines = []
        thread = threading.Thread(
            target=lambda: lines.extend(self.documents("watch", "mutations", "--lines", "1", "--for", "20")))
        thread.start()
        while thread.is_alive():
            self.client.set(b"watched", b"x")
            thread.join(0.01)
        self.assertEqual((lines[0]["key"], lines[0]["status"]), ("watched", "stored"))
        self.assertIn(b"the server replied", self.cli("watch", "nonsense", code=4).stderr)

    def test_changes_are_printed_as_they_happen(self):
        documents = []
        thread = threading.Thread(
            target=lambda: documents.extend(self.documents("changes", "heard:", "--values", "--lines", "2", "--for", "20")))
        thread.start()
        while thread.is_alive():
            self.client.set(b"heard:1", b"x")
            self.client.ask(b"delete heard:1")
            thread.join(0.01)
        by_kind = {document["kind"]: document for document in documents}
        self.assertLessEqual(set(by_kind), {"put", "deleted", "mark"})
        if "put" in by_kind:
            self.assertEqual((by_kind["put"]["key"], by_kind["put"]["value"], by_kind["put"]["ttl"]), ("heard:1", "x", -1))
        self.assertIn(b"bad position", self.cli("changes", "--position", "x", code=4).stderr)

    def test_commands_that_the_server_lacks_are_told(self):
        for command in (("config", "get"), ("clients", "list")):
            done = self.cli(*command, code=0 if self.client.ask(b" ".join(
                part.encode() for part in ("client" if part == "clients" else part for part in command))) != b"ERROR"
                            else 4)
            if done.returncode:
                self.assertIn(b"this server does not know: ", done.stderr)
            self.client = self.connect()


class CliFailuresTest(CliCase):
    def test_a_server_that_is_not_there(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{free.getsockname()[1]}"
            done = self.cli("get", "a", code=3, where=where)
        self.assertEqual(done.stderr.decode(), f"mxkv-cli: cannot connect to {where}: Connection refused\n")
        self.assertIn(b"cannot connect to nowhere.invalid:1: ", self.cli("get", "a", code=3, where="nowhere.invalid:1").stderr)
        self.assertIn(b"No such file", self.cli("get", "a", code=3, where="unix:/nowhere").stderr)
        self.assertIn(b"is not a host and port; write HOST:PORT or [ADDRESS]:PORT; or unix:PATH", self.cli("get", "a", code=2, where=":1").stderr)

    def test_a_server_that_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            where = f"127.0.0.1:{silent.getsockname()[1]}"
            for time in ("0.2", "200ms"):
                done = self.cli("--timeout", time, "get", "a", code=3, where=where)
                self.assertEqual(done.stderr.decode(), f"mxkv-cli: {where}: no answer within 200 ms (see --timeout)\n")

    def test_wrong_usage(self):
        for arguments in (("nonsense",), ("get",), ("set", "a"), ("scan", "p", "--from", "a"), ("set", "a", "b", "--ttl", "x"),
                          ("get", "x" * 251), ("get", "")):
            done = self.cli(*arguments, code=2)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        for wrong in ("-1", "0", "2 s", "2h", "2d", "nan", "1e9", "s", ""):
            done = self.cli(f"--timeout={wrong}", "ping", code=2)
            self.assertEqual(done.stderr.decode(), f"mxkv-cli: --timeout: '{wrong}' is no time of at most a day: "
                             "write seconds, or 200ms, 2s, 1min\n")

    def test_unknown_words_are_answered(self):
        for arguments, told in ((("gte", "user:1"), "there is no command gte, did you mean get?"),
                                (("-p", "11211", "get", "k"), "-p: here --server HOST:PORT"),
                                (("get", "k", "--ful"), "there is no option --ful, did you mean --full?"),
                                (("del", "k"), "del: here delete KEY...")):
            self.assertEqual(self.cli(*arguments, code=2).stderr.decode(), f"mxkv-cli: {told}\n")

    def test_what_the_server_refuses(self):
        done = self.cli("incr", "word", code=4) if self.client.set(b"word", b"x") == b"STORED" else None
        self.assertEqual(done.stderr, b"mxkv-cli: the server replied: CLIENT_ERROR cannot increment or decrement "
                                      b"non-numeric value\n")
        self.assertIn(b"too large", self.cli("set", "k", "-", stdin=b"x" * 2_000_000, code=4).stderr)

    def test_host_names_and_addresses(self):
        self.assertTrue(re.match("localhost", self.out("ping", where=f"localhost:{self.server.port}")))
        self.assertIn("stored", self.out("set", "k", "v", where=f"127.0.0.1:{self.server.port}"))
