#!/usr/bin/env python3
"""By hand: sessions of the fuzzer, one after the other, until the time is up or an answer is wrong.

usage: fuzz.py [--seconds 3600] [--seed N] [--session 10] [--plan WORDS] [--mxkvd PATH] [--keep-going]
Exit code 1 if an answer was wrong. The output then has the seed and the plan, with which the same requests are sent again.
"""

import argparse
import os
import random
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=None, help="of the first session; each next one has one more")
    parser.add_argument("--session", type=float, default=10, help="seconds of a session")
    parser.add_argument("--plan", default="", help="only plans whose name has these words")
    parser.add_argument("--mxkvd", default=None, help="path of the daemon")
    parser.add_argument("--keep-going", action="store_true", help="other sessions after one that failed")
    parser.add_argument("--ask-all", action="store_true", help="what is left out otherwise, too: UNASKED in fuzzer.py")
    arguments = parser.parse_args()
    if arguments.mxkvd:
        os.environ["MXKVD"] = arguments.mxkvd
    from fuzzer import UNASKED  # reads MXKVD
    from runs import NAMES, run

    names = [name for name in NAMES if arguments.plan in name]
    excluded = () if arguments.ask_all else UNASKED
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    begin, failures, requests = time.monotonic(), 0, 0
    while (passed := time.monotonic() - begin) < arguments.seconds and (failures == 0 or arguments.keep_going):
        name = names[seed % len(names)]
        outcome = run(name, seed, min(arguments.session, arguments.seconds - passed), excluded)
        requests += outcome.requests
        failures += outcome.failure is not None
        print(f"seed {seed}, {name}: {outcome.requests} requests, {'FAILED' if outcome.failure else 'right'}", flush=True)
        if outcome.log:
            print(f"{len(outcome.log)} errors in the log:", *outcome.log[:3], sep="\n  ", flush=True)
        if outcome.failure:
            print(outcome.failure, flush=True)
        seed += 1
    print(f"{requests} requests in {time.monotonic() - begin:.0f} s, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
