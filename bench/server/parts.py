"""The instructions of requests by part of their way: assigns callgrind's count of each address to a part.

Nearly all of that way is inlined into a few functions, so a function's count says little. By the program's line table each
address has a chain of frames, the innermost first; the first frame with a rule names the part. Helpers of all parts (atomics,
containers, the standard library) have no rule, and count where they are used. So do functions of other objects (memcpy, system
calls), by the place that calls them. Counts without a part are the rest.
"""
import collections
import re
import subprocess

PARTS = {
    "parse": "bytes become a request: the parser, lines and values cut from the input",
    "session": "what becomes of it: dispatch, shares, counters",
    "order": "may it start, which write is first, whose reply is next",
    "task": "a task is made of it, and put into the window",
    "window": "the loop over tasks: pools, prefetching, epochs",
    "tree": "nodes: looked at, hopped between, changed",
    "item": "the item: made, found, checked, copied from a leaf",
    "reply": "bytes of the reply",
    "completion": "the reply is complete, the task and what it retired are given back",
    "sockets": "system calls' wrappers, readiness, buffers of connections",
    "rest": "what no rule knows",
}
# (part, pattern of functions' names); then (part, pattern of files' paths). The innermost frame that matches one decides.
FUNCTIONS = [(part, re.compile(pattern)) for part, pattern in (
    ("task", r"\b(\w*Task)(<.*>)?::\1\(|TrailingKey::store|CoreHeap::allocate|::create_in\b|ReplyQueue::open"),
    ("completion", r"Worker::(finish|unpin)\b|CoreHeap::release|EpochManager::unpin|TaskAllocator::release"),
)]
FILES = [(part, re.compile(pattern)) for part, pattern in (
    ("reply", r"/protocol/reply\.|/server/store/item/value_reply\.|/server/store/point/\w*reply\."),
    (None, r"/protocol/words\."),
    ("parse", r"/protocol/\w+\.[ch]pp|/server/net/session/(\w+_intake\w*|input_buffer)\."),
    ("order", r"/server/net/\w+/(launcher|key_hash|waiting_requests)\.|/server/reply/(request_order|commit_order|sparse_ring)\."),
    ("completion", r"/server/reply/(reply_queue|connection_table|reply_address|worker_replies)\.|/server/store/core/store_task\."),
    ("reply", r"/server/reply/"),
    ("session", r"/server/net/(session|observe)/|/server/stats/"),
    ("sockets", r"/server/net/|/boost/asio/|/runtime/scheduler/event_poller\."),
    ("task", r"/server/store/(store|session_store|core/store_state)\."),
    (None, r"/server/store/core/worker_context\."),
    ("item", r"/server/store/|/runtime/memory/(value_heap|value_space|size_classes|span)\."),
    (None, r"/index/key\."),
    ("tree", r"/index/"),
    ("completion", r"/runtime/epoch/retire_list\.|/runtime/scheduler/reclaimer\."),
)]
# Rules for frames that name a part only if no frame around them does.
OUTER = [(part, re.compile(pattern)) for part, pattern in (
    ("window", r"/runtime/"), ("tree", r"/index/"), ("item", r"/server/store/"), ("parse", r"/protocol/"))]


def known(frame, rules_of_functions, rules_of_files):
    function, file = frame
    for part, pattern in rules_of_functions:
        if pattern.search(function):
            return part
    for part, pattern in rules_of_files:
        if pattern.search(file):
            return part
    return None


def part_of(frames):
    """The part of one address, by its frames (function, file), innermost first."""
    for functions, files in ((FUNCTIONS, FILES), ((), OUTER)):
        for frame in frames:
            if part := known(frame, functions, files):
                return part
    return "rest"


def by_part(file, program, requests):
    """Part -> instructions a request, from callgrind's `file`."""
    counts, total = counts_of(file, program)
    frames = frames_of(program, sorted(counts))
    found = dict.fromkeys(PARTS, 0)
    for address, count in counts.items():
        found[part_of(frames[address])] += count / requests
    found["rest"] += (total - sum(counts.values())) / requests
    return found


def counts_of(file, program):
    """Address -> instructions, from callgrind's `file`: the program's own, and at a call also the called other object's."""
    counts, total = collections.Counter(), 0
    ours, here, there = "", None, None
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("0x"):
                address, _, cost = line.split()
                total += int(cost)
                if here == ours:
                    counts[int(address, 16)] += int(cost)
            elif line.startswith("calls="):
                address, _, cost = next(lines).split()
                if here == ours and there not in (None, ours):
                    counts[int(address, 16)] += int(cost)
                there = None
            elif line.startswith("ob="):
                here = line[3:].strip()
                if here.endswith("/" + program.name) or here == str(program):
                    ours = here
            elif line.startswith("cob="):
                there = line[4:].strip()
    return counts, total


def frames_of(program, addresses):
    """Address -> its frames (function, file), innermost first."""
    done = subprocess.run(["addr2line", "-e", program, "-a", "-i", "-f", "-C"], input="\n".join(map(hex, addresses)),
                          capture_output=True, text=True, check=True)
    found = {}
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if re.fullmatch("0x[0-9a-f]{16}", line):
            frames = found.setdefault(int(line, 16), [])
        else:
            frames.append((line, next(lines).rsplit(":", 1)[0]))
    return found
