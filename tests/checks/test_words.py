"""Clauses without their noun are found in comments and documents, and nowhere else."""

import unittest

import words
from test_checks import Invented


class WordsTest(Invented):
    def kinds(self, text, name="server/a.hpp"):
        self.write(name, text)
        return [kind for file, _, kind, _ in words.places(self.root) if file == name]

    def test_each_kind_is_found_in_a_comment(self):
        for text, kind in (("// What is read is kept.", "what is"), ("// It keeps what was read.", "what is"),
                           ("// Who waits has a key.", "who"), ("// It wakes whoever waits.", "who"),
                           ("// It is told by who asks.", "who"), ("// The key is that of the leaf.", "that of"),
                           ("// The client is told.", "is told"), ("int a;  ///< somebody waits", "somebody")):
            with self.subTest(text=text):
                self.assertIn(kind, self.kinds(text + "\n"))

    def test_a_noun_before_who_is_enough(self):
        self.assertEqual(self.kinds("// The client who waits has a key. Clients, who wait, have keys.\n"), [])

    def test_code_and_strings_are_no_prose(self):
        self.assertEqual(self.kinds('int who = 1; call("what is this // what is it");\n'), [])
        self.assertEqual(self.kinds("```\nwhat is this\n```\n`what is`\n    what is this\n", "server/a.md"), [])

    def test_documents_scripts_and_docstrings_are_read(self):
        self.assertEqual(self.kinds("What is read is kept.\n", "server/a.md"), ["what is"])
        self.assertEqual(self.kinds("x = 1  # that of the leaf\n", "tests/a.py"), ["that of"])
        self.assertEqual(len(self.kinds('"""Waits.\n\nSomebody asks.\n"""\nsomebody = 1\n', "tests/b.py")), 1)
        self.assertEqual(len(self.kinds("#!/usr/bin/env bash\n# Somebody asks.\n", "tests/run")), 1)

    def test_more_than_the_ceiling_fails_and_as_many_pass(self):
        self.write("index/a.hpp", "// What is read, and what was read.\n")
        self.assertEqual(words.check(self.root, {"what is": 2, "who": 0}), [])
        self.assertEqual(len(words.check(self.root, {"what is": 1, "who": 0})), 1)

    def test_the_table_counts_by_folder(self):
        self.write("server/net/a.hpp", "// What is read.\n")
        self.write("server/net/tls/b.hpp", "// Somebody.\n")
        table = words.table(words.places(self.root)).splitlines()
        self.assertEqual([line.split()[0] for line in table], ["folder", "server/net", "all", "ceiling"])
        self.assertEqual(table[1].split()[-1], "2")


if __name__ == "__main__":
    unittest.main()
