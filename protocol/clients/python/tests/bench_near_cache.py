"""Prints how many hits of a near cache one thread gets in a second. Stores ten thousand items at a server, and deletes them.

    MXKV_PORT=11211 python3 tests/bench_near_cache.py
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mxkv  # noqa: E402: found by the path above

ITEMS, SECONDS = 10_000, 3


def main() -> None:
    keys = [f"bench:near:{number}" for number in range(ITEMS)]
    with mxkv.PooledClient(f"127.0.0.1:{os.environ['MXKV_PORT']}", timeout=30) as client:
        client.set_many(dict.fromkeys(keys, "x" * 100))
        with mxkv.NearCache(client, "bench:near:", max_stale=10) as near:
            while near.entries < ITEMS or not near.is_live:
                for key in keys:
                    near.get(key)
            get, hits, begin, cpu = near.get, 0, time.perf_counter(), time.process_time()
            while time.perf_counter() - begin < SECONDS:
                for key in keys:
                    get(key)
                hits += ITEMS
            print(f"Python: {hits / (time.perf_counter() - begin):,.0f} hits/s, {hits / (time.process_time() - cpu):,.0f} a second of CPU")
        client.delete_range("bench:near:")


if __name__ == "__main__":
    main()
