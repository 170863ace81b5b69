"""protocol/PROTOCOL.md is true and complete: a server answers its examples as printed, and it leaves nothing out."""

import re
import string
import tempfile
import unittest
from pathlib import Path

from harness import DaemonCase, environment, examples, mxkv_only

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "protocol" / "PROTOCOL.md"
SOURCES = sorted((ROOT / "protocol").glob("*.[ch]pp"))

# Rows of the table of commands that have a grammar, and further names of commands.
_WORDS = re.compile(r'\{verb::\w+, "([a-z_]+)", \w+, (?:\{[^}]*\}|\w+(?:\([^)]*\))?), parse_|\bWord\{"([a-z_]+)", verb::')
_ERRORS = re.compile(r'"(?:CLIENT_ERROR|SERVER_ERROR) ([^"]+?)(?:\\r\\n)?"')


def command_words(texts) -> set:
    """All command names with which the parser's sources compare a line's first word."""
    return {one or other for text in texts for one, other in _WORDS.findall(text)}


def missing(words: set, found: list) -> list:
    return sorted(words - set().union(*(example.commands() for example in found)))


class CompletenessTest(unittest.TestCase):
    def setUp(self):
        self.texts = [source.read_text() for source in SOURCES]
        self.document = DOCUMENT.read_text()

    def test_every_command_of_the_parser_has_an_example(self):
        words = command_words(self.texts)
        self.assertLessEqual({"get", "mg", "scan", "mb", "flush_all", "debugtime"}, words, "the parser names them otherwise")
        self.assertEqual(missing(words, examples.read(DOCUMENT)), [])

    def test_a_command_without_an_example_would_be_missed(self):
        rows = ['{verb::mz, "mz", meta, {}, parse_meta},', 'Word{"long_name_z", verb::tune, parse_lru}']
        self.assertEqual(missing(command_words(rows) | {"get"},
                                 examples.read(DOCUMENT)), ["long_name_z", "mz"])

    def test_every_error_of_the_parser_is_explained(self):
        errors = {error for text in self.texts for error in _ERRORS.findall(text)}
        self.assertGreater(len(errors), 30)
        self.assertEqual(sorted(error for error in errors if f"`{error}`" not in self.document), [])

    def test_rules_are_numbered_without_gaps(self):
        numbers = [int(number) for number in re.findall(r"^(\d+)\. ", self.document, re.MULTILINE)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))


class MismatchTest(unittest.TestCase):
    """The comparison itself, without a server."""

    class Script:
        def __init__(self, answers: bytes):
            self.answers, self.sent = answers, b""

        def send(self, data: bytes) -> None:
            self.sent += data

        def exactly(self, count: int) -> bytes:
            if len(self.answers) < count:
                raise TimeoutError("nothing comes")
            taken, self.answers = self.answers[:count], self.answers[count:]
            return taken

        def line(self) -> bytes:
            line, _, self.answers = self.answers.partition(b"\r\n")
            return line

        def rest(self) -> bytes:
            return self.answers

    def play(self, block: str, answers: bytes):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "document.md"
            path.write_text(f"text\n\n```mxkv\n{block}\n```\n")
            (example,) = examples.read(path)
        script = self.Script(answers)
        examples.Run(lambda: script).play(example)
        return script.sent

    def test_an_answer_as_written_passes_and_names_are_sent_again(self):
        sent = self.play("> gets k\n< VALUE k 0 1 <unique>\n< ...\n< END\n> cas k <unique>\n< STORED",
                         b"VALUE k 0 1 77\r\nx\r\nEND\r\nSTORED\r\nMN\r\n")
        self.assertEqual(sent, b"gets k\r\ncas k 77\r\nmn\r\n")

    def test_another_answer_fails_with_its_line(self):
        with self.assertRaisesRegex(AssertionError, "line 5: 'NOT_FOUND'"):
            self.play("> touch k 1\n< TOUCHED", b"NOT_FOUND\r\nMN\r\n")

    def test_an_answer_too_few_or_too_many_fails(self):
        with self.assertRaisesRegex(AssertionError, "does not come"):
            self.play("> get k\n< END", b"")
        with self.assertRaisesRegex(AssertionError, "is answered, too"):
            self.play("> get k\n< END", b"END\r\nEND\r\nMN\r\n")

    def test_a_connection_that_is_not_closed_in_silence_fails(self):
        with self.assertRaisesRegex(AssertionError, "where the end stands"):
            self.play("> quit\n! closed", b"OK\r\n")


@mxkv_only("its document")
class ProtocolDocumentTest(DaemonCase):
    def play_all(self, kind: str) -> None:
        found = [example for example in examples.read(DOCUMENT) if example.kind == kind]
        self.assertNotEqual(found, [])
        for example in found:
            with self.subTest(line=example.lines[0].number):
                if kind == "":
                    self.assertEqual(self.client().ask(b"flush_all"), b"OK")
                examples.Run(self.client).play(example)

    def test_examples(self):
        self.start()
        self.play_all("")
        self.end()

    def test_examples_that_need_leave(self):
        self.start("--set", "server.debug_time=true", "--set", "server.shutdown_command=true")
        self.play_all("tests")
        self.assertEqual(self.process.wait(timeout=environment.patience(30)), 0)

    def test_examples_of_login(self):
        users = self.directory / "users"
        users.write_text("user:secret\n")
        self.start("--set", f"server.auth_file={users}")
        self.play_all("login")
        self.end()

    def test_each_flag_that_the_server_takes_is_in_its_table(self):
        self.start()
        client = self.client()
        meta, ranges = self.tables()
        for command, table in [("mg", meta), ("mr", ranges), ("mc", ranges), ("mx", ranges), ("mt", ranges)]:
            taken = {letter for letter in string.ascii_letters if not self.refuses(client, f"{command} k {letter}")}
            told = {letter for letter, of in table.items() if command == "mg" or command in of or "all" in of}
            self.assertEqual(taken, told, command)

    @staticmethod
    def refuses(client, line: str) -> bool:
        client.send(f"{line}\r\nmn\r\n".encode())
        answers = []
        while (answer := client.line()) != b"MN":
            answers.append(answer)
        return b"CLIENT_ERROR invalid flag" in answers

    def tables(self) -> list:
        """For both tables of flags: letter -> commands."""
        rows = [{}, {}]
        for part, found in zip(("## Meta commands", "## Ranges in the meta form"), rows):
            text = DOCUMENT.read_text().partition(part)[2].partition("\n## ")[0]
            for flags, commands in re.findall(r"^\| (`.*?) \| ([a-z ]+) \|", text, re.MULTILINE):
                for letter in re.findall(r"`([A-Za-z])(?:\([^)]*\))?`", flags):
                    found[letter] = commands.split()
        return rows


if __name__ == "__main__":
    unittest.main()
