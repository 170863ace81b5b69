"""Completion in bash, zsh and fish: it offers what the programs' own help lists, and runs in each shell that is installed."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import machine

FOLDER = machine.REPOSITORY / "server" / "completions"
PROGRAMS = {"mxkvd": "server/mxkvd", "mxkv-cli": "protocol/clients/cli/mxkv-cli", "mxkv-ycsb": "bench/mxkv-ycsb"}
BASH = """source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mxkv; printf '%s\\n' "${COMPREPLY[@]}"; complete -p "$1" >&2"""
# In place of the functions of zsh, which need a terminal: these print the offered words.
ZSH = """_files() { print FILES }; _describe() { print -rl -- "${(@P)2}" }; compadd() { shift; print -rl -- "$@" }
words=("$@"); CURRENT=$#; file=$0; set --; source $file"""
FISH = "source $argv[1]; complete -C (string join ' ' -- $argv[2..-1])"


class Cases:
    """Of each shell: offered(words) is the set of words that it offers for the last one, without descriptions."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        for name, path in PROGRAMS.items():
            Path(folder.name, name).symlink_to(machine.BUILD / path)
        cls.environment = os.environ | {"PATH": f"{folder.name}:{os.environ['PATH']}", "HOME": folder.name}
        cls.folder = folder.name

    def shell(self, *command) -> list:
        done = subprocess.run([str(part) for part in command], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, check=True, stdin=subprocess.DEVNULL)
        return [line for line in done.stdout.splitlines() if line]

    def listed(self, *command) -> tuple:
        """Subcommands and options that the program's help lists."""
        text = self.shell(self.environment["PATH"].split(":")[0] + "/" + command[0], *command[1:], "--help")
        section, found = "", {"Subcommands:": set(), "Options:": set()}
        for line in text:
            if not line.startswith(" "):
                section = line
            elif section in found and (match := re.match(r"  (?:-\w,)?((?:--)?[a-z][a-z-]*)\b", line)):
                found[section].add(match[1])
        return found["Subcommands:"], found["Options:"]

    def test_subcommands_and_options_are_those_of_the_help(self):
        for command in (["mxkvd"], ["mxkv-cli"], ["mxkv-ycsb"], ["mxkvd", "cluster"], ["mxkvd", "cluster", "init"],
                        ["mxkv-cli", "scan"], ["mxkv-ycsb", "run"]):
            with self.subTest(command=command):
                subcommands, options = self.listed(*command)
                self.assertEqual({word for word in self.offered(*command, "--") if word.startswith("--")}, options)
                if subcommands:
                    self.assertLessEqual(subcommands, self.offered(*command, ""))
                    self.assertFalse({word for word in self.offered(*command, "x") if word.startswith("-")})

    def test_the_value_of_an_option_is_no_subcommand(self):
        scan_only = self.listed("mxkv-cli", "scan")[1] - self.listed("mxkv-cli")[1]
        self.assertFalse(scan_only & self.offered("mxkv-cli", "--server", "scan", "--"))
        self.assertFalse({"check", "cluster"} & self.offered("mxkvd", "--config", ""))
        self.assertIn("scan", self.offered("mxkv-cli", "-s", "host", ""))
        self.assertLessEqual(scan_only, self.offered("mxkv-cli", "--json", "scan", "--"))


@machine.needs(machine.missing("bash"))
class BashTest(Cases, unittest.TestCase):
    def offered(self, *words) -> set:
        return set(self.shell("bash", "--norc", "-c", BASH, FOLDER / "mxkv.bash", *words))


@machine.needs(machine.missing("zsh"))
class ZshTest(Cases, unittest.TestCase):
    def offered(self, *words) -> set:
        return {word.split(":")[0] for word in self.shell("zsh", "-fc", ZSH, FOLDER / "_mxkv", *words)}

    def test_the_file_says_which_programs_it_is_for(self):
        first = (FOLDER / "_mxkv").read_text(encoding="utf-8").splitlines()[0]
        self.assertEqual(set(first.split()), {"#compdef", *PROGRAMS})


@machine.needs(machine.missing("fish"))
class FishTest(Cases, unittest.TestCase):
    def offered(self, *words) -> set:
        return {word.split("\t")[0] for word in self.shell("fish", "--no-config", "-c", FISH, FOLDER / "mxkv.fish", *words)}


if __name__ == "__main__":
    machine.main()
