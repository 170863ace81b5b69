"""The checks catch violations, and accept correct files: on invented repositories."""

import json
import tempfile
import unittest
from pathlib import Path

import alone
import cmake_lines
import duplicates
import include_rules
import scripts
import text_rules
import top_level


class Invented(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class CMakeLinesTest(Invented):
    LIST = "add_library(a STATIC\n  " + " ".join(f"source{i}.cpp" for i in range(20)) + " LIBS b)\n"

    def test_a_long_line_is_caught_in_all_files_of_cmake(self):
        for name in ("CMakeLists.txt", "server/CMakeLists.txt", "server/package.cmake", "CMakePresets.json"):
            self.write(name, "x\n" + "y" * 120 + "\n" + "z" * 119 + "\n")
        self.write("notes.txt", "y" * 200)
        self.assertEqual([text.split(" has ")[0] for text in cmake_lines.check(self.root)],
                         ["CMakeLists.txt:2:", "CMakePresets.json:2:", "server/CMakeLists.txt:2:", "server/package.cmake:2:"])

    def test_it_is_broken_between_words_and_a_keyword_stays_with_its_first(self):
        self.write("CMakeLists.txt", self.LIST)
        self.assertEqual(cmake_lines.check(self.root, fix=True), [])
        fixed = (self.root / "CMakeLists.txt").read_text()
        self.assertEqual(cmake_lines.check(self.root), [])
        self.assertEqual(fixed.split(), self.LIST.split(), "the same words")
        self.assertEqual(cmake_lines.broken("x" * 118 + " LIBS b)"), ["x" * 118, "LIBS b)"])

    def test_what_is_in_quotes_stays_whole(self):
        quoted = '"' + "a b " * 29 + '"'
        self.assertEqual(cmake_lines.broken("  set(name " + quoted + ")"), ["  set(name", "    " + quoted + ")"])


class AloneTest(Invented):
    def test_a_source_that_leans_on_the_includes_of_another_is_caught(self):
        self.write("a.hpp", "#pragma once\ninline int a() { return 1; }\n")
        self.write("one.cpp", '#include "a.hpp"\nint one() { return a(); }\n')
        self.write("two.cpp", "int two() { return a(); }\n")
        unit = self.root / "build/unit.cxx"
        self.write("build/unit.cxx", "".join(f'#include "{self.root / name}"\n' for name in ("one.cpp", "two.cpp")))
        command = f"ccache clang++-19 -std=c++20 -I {self.root} -o unit.o -c {unit}"
        self.write("build/compile_commands.json",
                   json.dumps([{"directory": str(self.root), "command": command, "file": str(unit)}]))
        complaints = alone.check(self.root / "build", ["one.cpp", "two.cpp", "three.cpp"], self.root)
        self.assertEqual(len(complaints), 1, complaints)
        self.assertIn("two.cpp:1:", complaints[0])


class IncludeRulesTest(Invented):
    def violations(self, name, *includes):
        self.write(name, "".join(f"#include {include}\n" for include in includes))
        return include_rules.check(self.root)

    def test_a_lower_layer_may_be_included(self):
        self.assertEqual(self.violations("runtime/pool/pool.hpp", '"runtime/base/ids.hpp"',
                                         '"runtime/task/task.hpp"', '"runtime/pool/word.hpp"',
                                         '"runtime/options.hpp"'), [])

    def test_a_higher_layer_is_caught_with_its_line(self):
        self.assertEqual(self.violations("runtime/base/ids.hpp", "<cstdint>", '"runtime/topology/topology.hpp"'),
                         ["runtime/base/ids.hpp:2: includes a higher layer of runtime/ (runtime/topology/topology.hpp)"])

    def test_the_base_does_not_see_the_options(self):
        self.assertEqual(len(self.violations("runtime/base/ids.hpp", '"runtime/options.hpp"')), 1)

    def test_an_unknown_layer_is_caught(self):
        self.assertEqual(len(self.violations("runtime/misc/a.hpp", '"runtime/base/ids.hpp"')), 1)

    def test_layers_of_one_rank_use_each_other_in_one_direction(self):
        self.assertEqual(self.violations("runtime/task/task.hpp", '"runtime/resource/header.hpp"'), [])
        self.assertEqual(len(self.violations("runtime/resource/header.hpp", '"runtime/task/task.hpp"')), 1)

    def test_parts_of_the_server_see_lower_ones(self):
        for name, include in [("server/daemon/a.cpp", "server/net/a.hpp"), ("server/store/a.cpp", "server/journal/a.hpp"),
                              ("server/net/a.cpp", "server/stats/a.hpp"), ("server/journal/a.cpp", "server/journal/b.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertEqual(include_rules.violation(name, include), "")
        for name, include in [("server/journal/a.cpp", "server/store/a.hpp"), ("server/store/a.cpp", "server/net/a.hpp"),
                              ("server/commit/a.cpp", "server/reply/a.hpp"), ("server/reply/a.cpp", "server/commit/a.hpp"),
                              ("server/net/a.cpp", "server/daemon/a.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertNotEqual(include_rules.violation(name, include), "")

    def test_rooms_of_the_net_see_lower_ones(self):
        for name, include in [("server/net/worker/a.cpp", "server/net/connection/a.hpp"),
                              ("server/net/session/a.cpp", "server/net/users/a.hpp"),
                              ("server/net/session/a.cpp", "server/net/session/b.hpp"),
                              ("server/stats/a.cpp", "server/net/worker/a.hpp"),
                              ("server/net/session/a.cpp", "server/store/range/a.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertEqual(include_rules.violation(name, include), "")
        for name, include in [("server/net/session/a.cpp", "server/net/connection/a.hpp"),
                              ("server/net/session/a.cpp", "server/net/peers/a.hpp"),
                              ("server/net/users/a.hpp", "server/net/misc/a.hpp"),
                              ("server/net/a.cpp", "server/net/users/a.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertNotEqual(include_rules.violation(name, include), "")

    def test_wings_of_the_store_see_lower_ones(self):
        for name, include in [("server/store/point/a.cpp", "server/store/core/a.hpp"), ("server/store/store.cpp", "server/store/batch/a.hpp"),
                              ("server/store/core/a.cpp", "server/store/item/a.hpp"), ("server/store/range/a.cpp", "server/store/range/b.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertEqual(include_rules.violation(name, include), "")
        for name, include in [("server/store/core/a.cpp", "server/store/point/a.hpp"), ("server/store/batch/a.cpp", "server/store/range/a.hpp"),
                              ("server/store/item/a.cpp", "server/store/core/a.hpp"), ("server/store/new/a.cpp", "server/store/core/a.hpp"),
                              ("server/store/point/a.cpp", "server/store/session_store.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertNotEqual(include_rules.violation(name, include), "")

    def test_files_of_the_store_include_each_other_in_one_direction(self):
        self.write("server/store/range/a.hpp", "#pragma once\n")
        self.write("server/store/range/b.hpp", '#include "server/store/range/a.hpp"\n')
        self.assertEqual(include_rules.check(self.root), [])
        self.write("server/store/range/a.cpp", '#include "server/store/range/b.hpp"\n')
        self.assertEqual(include_rules.check(self.root), ["server/store/range/a: includes lead in a circle: "
                                                          "server/store/range/a, server/store/range/b"])

    def test_each_folder_sees_what_it_may(self):
        for name, include in [("index/tree.hpp", "runtime/scheduler/worker.hpp"),
                              ("protocol/parser.hpp", "runtime/base/result.hpp"),
                              ("config/options.hpp", "runtime/options.hpp"),
                              ("config/options.hpp", "index/options.hpp"),
                              ("config/resolve.hpp", "runtime/topology/topology.hpp"),
                              ("server/main.cpp", "config/load.hpp"), ("bench/tree.cpp", "index/tree.hpp"),
                              ("tests/unit/server/a.cpp", "server/daemon.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertEqual(include_rules.violation(name, include), "")

    def test_each_folder_is_kept_from_the_rest(self):
        for name, include in [("runtime/base/ids.hpp", "protocol/parser.hpp"), ("index/tree.hpp", "protocol/parser.hpp"),
                              ("protocol/parser.hpp", "runtime/topology/topology.hpp"),
                              ("protocol/parser.hpp", "index/tree.hpp"), ("config/load.hpp", "runtime/memory/heap.hpp"),
                              ("config/load.hpp", "server/daemon.hpp"), ("server/main.cpp", "bench/client.hpp"),
                              ("server/main.cpp", "tests/model.hpp"), ("bench/a.cpp", "tests/model.hpp"),
                              ("server/main.cpp", "daemon.hpp")]:
            with self.subTest(name=name, include=include):
                self.assertNotEqual(include_rules.violation(name, include), "")

    def test_a_library_has_one_door(self):
        self.write("runtime/topology/a.cpp", "#include <hwloc.h>\n")
        self.assertEqual(include_rules.check(self.root), [])
        self.write("runtime/topology/b.cpp", "#include <hwloc.h>\n")
        self.assertEqual(len(include_rules.check(self.root)), 1)

    def test_a_wrapper_and_its_source_are_one_door(self):
        self.write("server/net/asio.hpp", "#include <boost/asio.hpp>\n")
        self.write("server/net/asio.cpp", "#include <boost/asio/impl/src.hpp>\n")
        self.assertEqual(include_rules.check(self.root), [])

    def test_a_library_in_the_wrong_folder_is_caught(self):
        for name, header in [("server/a.cpp", "yaml-cpp/yaml.h"), ("runtime/base/a.cpp", "spdlog/spdlog.h"),
                             ("protocol/a.cpp", "boost/asio.hpp"), ("server/b.cpp", "hwloc.h"),
                             ("index/a.cpp", "numa.h")]:
            with self.subTest(name=name):
                self.assertTrue(any("must not know" in found for found in self.violations(name, f"<{header}>")))

    def test_tests_may_include_any_library(self):
        self.assertEqual(self.violations("tests/unit/a.cpp", "<yaml-cpp/yaml.h>"), [])


class TextRulesTest(Invented):
    def test_a_good_header_is_fine(self):
        self.write("runtime/base/a.hpp", "// What it is.\n#pragma once\n")
        self.assertEqual(text_rules.check(self.root), [])

    def test_a_file_without_opening_or_pragma_is_caught(self):
        self.write("runtime/base/a.hpp", "int x;\n")
        self.assertEqual(len(text_rules.check(self.root)), 2)

    def test_a_long_page_of_the_architecture_is_caught(self):
        self.write("server/architecture/store.md", "A line.\n" * 171)
        self.write("server/OPERATING.md", "A line.\n" * 171)
        self.assertEqual(len(text_rules.check(self.root)), 1)

    def test_a_source_is_explained_by_its_header(self):
        self.write("index/a.cpp", "int x;\n")
        self.assertEqual(len(text_rules.check(self.root)), 1)
        self.write("index/a.hpp", "// What it is.\n#pragma once\n")
        self.assertEqual(text_rules.check(self.root), [])

    def test_a_file_that_is_too_long_is_caught_and_one_that_just_fits_is_not(self):
        self.write("index/a.cpp", "// a\n" * text_rules.MOST_LINES)
        self.assertEqual(text_rules.check(self.root), [])
        self.write("index/a.cpp", "// a\n" * (text_rules.MOST_LINES + 1))
        self.assertEqual(len(text_rules.check(self.root)), 1)

    def test_a_program_that_parses_by_cli11_itself_is_caught(self):
        self.write("bench/a.cpp", "// a\n  app.parse(count, words);\n")
        self.write("bench/b.cpp", "// b\n  CLI11_PARSE(app, count, words);\n  mxkv::runtime::parse_words(app, words);\n")
        self.assertEqual([text.split(": ")[0] for text in text_rules.check(self.root)], ["bench/a.cpp:2", "bench/b.cpp:2"])

    def test_a_main_that_does_not_open_the_standard_streams_first_is_caught(self):
        self.write("server/daemon/main.cpp", "// a\nint main(int count, char** words) {\n  return 0;\n}\n")
        self.write("bench/a.cpp", "// a\nint main() {\n  mxkv::runtime::open_standard_streams();\n}\n")
        self.write("tests/a.cpp", "// a\nint main() {\n}\n")
        self.assertEqual([text.split(": ")[0] for text in text_rules.check(self.root)], ["server/daemon/main.cpp:2"])

    def test_a_command_of_the_shell_that_prints_by_itself_is_caught(self):
        self.write("protocol/clients/cli/commands/a.cpp", "// a\n  std::fprintf(stderr, text);\n  std::snprintf(text);\n")
        self.write("protocol/clients/cli/session.cpp", "// a\n  std::fwrite(text);\n")
        self.assertEqual([text.split(": ")[0] for text in text_rules.check(self.root)], ["protocol/clients/cli/commands/a.cpp:2"])

    def test_a_comparison_by_the_order_of_enumerators_is_caught_in_the_product(self):
        text = ("// a\nenum class kind { get, range };\n  if (one.kind < ns::kind::range && kind::get <= two &&\n"
                "      kind::get == two && size < limits::most && sum<kind::get>(3) < 4) {\n")
        self.write("server/a.cpp", text)
        self.write("bench/a.cpp", text)
        self.assertEqual([text.split(": ")[0] for text in text_rules.check(self.root)], ["server/a.cpp:3", "server/a.cpp:3"])

    def test_leftovers_are_caught(self):
        self.write("index/a.cpp", "// a\n// TO" "DO: later\n")
        self.assertEqual(text_rules.check(self.root), ["index/a.cpp:2: contains TO" "DO"])


class TopLevelTest(Invented):
    def test_only_listed_entries_may_be_there(self):
        for name in top_level.NEEDED:
            self.write(name, "")
        self.write("runtime/base/a.hpp", "")
        self.assertEqual(top_level.check(self.root), [])
        self.write("notes.txt", "")
        self.write("src/a.cpp", "")
        self.assertEqual(top_level.check(self.root), ["notes.txt: does not belong in the root",
                                                      "src: does not belong in the root"])

    def test_a_needed_file_that_is_missing_is_told(self):
        self.assertEqual(len(top_level.check(self.root)), len(top_level.NEEDED))


class DuplicatesTest(Invented):
    LINES = [f"value_{number} = compute({number});" for number in range(duplicates.WINDOW)]

    def test_six_equal_lines_in_two_files_are_caught_whatever_their_blanks(self):
        self.write("index/a.cpp", "// a\nint first;\n" + "\n".join(self.LINES))
        self.write("index/b.cpp", "// b\n" + "\n\n".join("    " + line for line in self.LINES))
        self.assertEqual(duplicates.check(self.root), ["the same lines in index/a.cpp:3 and index/b.cpp:2"])

    def test_five_equal_lines_are_not(self):
        self.write("index/a.cpp", "\n".join(self.LINES[:-1]))
        self.write("index/b.cpp", "\n".join(self.LINES[:-1]))
        self.assertEqual(duplicates.check(self.root), [])

    def test_openings_and_braces_are_no_copies(self):
        opening = "// same\n#include <a>\n#include <b>\n#include <c>\nnamespace x {\n{\n}\n}\n}\n}\n"
        self.write("index/a.cpp", opening)
        self.write("index/b.cpp", opening)
        self.assertEqual(duplicates.check(self.root), [])


class ScriptsTest(Invented):
    def violations(self, text, mode=0o755):
        self.write("tests/run", text)
        (self.root / "tests/run").chmod(mode)
        return scripts.check(self.root)

    def test_a_good_script_is_fine(self):
        self.assertEqual(self.violations("#!/usr/bin/env bash\nset -euo pipefail\necho a/work/b\n"), [])

    def test_each_fault_is_caught(self):
        head = "#!/usr/bin/env bash\nset -euo pipefail\n"
        self.assertEqual(len(self.violations(head + "if true; then\n")), 1)
        self.assertEqual(len(self.violations(head, mode=0o644)), 1)
        self.assertEqual(len(self.violations("#!/usr/bin/env bash\n")), 1)
        self.assertEqual(len(self.violations(head + "cd /" "work/x\n")), 1)


if __name__ == "__main__":
    unittest.main()
