"""Budgets of a request by part of its way (parts.py), in instructions of the worker. They are goals.

Nothing fails above a budget; `instructions --budget` shows both side by side. A column adds up to the request's own goal.
"""

GOALS = {"GET hit": 900, "SET": 1600, "get of 100 keys": 60_000, "scan of 100": 20_000, "scan of 100, 16 deep": 20_000}

# Part -> budgets in the order of GOALS.
PARTS = {
    "parse": (110, 250, 6000, 400, 400),
    "session": (60, 60, 1200, 500, 400),
    "order": (15, 40, 1500, 80, 100),
    "task": (60, 45, 4000, 100, 100),
    "window": (130, 170, 7500, 1200, 900),
    "tree": (310, 430, 24_000, 3600, 3600),
    "item": (90, 440, 7000, 6200, 6500),
    "reply": (75, 15, 6000, 6600, 7200),
    "completion": (45, 140, 2300, 420, 700),
    "sockets": (5, 10, 500, 900, 100),
}


def of(kind, part):
    """The budget of a part of this kind of request, or None."""
    if kind not in GOALS or part not in PARTS:
        return None
    return PARTS[part][list(GOALS).index(kind)]
