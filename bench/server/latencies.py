"""Percentiles over several kinds of operation, from the histograms in the load client's results (--json)."""
import math

PRECISION_BITS = 7


def last_ns_of(bucket):
    """The greatest latency that counts into a bucket: each power of two is cut into 2 ** PRECISION_BITS of them."""
    if bucket < 2 << PRECISION_BITS:
        return bucket
    shift = (bucket >> PRECISION_BITS) - 1
    return ((bucket - (shift << PRECISION_BITS) + 1) << shift) - 1


def percentile_us(result, kinds, percent, histogram="latency"):
    """The percentile of all operations of these kinds together, in microseconds; None if there were none."""
    if result["histogram_precision_bits"] != PRECISION_BITS:
        raise ValueError("the client's histograms have another precision")
    counts, greatest_ns = {}, 0
    for kind in kinds:
        if kind in result["results"]:
            found = result["results"][kind][histogram]
            greatest_ns = max(greatest_ns, found["max_ns"])
            for bucket, count in zip(found["buckets"][::2], found["buckets"][1::2]):
                counts[bucket] = counts.get(bucket, 0) + count
    rank = max(math.ceil(percent / 100 * sum(counts.values())), 1)
    for bucket in sorted(counts):
        rank -= counts[bucket]
        if rank <= 0:
            return min(last_ns_of(bucket), greatest_ns) / 1000
    return None
