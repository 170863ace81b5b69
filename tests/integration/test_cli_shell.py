"""mxkv-cli's shell on a pseudo-terminal, and scripts on its standard input."""

import os
import pathlib
import stat
import tempfile

from cli_case import CliCase, Terminal
from harness import Options
from harness.daemon import wait_for


class CliShellTest(CliCase):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="mxkvcli")
        self.addCleanup(folder.cleanup)
        self.state = pathlib.Path(folder.name)

    def shell(self) -> Terminal:
        return Terminal(self, XDG_STATE_HOME=str(self.state), HOME=str(self.state))

    def test_commands_run_one_after_the_other_and_exit_leaves(self):
        shell = self.shell()
        self.assertIn("stored", shell.run("set 'a b' \"x\\ty\""))
        self.assertIn("x\ty", shell.run("get 'a b'").replace("        ", "\t"))
        self.assertIn("(not found)", shell.run("get nobody"))
        self.assertIn("there is no command nonsense", shell.run("nonsense"))
        self.assertIn("is not closed", shell.run("get 'a"))
        self.assertIn("--reverse", shell.run("help scan"))
        shell.type("exit\r")
        self.assertEqual(shell.wait(), 0)

    def test_the_history_is_kept_and_nobody_else_s(self):
        shell = self.shell()
        shell.run("set secret 1")
        shell.type("exit\r")
        self.assertEqual(shell.wait(), 0)
        file = self.state / "mxkv" / "history"
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)
        again = self.shell()
        again.type("\x1b[A\x1b[A\r")  # the command before `exit`
        self.assertIn("set secret 1", again.expect("stored"))

    def test_commands_options_and_keys_are_completed(self):
        for key in ("user:1", "user:2", "zebra"):
            self.cli("set", key, f"value of {key}")
        shell = self.shell()
        shell.type("get ze\t\r")
        shell.expect("value of zebra")
        shell.expect("> ")
        shell.type("get us\t\t")
        shell.expect("user:1")
        shell.expect("user:2")
        shell.type("2\r")
        shell.expect("value of user:2")
        shell.expect("> ")
        shell.type("scan --rev\t\r")
        shell.expect("zebra")
        shell.expect("user:1")
        shell.expect("> ")
        shell.type("pin\t\r")
        shell.expect("1.6.45-mxkv")

    def test_keys_are_completed_by_what_all_of_them_have_in_common(self):
        for number in range(1000):
            self.client.set(b"user%d" % (1000 + number), b"x")
        self.client.set(b"user:1", b"x")
        self.client.set(b"user9", b"value of user9")
        shell = self.shell()
        shell.type("get us\t9\t\r")  # a 1, which only the first hundred keys share, would make another key
        shell.expect("value of user9")
        shell.expect("> ")
        shell.type("scan user\t")
        shell.expect("user1000")
        shell.expect("... and more: type another letter, or scan")
        shell.type("\x03")
        shell.expect("> ")
        shell.type("config get limits.pip\t\r")
        shell.expect("limits.pipeline: ")
        shell.expect("> ")
        shell.type("con\tge\t limits.batch_l\t\r")
        shell.expect("limits.batch_lines: ")

    def test_ctrl_c_ends_what_runs_and_drops_a_line_but_not_the_shell(self):
        shell = self.shell()
        shell.type("set dropped 1")
        shell.expect("dropped 1")  # line editing works
        shell.type("\x03")
        shell.expect("^C")
        shell.expect("> ")
        self.assertIn("(not found)", shell.run("get dropped"))
        shell.type("watch mutations\r")
        shell.expect("\n")
        wait_for(lambda: self.client.stats()["log_watchers"] != "0", "it watches")
        self.client.set(b"seen", b"x")
        shell.expect("key=seen")
        shell.type("\x03")
        shell.expect("interrupted")
        shell.expect("> ")
        self.assertIn("x", shell.run("get seen"))


class CliReconnectTest(CliCase):
    options = Options(settings=(("limits.idle_timeout", "1s"),))

    def test_it_connects_again_where_the_connection_was_lost(self):
        with tempfile.TemporaryDirectory(prefix="mxkvcli") as state:
            shell = Terminal(self, XDG_STATE_HOME=state, HOME=state)
            shell.run("set k v")
            wait_for(lambda: int(self.connect().stats()["idle_kicks"]) >= 2, "the server closes the shell's connection")
            self.assertIn("v", shell.run("get k"))
            shell.close()


class CliScriptTest(CliCase):
    def test_lines_run_up_to_the_first_that_fails(self):
        done = self.cli(stdin=b"# a script\nset a 'x y'\n\nget a\nget nobody\nincr a\nset b 1\n", code=4)
        self.assertEqual(done.stdout, b"stored\nx y\n(not found)\n")
        self.assertIn(b"mxkv-cli: line 6: the server replied: CLIENT_ERROR", done.stderr)
        self.assertIsNone(self.client.get(b"b"))

    def test_with_keep_going_all_of_them(self):
        done = self.cli("--keep-going", stdin=b"nonsense\nset b 1\nincr b\nexit\nset c 1\n", code=2)
        self.assertEqual(done.stdout, b"stored\n2\n")
        self.assertIsNone(self.client.get(b"c"))

    def test_bytes_of_any_kind_in_double_quotes(self):
        done = self.cli(stdin=b'set "\\x00 \\xff" "\\n\\0"\nget "\\x00 \\xff"\nscan\n')
        self.assertEqual(done.stdout, b'stored\n\n\0\n"\\0 \\xff"\n')
