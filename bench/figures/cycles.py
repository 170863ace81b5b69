"""Divides the time of figure-cycles into categories, by samples of perf's CPU clock [Mx fig. 13].

perf interrupts the program some thousand times a second of CPU time. addr2line tells for each sampled address the
function that it lies in and the functions that it was inlined into. A sample belongs to the first category of CATEGORIES
that has any of these functions. So code inlined into a category's functions counts for that category, unless an earlier row
claims it. A stall shows at the instruction that waits or shortly behind it. The wait for a node that is not in the cache shows
where the node is first touched: in the version check (synchronization) or the search (tree), and in the prefetch if the
processor has no room for another one.
"""
import bisect
import collections
import pathlib
import re
import shutil
import subprocess
import tempfile

SAMPLES_A_SECOND = 4000

# Category, its description, and its functions: beginnings of names without template arguments.
CATEGORIES = [
    ("choosing keys", "the benchmark itself",
     ["mxkv::bench::key_of", "mxkv::bench::SharedWork", "mxkv::runtime::Random"]),
    ("prefetching", "asking for the annotated lines",
     ["mxkv::runtime::MxTask::prefetch", "mxkv::runtime::prefetch_read"]),
    ("synchronization", "versions and latches",
     ["mxkv::runtime::OptimisticRead", "mxkv::runtime::WriteLatch", "mxkv::runtime::SharedLatch",
      "mxkv::runtime::HeldVersion", "mxkv::runtime::detail::inspect_", "mxkv::runtime::cpu_relax",
      "mxkv::bench::VersionGuard", "mxkv::bench::LatchGuard"]),
    ("epochs", "epochs, pins, retiring and reclaiming",
     ["mxkv::runtime::EpochManager", "mxkv::runtime::RetireList", "mxkv::runtime::light_fence",
      "mxkv::runtime::heavy_fence", "mxkv::runtime::Worker::pin", "mxkv::runtime::Worker::unpin",
      "mxkv::runtime::Worker::repin", "mxkv::runtime::Worker::retire", "mxkv::runtime::Worker::reclaim",
      "mxkv::runtime::Worker::ReclaimTask", "mxkv::runtime::Worker::maintain"]),
    ("allocation", "of tasks and nodes",
     ["mxkv::runtime::CoreHeap", "mxkv::runtime::ProcessorHeap", "mxkv::runtime::TaskMemory",
      "mxkv::runtime::ValueHeap", "mxkv::runtime::ValueSpace", "mxkv::runtime::SuperblockPool", "mxkv::runtime::Span",
      "mxkv::runtime::PageRange", "mxkv::runtime::Memory", "mxkv::runtime::Worker::create",
      "mxkv::runtime::Worker::allocate_block", "mxkv::runtime::Worker::release_block", "mxkv::runtime::Worker::finish"]),
    ("tree", "descent, search, inserting into nodes, splits", ["mxkv::index::", "mxkv::bench::DirectWalk"]),
    ("runtime", "spawn, dispatch, prefetch buffer, pools; of threads: the loop over operations; oneTBB",
     ["mxkv::runtime::", "mxkv::bench::drive_write", "mxkv::bench::do_operation", "mxkv::bench::run_",
      "mxkv::bench::start_operation", "mxkv::bench::ModelTask", "mxkv::bench::ModelRead", "mxkv::bench::ModelWrite", "tbb::"]),
]
KERNEL = "kernel"  # page faults of new memory, the timer
RUNTIME = "runtime"  # also all of oneTBB's library
REST = "rest"  # other libraries, and addresses without a name


def without_templates(name):
    """"unsigned long a::(anonymous namespace)::b<c<d> >(e)" is "a::b"."""
    name = name.replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name.split("(", 1)[0].split(" ")[-1]


def category_of(frames):
    names = [without_templates(frame) for frame in frames]
    for category, _, functions in CATEGORIES:
        if any(name.startswith(function) for name in names for function in functions):
            return category
    return REST


class Program:
    """The place of a recorded process's program in memory; converts its addresses."""

    def __init__(self, path):
        self.path = str(path)
        self.segments = []  # first byte's place in the file, in the program's own addresses, and length
        headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True)
        for line in headers.stdout.splitlines():
            if (fields := line.split()) and fields[0] == "LOAD":
                self.segments.append((int(fields[1], 16), int(fields[2], 16), int(fields[4], 16)))
        self.mapped = []  # first and last address, place in the file

    def map(self, start, length, offset):
        self.mapped.append((start, start + length, offset))

    def address(self, sampled):
        """A sampled address as the program's own, or None."""
        for start, end, offset in self.mapped:
            if start <= sampled < end:
                place = sampled - start + offset
                for first, own, length in self.segments:
                    if first <= place < first + length:
                        return place - first + own
        return None

    def frames(self, addresses):
        """The functions at each address, the innermost first."""
        # By a file: there are more addresses than a command line takes.
        asked = subprocess.run(["addr2line", "-a", "-f", "-i", "-C", "-e", self.path], text=True, check=True,
                               input="".join(f"{address:#x}\n" for address in addresses), capture_output=True)
        found = []
        for line in asked.stdout.splitlines():
            if re.fullmatch(r"0x[0-9a-f]+", line):
                found.append([])
            else:
                found[-1].append(line)
        return [lines[::2] for lines in found]  # every other line is a file and line number


MAPPING = re.compile(r"PERF_RECORD_MMAP2 .*\[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) .* [r-]-xp (\S+)$")
SAMPLE = re.compile(r"\s*(\d+\.\d+):\s+(\d+)\s+([0-9a-f]+) .*\(([^()]*)\)$")


def categories(program, recording, phases):
    """Nanoseconds by phase and category."""
    told = subprocess.run(["perf", "script", "-i", recording, "-F", "time,period,ip,sym,dso", "--show-mmap-events"],
                          capture_output=True, text=True, check=True)
    samples = []  # phase, address or None, category or None, nanoseconds
    begins = [begin for _, begin, _, _ in phases]
    for line in told.stdout.splitlines():
        if mapping := MAPPING.search(line):
            if mapping[4] == program.path:
                program.map(int(mapping[1], 16), int(mapping[2], 16), int(mapping[3], 16))
            continue
        if not (sample := SAMPLE.match(line)):
            continue
        at = float(sample[1])
        phase = bisect.bisect_right(begins, at) - 1
        if phase < 0 or at >= phases[phase][2]:
            continue
        own = program.address(int(sample[3], 16)) if sample[4] == program.path else None
        fixed = (None if own is not None else KERNEL if sample[4].startswith("[kernel") else
                 RUNTIME if "/libtbb" in sample[4] else REST)
        samples.append((phase, own, fixed, int(sample[2])))
    addresses = sorted({own for _, own, _, _ in samples if own is not None})
    by_address = dict(zip(addresses, map(category_of, program.frames(addresses)))) if addresses else {}
    sums = collections.Counter()
    for phase, own, fixed, nanoseconds in samples:
        sums[phase, fixed or by_address[own]] += nanoseconds
    return sums


def missing():
    """The reason why this machine cannot record, or None."""
    for tool in ("perf", "addr2line", "readelf"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    tried = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-o", "/dev/null", "true"], capture_output=True,
                           text=True, check=False)
    return None if tried.returncode == 0 else "perf may not record here"


def record(command, program):
    """Runs a program under perf. Returns its lines, and (phase's name, category, nanoseconds an operation)."""
    with tempfile.TemporaryDirectory() as folder:
        recording, phases_file = pathlib.Path(folder) / "perf.data", pathlib.Path(folder) / "phases"
        done = subprocess.run(["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F",
                               str(SAMPLES_A_SECOND), "-o", recording, *command, "--phases", phases_file],
                              stdout=subprocess.PIPE, text=True, check=True)
        phases = [(name, float(begin), float(end), int(operations))
                  for name, begin, end, operations in map(str.split, phases_file.read_text().splitlines())]
        sums = categories(Program(pathlib.Path(program).resolve()), recording, phases)
    names = [category for category, _, _ in CATEGORIES] + [KERNEL, REST]
    return done.stdout.splitlines(), [(phase[0], category, sums[i, category] / phase[3])
                                      for i, phase in enumerate(phases) for category in names]
