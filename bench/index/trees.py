"""Two trees row by row: points of `index_bench` of each round, at the best number of operations in flight, and ratios."""
import json
import statistics

import against

OURS = "mxkv"
PAYLOAD = "items: keys and values"


def points_of(file):
    """The points of a file of index_bench's lines; its first line is no point."""
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [point for point in lines if "container" in point]


def best_figures(points):
    """Row -> (figure, whether less is better), of our tree: its best million/s, and bytes, except bytes of texts."""
    found, beyond = {}, {}
    for point in points:
        if point["container"] != OURS:
            continue
        if point["unit"] == "bytes":
            if point["by"] != PAYLOAD:
                beyond[point["records"]] = beyond.get(point["records"], 0) + point["median"]
        else:
            row = f"{point['records']} {point['what']}, {point['by']}, {point['workers']} worker(s)"
            found[row] = (max(point["median"], found.get(row, (0, False))[0]), False)
    return found | {f"{records} bytes an entry beyond texts": (figure, True) for records, figure in beyond.items()}


def table(here, there, name, tolerance):
    """`here`, `there`: the best figures of each round. A ratio is the median of the rounds' ratios."""
    rows = [row for row in here[0] if all(row in figures for figures in (*here, *there))]
    lines = ["", f"mxkv against {name}: million/s, medians of the rounds and of their ratios, each at its best in flight", "",
             f"{'':55}{'mxkv':>9}{name:>10}{'ratio':>8}  least-most"]
    costs = {}
    for row in rows:
        one, other = ([figures[row][0] for figures in rounds] for rounds in (here, there))
        ratio, least, most = against.median_ratio(one, other)
        costs[row] = ratio if here[0][row][1] else 1 / ratio
        lines.append(f"{row:55}{statistics.median(one):9.3f}{statistics.median(other):10.3f}{ratio:8.3f}"
                     f"  {least:.3f}-{most:.3f}{'  worse' if costs[row] > tolerance else ''}")
    return "\n".join([*lines, "", against.closing_line(costs, name, tolerance)])
