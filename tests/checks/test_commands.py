"""Documents and dictionaries that do not know a row are caught, and --fix writes the table of commands anew."""

import unittest

import commands
from test_checks import Invented

ROW = '    {verb::get, "get", retrieval, kReads, parse_retrieval, reader, from::keys, as::get, {opcode::get, 4}},\n'
BARE = '    {verb::shutdown, "shutdown", control, {}, parse_shutdown},\n'


class CommandsTest(Invented):
    def violations(self, rows, document, fixes=False, dictionary='"get "\n"now shutdown"\n'):
        self.write(commands.ROWS, rows)
        self.write(commands.DICTIONARY, dictionary)
        self.write(commands.DOCUMENT, document)
        return commands.check(self.root, fixes)

    def test_what_the_rows_say_is_told(self):
        table = commands.table(ROW + BARE)
        self.assertIn("| `get` | retrieval | reader | get | get |", table)
        self.assertIn("| `shutdown` | control | administrator | other |  |", table)

    def test_another_table_is_caught_and_mended(self):
        document = f"a\n{commands.BEGIN}\n| old |\n{commands.END}\n`get`\n"
        self.assertEqual(len(self.violations(ROW, document)), 1)
        self.assertEqual(self.violations(ROW, document, fixes=True), [])
        self.assertEqual(commands.check(self.root), [])
        written = (self.root / commands.DOCUMENT).read_text()
        self.assertTrue(written.startswith("a\n") and written.endswith("\n`get`\n"))

    def test_a_command_that_document_or_dictionary_lacks_is_caught(self):
        def document(prose):
            return f"{commands.BEGIN}\n{commands.table(ROW + BARE)}\n{commands.END}\n{prose}\n"
        self.assertEqual(self.violations(ROW + BARE, document("`get` `shutdown`")), [])
        self.assertEqual(len(self.violations(ROW + BARE, document("`gets` `shutdown`"))), 1)
        self.assertEqual(len(self.violations(ROW + BARE, document("`get` `shutdown`"), dictionary='"gets "\n"shutdown"\n')), 1)

    def test_rows_and_documents_that_are_not_understood_are_caught(self):
        document = f"{commands.BEGIN}\n{commands.END}\n"
        self.assertEqual(len(self.violations("    {verb::get, something},\n", document)), 1)
        self.assertEqual(len(self.violations("", document)), 1)
        self.assertEqual(len(self.violations(ROW, "no table\n")), 1)


if __name__ == "__main__":
    unittest.main()
