"""The guides name what exists: each alert leads to its own section of the runbook, each option is one of the configuration, and
the guide for users of memcached has every flag that memcached prints."""

import re
import subprocess
import unittest

import documented
from harness import environment

GUIDES = documented.ROOT / "server" / "guides"
OPTIONS = documented.ROOT / "config" / "mxkv.yaml"
SECTIONS = ("memory", "durability", "cluster", "limits", "stats", "server", "admin", "log", "experimental")


def options() -> set:
    """Paths of all options of config/mxkv.yaml, and of their sections."""
    found, above = set(), []
    for line in OPTIONS.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"( *)([a-z_]+):", line):
            above = above[:len(match[1]) // 2] + [match[2]]
            found.add(".".join(above))
    return found


class RunbookTest(unittest.TestCase):
    def test_each_alert_names_its_section_and_each_section_is_of_an_alert(self):
        rules = (documented.ROOT / "server/admin/alerts.yaml").read_text(encoding="utf-8").split("- alert: ")[1:]
        sections = re.findall(r"(?m)^### (\w+)$", (GUIDES / "alerts.md").read_text(encoding="utf-8"))
        self.assertEqual([rule.split()[0] for rule in rules], sections)
        for rule in rules:
            name = rule.split()[0]
            self.assertIn(f'runbook: "server/guides/alerts.md#{name.lower()}"', rule, name)

    def test_each_section_says_where_to_look_and_what_to_do(self):
        for section in (GUIDES / "alerts.md").read_text(encoding="utf-8").split("\n### ")[1:]:
            self.assertRegex(section, r"\n- \*Look\*: \S.*\n- \*Do\*: \S", section.split()[0])


class ComparisonTest(unittest.TestCase):
    """Each cell about another server leads to a source, and each source has a date and is used."""

    def test_each_cell_has_a_source_with_a_date(self):
        text = (GUIDES / "comparison.md").read_text(encoding="utf-8")
        cells, sources = text.split("\n## Sources\n")
        dated = {number: date for number, date in re.findall(r"(?m)^\| (\d+[a-z]?) \| .* \| ([^|]+) \|$", sources)}
        self.assertTrue(all(re.search(r"\b20\d\d$|^undated$|^this version$", date) for date in dated.values()), dated)
        rows = re.findall(r"(?m)^\| \w[^|]*\|(.*)\|$", cells)
        self.assertGreater(len(rows), 10)
        used = {"0"}
        for row in rows:
            for cell in row.split("|")[1:]:
                numbers = re.findall(r"\[(\d+[a-z]?)\]", cell)
                self.assertTrue(numbers, cell)
                used.update(numbers)
        self.assertEqual(used, set(dated))


class OptionsTest(unittest.TestCase):
    def test_options_that_guides_name_exist(self):
        known, named = options(), 0
        for path in sorted(GUIDES.glob("*.md")):
            for option in re.findall(rf"`((?:{'|'.join(SECTIONS)})(?:\.[a-z_]+)+)", path.read_text(encoding="utf-8")):
                self.assertIn(option, known, path.name)
                named += 1
        self.assertGreater(named, 40)


@unittest.skipUnless(environment.MEMCACHED, "memcached is not installed")
class MemcachedFlagsTest(unittest.TestCase):
    def test_every_flag_that_memcached_prints_is_in_the_guide(self):
        text = (GUIDES / "from-memcached.md").read_text(encoding="utf-8")
        printed = subprocess.run([environment.MEMCACHED, "-h"], capture_output=True, text=True, check=False).stdout
        flags = set(re.findall(r"(?m)^(-[A-Za-z])\b", printed))
        extended = set(re.findall(r"(?m)^   - ([a-z_]+):", printed))
        self.assertGreater(len(flags), 25)
        self.assertGreater(len(extended), 20)
        rows = {flag for row in re.findall(r"(?m)^\| (`-[^|]*) \|", text) for flag in re.findall(r"`-o ([a-z_*]+)|`(-\w)|`([a-z_*]+)", row)}
        named = {part for flag in rows for part in flag if part}
        for flag in flags - {"-h"}:
            done = subprocess.run([environment.MXKVD, flag, "1"], capture_output=True, text=True, check=False)
            self.assertRegex(done.stderr, rf"^mxkvd: {flag}: memcached's flag; \S", "the server answers what the guide says")
            self.assertEqual(done.returncode, 2)
        starts = tuple(name[:-1] for name in named if name.endswith("*"))
        self.assertEqual(flags - named - {"-o"}, set())
        self.assertEqual({flag for flag in extended if flag not in named and not flag.startswith(starts)}, set())


if __name__ == "__main__":
    unittest.main()
