"""Bad subjects of a branch's own commits are caught; what others committed, merges, and places without git are left alone."""

import os
import subprocess
import unittest

import commits
from test_checks import Invented


class FlawsTest(unittest.TestCase):
    def test_a_good_subject_has_none(self):
        for subject in ("server/net: close a client once", ".github: add templates", "README: name the limits", "a: " + "b" * 69):
            self.assertEqual(commits.flaws(subject), [], subject)

    def test_each_flaw_is_named(self):
        for subject in ("close a client once", "server/net:close", "a: " + "b" * 70, "server: do this; and that", "server: do this."):
            self.assertEqual(len(commits.flaws(subject)), 1, subject)


class CommitsTest(Invented):
    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always", *arguments],
                       cwd=self.root, check=True, capture_output=True, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull})

    def commit(self, subject):
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def begin(self):
        self.git("init", "-q", "-b", "main")
        self.commit("An old subject; not ours.")

    def test_commits_of_a_branch_are_judged_and_those_before_are_not(self):
        self.begin()
        self.assertEqual(commits.check(self.root), [])
        self.git("checkout", "-q", "-b", "branch")
        self.commit("server: add a door")
        self.assertEqual(commits.check(self.root), [])
        self.commit("Added a door.")
        self.assertEqual(len(commits.check(self.root)), 2)

    def test_merges_are_left_alone(self):
        self.begin()
        self.git("checkout", "-q", "-b", "branch")
        self.commit("server: add a door")
        self.git("checkout", "-q", "main")
        self.commit("server: add a wall")
        self.git("checkout", "-q", "branch")
        self.git("merge", "-q", "--no-ff", "-m", "Merge branch 'main'.", "main")
        self.assertEqual(commits.check(self.root), [])

    def test_a_shallow_clone_and_a_folder_without_git_are_fine(self):
        self.assertEqual(commits.check(self.root), [])
        self.begin()
        self.commit("Another one.")
        clone = self.root / "clone"
        self.git("clone", "-q", "--depth", "1", self.root.as_uri(), str(clone))
        self.assertEqual(commits.check(clone), [])
        self.root = clone
        self.commit("no folder")
        self.assertEqual(len(commits.check(clone)), 1)


if __name__ == "__main__":
    unittest.main()
