"""Another commit to measure against: builds its programs with its own preset bench, and names the rows that became worse.

A commit's tree is laid out and built in build/against/HASH, and kept there: it is not built again. Thread-safety: one
process at a time.
"""
import dataclasses
import pathlib
import shutil
import statistics
import subprocess
import sys

PRESET = "bench"
TOLERANCE = 1.03
LINES_OF_FAILURE = 15


@dataclasses.dataclass(frozen=True)
class Build:
    """A build tree and its name in tables."""

    name: str
    folder: pathlib.Path


def add_arguments(parser):
    """--against, --beside and --tolerance."""
    group = parser.add_argument_group("against another commit")
    group.add_argument("--against", metavar="COMMIT", help="build it and the working tree, measure both in turns, print ratios")
    group.add_argument("--beside", metavar="BUILD", type=pathlib.Path, help="the same with a build tree that is there")
    group.add_argument("--tolerance", type=float, default=TOLERANCE,
                       help=f"rows that take more than so many times as much are named (default: {TOLERANCE})")


def other_build(options, root, targets):
    """The Build that the options ask for, or None. Ends the program if that build does not exist."""
    if options.against:
        return build_commit(root, options.against, targets)
    return Build("beside", options.beside) if options.beside else None


def output_of(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def build_commit(root, revision, targets):
    """Builds the programs of any revision that git knows. Ends the program with a message on failure."""
    commit = output_of(["git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"], root)
    if not commit:
        sys.exit(f"--against: {revision} is no commit of {root}")
    source = root / "build" / "against" / commit[:12]
    if not source.exists():
        lay_out(root, commit, source)
    if f'"{PRESET}"' not in text_of(source / "CMakePresets.json"):
        sys.exit(f"--against: {revision} has no preset {PRESET} in its CMakePresets.json, and cannot be built")
    build_tree(source, targets, f"--against: {revision} does not build")
    return Build(commit[:8], source / "build" / PRESET)


def lay_out(root, commit, source):
    """Extracts the commit's files; `source` is complete or does not exist."""
    begun = source.with_name(source.name + ".begun")
    shutil.rmtree(begun, ignore_errors=True)
    begun.mkdir(parents=True)
    with subprocess.Popen(["git", "archive", "--format=tar", commit], cwd=root, stdout=subprocess.PIPE) as archive:
        unpacked = subprocess.run(["tar", "-x", "-C", begun], stdin=archive.stdout, check=False)
    if archive.returncode != 0 or unpacked.returncode != 0:
        sys.exit(f"--against: the files of {commit} could not be laid out in {begun}")
    begun.rename(source)


def text_of(file):
    return file.read_text(encoding="utf-8") if file.exists() else ""


def build_tree(source, targets, problem):
    """Builds these targets by preset bench, quietly. A failure prints the step's last output with `problem`."""
    configure = [] if (source / "build" / PRESET / "build.ninja").exists() else [["cmake", "--preset", PRESET]]
    for command in (*configure, ["cmake", "--build", "--preset", PRESET, "--target", *targets]):
        print(f"{source}: {' '.join(command)}", file=sys.stderr)
        done = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            last = "\n".join(done.stdout.rstrip().splitlines()[-LINES_OF_FAILURE:])
            sys.exit(f"{problem}: {' '.join(command)} in {source} ended with {done.returncode}\n{last}")


def median_ratio(above, below):
    """(median, least, most) of the rounds' ratios; None where a round lacks one."""
    ratios = [one / other for one, other in zip(above, below) if other]
    return (statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def closing_line(cost_ratios, name, tolerance):
    """`cost_ratios`: by row, its cost here divided by its cost there. Names the rows that became worse."""
    worse = [f"{row} ({ratio:.3f})" for row, ratio in cost_ratios.items() if ratio > tolerance]
    if worse:
        return f"worse than {tolerance} times {name}: " + ", ".join(worse)
    return f"of {len(cost_ratios)} rows none is worse than {tolerance} times {name}"
