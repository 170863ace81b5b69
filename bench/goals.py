"""The goals of a figure, and whether it meets them: the reach, which counts, and the aim beyond it."""


def state(value, reach, aim, more_is_better=False):
    """"no", "reached" or "aim"; "-" if the figure was not measured. `aim` may be None."""
    def there(sought):
        return value >= sought if more_is_better else value <= sought

    if value is None:
        return "-"
    if aim is not None and there(aim):
        return "aim"
    return "reached" if there(reach) else "no"


def told(reach, aim):
    return f"{reach} (aim {aim})" if aim is not None else f"{reach}"


def table(rows, more_is_better=()):
    """`rows`: (name, value or None, reach, aim or None); less is better, except for the names in `more_is_better`."""
    lines = ["", f"{'mxkv against what is sought':40} {'here':>9}{'reach':>9}{'aim':>9}"]
    for name, value, reach, aim in rows:
        here = f"{value:.2f}" if value is not None else "-"
        lines.append(f"{name:40} {here:>9}{reach:>9}{aim if aim is not None else '-':>9}"
                     f"  {state(value, reach, aim, name in more_is_better)}")
    return "\n".join(lines)
