"""The rows of the comparison: the requests to every server, and mxkvd's goals."""
import dataclasses

HOT_RECORDS = 10_000
OPEN_LOOP_S = 2  # the length of a round of an open loop


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement: kind of operation, connections x depth, and operations a round."""

    name: str
    kind: str
    connections: int
    depth: int
    operations: int
    hot: bool = False  # only the first HOT_RECORDS records
    large: bool = False  # ten times the records
    rate: int = 0  # an open loop of so many operations a second; 0: a closed loop
    # The figures that are compared beside CPU time, as outcome.FIGURES names them.
    compared: tuple = ()
    # The goals: (figure, reach, aim or None). A figure is "us", or "times X" with X a server's or a row's name.
    goals: tuple = ()

    @property
    def section(self):
        """The operation's name in the client's report."""
        return {"get": "READ", "set": "UPDATE", "multiget": "MULTI-READ", "scan": "SCAN"}[self.kind]


def open_loop(rate, connections, goals=()):
    """GETs at due times that do not wait for the server, over connections of one request each."""
    return Row(f"GET {connections}x1 {rate // 1000}k/s", "get", connections, 1, OPEN_LOOP_S * rate, rate=rate,
               compared=("p50_us", "p99_us"), goals=goals)


ROWS = (
    Row("GET 1x1", "get", 1, 1, 40_000, compared=("ops",), goals=(("times memcached", 1.0, 0.9),)),
    *(open_loop(rate, connections, (("times memcached", 1.0, 0.8),))
      for rate in (1_000, 8_000, 50_000) for connections in (16, 256)),
    Row("GET 32x1", "get", 32, 1, 150_000, goals=(("times echo", 1.05, 1.0),)),
    Row("GET 256x1", "get", 256, 1, 150_000),
    Row("GET 32x16", "get", 32, 16, 500_000, goals=(("times echo", 1.6, 1.25), ("times redis", 0.25, 0.2))),
    Row("GET 32x64", "get", 32, 64, 800_000, goals=(("times echo", 1.6, 1.4), ("times redis", 0.15, 0.11))),
    Row("GET 1x64", "get", 1, 64, 400_000, goals=(("times echo", 1.4, 1.15),)),
    Row("GET 256x16", "get", 256, 16, 500_000, goals=(("times echo", 1.5, 1.1),)),
    Row("GET 32x64 hot", "get", 32, 64, 1_000_000, hot=True, goals=(("times redis", 0.28, 0.22),)),
    Row("GET 32x64 large", "get", 32, 64, 800_000, large=True,
        goals=(("times echo", 2.0, 1.4), ("times GET 32x64", 2.0, 1.4))),
    Row("SET 32x16", "set", 32, 16, 400_000, goals=(("times redis", 0.5, 0.35),)),
    Row("SET 32x64", "set", 32, 64, 600_000, goals=(("times redis", 0.17, 0.14),)),
    Row("100-key get 32x1", "multiget", 32, 1, 10_000, goals=(("times redis", 0.15, 0.1),)),
    Row("SCAN 100 32x1", "scan", 32, 1, 15_000, goals=(("times echo", 1.8, 1.5), ("times redis", 0.15, None))),
    Row("SCAN 100 32x16", "scan", 32, 16, 20_000, goals=(("times echo", 2.2, 1.8), ("times redis", 0.09, None))),
)
