"""The table of the house has the right counts, on invented folders and an invented profile."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import house_requests
import house_sources


class ArrowsTest(unittest.TestCase):
    def arrows(self, includes):
        every, up, circles = house_sources.arrows_of("f", includes)
        return sorted(every), sorted(up), sorted(circles)

    def test_a_header_and_its_source_are_one_thing(self):
        self.assertEqual(self.arrows({"f/a.cpp": ["f/a.hpp", "f/b.hpp"], "f/a.hpp": ["f/b.hpp"]}), ([("a", "b")], [], []))

    def test_an_arrow_from_a_source_to_what_stands_on_its_header_leads_up(self):
        includes = {"f/top.hpp": ["f/low.hpp"], "f/low.cpp": ["f/low.hpp", "f/top.hpp"]}
        arrow = ("low", "top")
        self.assertEqual(self.arrows(includes)[1], [arrow])
        self.assertEqual(self.arrows(includes)[2], [arrow, arrow[::-1]])

    def test_a_sub_folder_is_one_thing(self):
        includes = {"f/a/x.hpp": ["f/a/y.hpp", "f/b/z.hpp"], "f/b/z.cpp": ["f/a/x.hpp"]}
        self.assertEqual(self.arrows(includes), ([("a/", "b/"), ("b/", "a/")], [("b/", "a/")], [("a/", "b/"), ("b/", "a/")]))

    def test_sub_folders_whose_headers_include_each_other_both_lead_up(self):
        self.assertEqual(len(self.arrows({"f/a/x.hpp": ["f/b/z.hpp"], "f/b/w.hpp": ["f/a/y.hpp"]})[1]), 2)

    def test_what_other_folders_include_does_not_count(self):
        self.assertEqual(self.arrows({"f/a.hpp": ["g/b.hpp"], "g/b.hpp": ["f/c.hpp"]})[0], [])


class FiguresTest(unittest.TestCase):
    def test_files_lines_classes_and_assertions_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index" / "tree" / "a.hpp"
            path.parent.mkdir(parents=True)
            path.write_text("// a\nclass Later;\nenum class E { a };\nstruct A {\n  struct B : A {};\n};\n"
                            "template <class T>\nclass C final : public A {\n  void f() { MXKV_ASSERT(true, \"\"); }\n};\n")
            above, within = house_sources.figures(Path(folder))
        self.assertEqual((above.name, within.name), ("index", "index/tree"))
        self.assertEqual((within.files, within.lines, within.classes, within.assertions), (1, 10, 3, 1))

    def test_the_command_prints_all_folders_of_the_product(self):
        done = subprocess.run(["python3", "-B", Path(__file__).parent / "house"], capture_output=True, text=True, check=True)
        for folder in house_sources.PRODUCT:
            self.assertIn(f"\n{folder}/", "\n" + done.stdout)


class RequestsTest(unittest.TestCase):
    def test_instances_of_a_template_have_one_name(self):
        for name in ("mxkv::a::T<int>::f(std::vector<int> const&)", "mxkv::a::T<char>::f<int>() const",
                     "void mxkv::a::T<int>::f<char>(int)", "mxkv::a::T<int>::f()::{lambda(int)#1}::operator()(int) const"):
            self.assertEqual(house_requests.without_templates(name), "mxkv::a::T::f", name)

    def test_the_class_is_what_begins_with_a_capital_letter(self):
        self.assertEqual(house_requests.class_of("mxkv::a::Outer::Inner::f"), "mxkv::a::Outer::Inner")
        self.assertEqual(house_requests.class_of("mxkv::a::f"), "")

    def test_calls_are_summed_by_file_and_function(self):
        profile = ("fl=(1) /r/index/a.cpp\nfn=(1) mxkv::f()\n16 5\ncfn=(2) mxkv::g()\ncalls=3 20\n16 9\n"
                   "cfi=(2) /r/index/b.hpp\ncfn=(3) mxkv::T<int>::h()\ncalls=200 7\n16 9\nfi=(2)\n8 1\ncfn=(4) mxkv::T<char>::h()\n"
                   "calls=1 7\n")
        self.assertEqual(house_requests.calls(profile),
                         {("/r/index/a.cpp", "mxkv::g()"): 3, ("/r/index/b.hpp", "mxkv::T<int>::h()"): 200,
                          ("/r/index/b.hpp", "mxkv::T<char>::h()"): 1})
        self.assertEqual(house_requests.through(profile, Path("/r")), [("index/b.hpp", "mxkv::T::h")])


if __name__ == "__main__":
    unittest.main()
