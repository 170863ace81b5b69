"""A document that its command would write differently is caught; small differences of the table of the house are not."""

import unittest

import documents
import house_document
import house_sources
from test_checks import Invented

DRAW = """class P:
    def __init__(self, text): self.text = text
    def svg(self): return self.text
PICTURES = {"server": lambda: P("<svg/>")}
"""


def page_of(*folders):
    return "# A page\n\n```\n" + house_document.folders_table(list(folders)) + "```\n\n```\na request\nget  1\n```\n"


def folder(name, files=10, lines=1000, up=0):
    return house_sources.Folder(name, files=files, lines=lines, classes=7, assertions=3, arrows=4, up=up)


class HouseDocumentTest(unittest.TestCase):
    def test_equal_figures_and_small_differences_pass(self):
        page = page_of(folder("server"), folder("server/net"))
        self.assertEqual(house_document.differences(page, [folder("server"), folder("server/net", files=15, lines=1100)]), [])

    def test_a_figure_that_moved_far_is_named(self):
        page = page_of(folder("server"), folder("server/net", up=2))
        found = house_document.differences(page, [folder("server", lines=1200), folder("server/net", up=8)])
        self.assertEqual(found, [f"{house_document.PAGE}: says that server/ has 1000 lines, it has 1200",
                                 f"{house_document.PAGE}: says that server/net/ has 2 up, it has 8"])

    def test_a_new_folder_and_one_that_went_are_named(self):
        found = house_document.differences(page_of(folder("index"), folder("server")), [folder("server"), folder("server/net")])
        self.assertEqual(len(found), 2)

    def test_a_page_without_a_table_lacks_all_folders(self):
        self.assertEqual(len(house_document.differences("# A page\n", [folder("server")])), 1)

    def test_writing_replaces_the_first_table_alone(self):
        page = page_of(folder("server"))
        changed = house_document.with_tables(page, [house_document.folders_table([folder("index")])])
        self.assertIn("index/", changed)
        self.assertNotIn("\nserver/", changed)
        self.assertIn("get  1", changed)


class DocumentsTest(Invented):
    def test_a_repository_without_such_documents_is_fine(self):
        self.assertEqual(documents.check(self.root), [])

    def test_a_picture_that_is_missing_or_was_changed_is_caught(self):
        self.write(documents.DRAW, DRAW)
        self.assertEqual(len(documents.check(self.root)), 1)
        self.write("server/architecture/server.svg", "<svg>by hand</svg>")
        self.assertEqual(len(documents.check(self.root)), 1)
        self.write("server/architecture/server.svg", "<svg/>")
        self.assertEqual(documents.check(self.root), [])

    def test_another_order_of_the_folders_is_caught(self):
        right = "server: `reply, commit < journal < store < durability < feed < cluster < net, stats < admin < daemon`. More."
        runtime = "base < topology < {memory, epoch} < {task, resource} < synchronization < pool < scheduler < hierarchy"
        self.write("server/README.md", f"{right}\n\n{runtime}\n")
        self.assertEqual(documents.check(self.root), [])
        self.write("server/README.md", right.replace(" < admin", ""))
        self.write("runtime/README.md", runtime.replace(" < pool", ""))
        self.assertEqual([text.split(":")[0] for text in documents.check(self.root)], ["runtime/README.md", "server/README.md"])

    def test_the_command_to_run_is_named(self):
        self.write("index/a.hpp", "// a\n" * 100)
        self.write(house_document.PAGE, page_of(house_sources.Folder("index", files=1, lines=10)))
        self.assertIn("house --write", documents.check(self.root)[-1])


if __name__ == "__main__":
    unittest.main()
