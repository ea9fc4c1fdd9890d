"""The counts of the server, in Prometheus's format."""

from bisect import bisect_left
from collections import Counter

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0)


class Histogram:
    """Counts of values by upper bound.

    >>> seen = Histogram((1.0, 2.0))
    >>> for value in (0.5, 2.0, 9.0): seen.add(value)
    >>> seen.counts, seen.total
    ([1, 1, 1], 11.5)
    """

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str) -> list[str]:
        """In Prometheus's format: the counts up to each bound, the sum and the number of values."""
        made, below = [], 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            below += count
            made.append(f'{name}_bucket{{le="{bound:g}"}} {below}')
        number = below + self.counts[-1]
        return [
            *made,
            f'{name}_bucket{{le="+Inf"}} {number}',
            f"{name}_sum {self.total:g}",
            f"{name}_count {number}",
        ]


class Metrics:
    """Requests by route and status, their time, the sizes of batches, and events."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.events: Counter[str] = Counter()
        self.seconds, self.batches = Histogram(SECONDS), Histogram(SIZES)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.requests[route, status] += 1
        self.seconds.add(seconds)

    def text(self, gauges: dict[str, float]) -> str:
        """All metrics; gauges: current values by name and labels."""
        made = ["# TYPE chaffinch_requests_total counter"]
        for (route, status), count in sorted(self.requests.items()):
            made.append(f'chaffinch_requests_total{{route="{route}",status="{status}"}} {count}')
        made += [
            "# TYPE chaffinch_request_seconds histogram",
            *self.seconds.lines("chaffinch_request_seconds"),
        ]
        made += ["# TYPE chaffinch_batch_rows histogram", *self.batches.lines("chaffinch_batch_rows")]
        made.append("# TYPE chaffinch_events_total counter")
        made += [f'chaffinch_events_total{{event="{name}"}} {n}' for name, n in sorted(self.events.items())]
        seen = set()
        for name, value in gauges.items():
            plain = name.partition("{")[0]
            if plain not in seen:
                seen.add(plain)
                made.append(f"# TYPE {plain} gauge")
            made.append(f"{name} {value:g}")
        return "\n".join(made) + "\n"
