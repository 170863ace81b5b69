"""A client library that says something else than the server, and a manual without a command, are caught."""

import unittest

import client_words
import commands
from test_checks import Invented

WORDS = sorted(client_words.ALWAYS | {"set", "stats", "version"})
ROWS = "".join(f'    {{verb::{word}, "{word}", meta, {{}}, parse_meta}},\n' for word in WORDS)
LINES = "".join(f'  send("{word} " + key);\n' for word in sorted(client_words.ALWAYS))
LIBRARY = LINES + '  ask("stats%s\\r\\n"); of("version"); set("set auth 0 0 "); say("a key must have 1 to %d bytes");\n'
ANSWERS = '  longestKey = 250\n  if (word == "HD" || word == "MN" || word == "WS" || word == "WG") {\n'
KNOWN = ('  {"CLIENT_ERROR bad cursor", kind},\n', '  text.startsWith("bad cursor")\n', '    b"bad cursor": BadCursor,\n',
         '  ["SERVER_ERROR journal", kind],\n')


class ClientWordsTest(Invented):
    def setUp(self):
        super().setUp()
        self.write(commands.ROWS, ROWS)
        self.write(client_words.CODES, 'ReplyCodeRow{reply_code::done, kOk, "HD", binary_status::success},\n')
        self.write(client_words.SENTENCES, 'kMetaNoop = "MN\\r\\n";\nkBadCursor = "CLIENT_ERROR bad cursor\\r\\n";\n')
        self.write(client_words.PUSHED[0], 'out.append("WG");\n')
        self.write(client_words.PUSHED[1], 'named("WS", name)\n')
        self.write(client_words.REFUSALS, 'return "SERVER_ERROR journal: " + why;\n')
        self.write(client_words.REQUESTS, "kMaxKeyBytes = 250;\n")
        self.write(client_words.CLI_COMMANDS, '    Command{"delete-prefix", "Delete", declare_delete_prefix},\n')
        self.write(client_words.CLI_MANUAL, ".SH COMMANDS\n.BR delete\\-prefix\n")
        for (folder, ending), known in zip(client_words.LIBRARIES.items(), KNOWN):
            self.write(f"{folder}a{ending}", LIBRARY + ANSWERS + known)

    def found(self, old, new, name="protocol/clients/go/a.go"):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))
        found = client_words.check(self.root)
        self.write(name, text)
        return len(found)

    def test_libraries_that_agree_are_fine(self):
        self.assertEqual(client_words.check(self.root), [])

    def test_a_word_a_reply_a_sentence_or_a_limit_that_differs_is_caught(self):
        for old, new in (("stats%s", "stat%s"), ("set auth", "put auth"), ("version", "versions"), ('"HD"', '"HX"'),
                         ("bad cursor", "no cursor"), ("250", "251"), ("longestKey", "most")):
            self.assertEqual(self.found(old, new), 1, new)
        self.assertEqual(self.found('"mx " +', '"mz " +'), 2, "mx is not sent, and mz is unknown")

    def test_a_change_of_the_server_that_the_libraries_did_not_follow_is_caught(self):
        everywhere = len(client_words.LIBRARIES)
        self.assertEqual(self.found('"mt"', '"mu"', commands.ROWS), everywhere)
        self.assertEqual(self.found('"HD"', '"OK"', client_words.CODES), everywhere)
        self.assertEqual(self.found("250", "255", client_words.REQUESTS), everywhere)
        self.assertEqual(self.found("WG", "WH", client_words.PUSHED[0]), everywhere)
        self.assertEqual(self.found("bad cursor", "cursor", client_words.SENTENCES), 3)
        self.assertEqual(self.found("journal", "log", client_words.REFUSALS), 1)

    def test_a_command_that_the_manual_does_not_describe_is_caught(self):
        self.assertEqual(self.found("delete-prefix", "delete", client_words.CLI_COMMANDS), 1)


if __name__ == "__main__":
    unittest.main()
