"""Citations without a target are caught, and citations with one are accepted."""

import unittest

import citations
from test_checks import Invented

PAPERS = "| tag | what |\n|---|---|\n| [Mx] | a paper |\n| [Mx 4.1] | primitives |\n| [Mx fig. 5] | interaction |\n| [LAS rule 3] | x |\n"
PROTOCOL = "1. One.\n2. Two.\n"


class PartsTest(unittest.TestCase):
    def test_lists_ranges_and_kinds_are_told_apart(self):
        for tag, parts in [("[Mx 4.1, 4.3]", {"Mx 4.1", "Mx 4.3"}), ("[Mx 2, 3]", {"Mx 2", "Mx 3"}),
                           ("[To 4.2 to 4.4]", {"To 4.2", "To 4.3", "To 4.4"}), ("[LAS figs. 5-7]", {f"LAS fig. {n}" for n in (5, 6, 7)}),
                           ("[MK figs. 3b, 4, 5a, 5b]", {"MK fig. 3", "MK fig. 4", "MK fig. 5"}), ("[LAS rule 3]", {"LAS rule 3"}),
                           ("[To algorithm 2]", {"To algorithm 2"}), ("[Mx 5.1, fig. 6]", {"Mx 5.1", "Mx fig. 6"}),
                           ("[Mx fig. 5, scheduler side]", {"Mx fig. 5"}), ("[Mx 4.2: 2 kinds of nodes]", {"Mx 4.2"}),
                           ('[Mx 3, "4 ahead"]', {"Mx 3"}), ("| [LAS] 4.3, 5; [Mx] 5.2, figure 8 |",
                                                            {"LAS 4.3", "LAS 5", "Mx 5.2", "Mx fig. 8"}),
                           ("by [Mx]", {"Mx"}), ("[Mx<greatest>] a[To] [Max 3]", {"To"})]:
            with self.subTest(tag=tag):
                self.assertEqual(citations.cited(tag), parts)


class CitationsTest(Invented):
    def violations(self, text, name="runtime/a.hpp"):
        self.write("runtime/PAPERS.md", PAPERS)
        self.write("protocol/PROTOCOL.md", PROTOCOL)
        self.write(name, text)
        return citations.check(self.root)

    def test_what_is_explained_may_be_cited(self):
        self.assertEqual(self.violations("// as in [Mx 4.1], [Mx fig. 5, worker side], [LAS rule 3], protocol rules 1-2\n"), [])

    def test_a_tag_that_is_not_explained_is_caught_with_its_line(self):
        self.assertEqual(self.violations("// a\n// [Mx 4.1, 4.2]\n"),
                         ["runtime/a.hpp:2: cites [Mx 4.2], which runtime/PAPERS.md does not explain"])
        self.assertEqual(len(self.violations("// [To]\n")), 1)

    def test_plans_outside_the_repository_are_caught(self):
        for text in ("architecture section 5", "Architecture sections 5, 6", "(architecture 4)", "protocol.md rule 1"):
            self.assertEqual(len(self.violations(f"// {text}\n")), 1, text)

    def test_a_rule_that_the_protocol_does_not_have_is_caught(self):
        self.assertEqual(len(self.violations("// protocol rule 3\n")), 1)
        self.assertIn("protocol/a.cpp:1: cites rule 3, which protocol/PROTOCOL.md does not have",
                      self.violations("// (rules 2-3)\n", "protocol/a.cpp"))

    def test_a_link_must_lead_to_a_file_or_folder(self):
        text = "[a](../runtime/PAPERS.md#tags) [b](../runtime) [c](https://example.org/x) `[d](e)`\n"
        self.assertEqual(self.violations(text, "server/a.md"), [])
        self.assertEqual(self.violations("[a](PAPERS.md)\n", "server/a.md"),
                         ["server/a.md: links to PAPERS.md, which does not exist"])

    def test_functions_and_types_that_documents_name_must_exist(self):
        self.write("server/store/store.cpp", "void Store::get(int) { begin_task(); }\n")
        self.write("server/GLOSSARY.md", "| store | all commands | `Store` |\n| gate | a `Gate` | `Gate`, `Store` |\n")
        self.assertEqual(self.violations("`Store::get`, `Store::get()`, `begin_task()`, `Store`\n", "server/ARCHITECTURE.md"),
                         ["server/GLOSSARY.md: names the type Gate, which no source has"])
        self.assertEqual(len(self.violations("`Store::gets`, `Stores::get()`, `begin()`\n", "server/ARCHITECTURE.md")), 4)

    def test_architecture_pages_name_files_and_folders_that_exist(self):
        self.write("server/store/store.hpp", "// The store.\n")
        text = "`server/store/store.hpp` `server/store/` `server/store` `server/store/store.hpp --list` `runtime/PAPERS.md` `a / b`\n"
        self.assertEqual(self.violations(text, "server/architecture/store.md"), [])
        self.assertEqual(self.violations("`server/store/stores.hpp` `server/net/`\n", "server/architecture/store.md"),
                         ["server/architecture/store.md: names server/store/stores.hpp, which does not exist",
                          "server/architecture/store.md: names server/net/, which does not exist"])

    def test_a_readme_names_files_from_its_folder_and_without_their_ending(self):
        self.write("server/store/store.hpp", "// The store.\n")
        self.assertEqual(self.violations("`store/store` `server/store/store.hpp`\n", "server/README.md"), [])
        self.assertEqual(self.violations("`store/stores`\n", "server/README.md"),
                         ["server/README.md: names store/stores, which does not exist"])

    def test_architecture_pages_name_functions_that_exist(self):
        self.assertEqual(self.violations("`Store::get`\n", "server/architecture/request.md"),
                         ["server/architecture/request.md: names Store::get(), which no source has"])

    def test_a_heading_must_exist(self):
        self.assertEqual(len(self.violations('// runtime/README.md, "The gate"\n')), 1)
        self.write("runtime/README.md", "# runtime\n\n## The gate\n")
        self.assertEqual(self.violations('// runtime/README.md, "The gate"\n'), [])


if __name__ == "__main__":
    unittest.main()
