"""Budgets of a request by part of its way (parts.py), in instructions of the worker. They are goals.

Nothing fails above a budget; `instructions --budget` shows both side by side. A column adds up to the request's own goal.
"""

GOALS = {"GET hit": 700, "SET": 1100, "get of 100 keys": 45_000, "scan of 100": 14_000, "scan of 100, 16 deep": 14_000}

# Part -> budgets in the order of GOALS.
PARTS = {
    "parse": (110, 150, 5000, 400, 500),
    "session": (10, 10, 600, 600, 500),
    "order": (10, 25, 200, 100, 200),
    "task": (10, 40, 300, 120, 120),
    "window": (15, 120, 200, 900, 800),
    "tree": (345, 400, 25_000, 2800, 2800),
    "item": (105, 240, 7000, 6200, 6200),
    "reply": (70, 40, 5500, 2100, 2200),
    "completion": (15, 65, 600, 280, 580),
    "sockets": (10, 10, 600, 500, 100),
}


def of(kind, part):
    """The budget of a part of this kind of request, or None."""
    if kind not in GOALS or part not in PARTS:
        return None
    return PARTS[part][list(GOALS).index(kind)]
