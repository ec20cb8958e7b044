"""Numbers for whoever runs the server, as Prometheus reads them. Counts of events alone: nothing of any answer."""

from __future__ import annotations

from collections import Counter

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """Counted by the event loop alone.

    Attributes
    ----------
    accepted, replayed : records stored, and records that were stored already
    refused : requests refused, by the name of the problem
    waiting : records that wait for the disk
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.replayed = 0
        self.refused: Counter[str] = Counter()
        self.waiting = 0
        self._commits = [0] * (len(_SECONDS) + 1)
        self._commit_seconds = 0.0

    def committed(self, seconds: float) -> None:
        """A transaction took so long."""
        self._commits[sum(seconds > bound for bound in _SECONDS)] += 1
        self._commit_seconds += seconds

    def text(self, *, is_ready: bool, tells_records: bool) -> str:
        """In Prometheus' text format; perhaps without the metrics from which records could be counted."""
        lines = [
            *_metric("ready", "gauge", "Whether answers can be stored.", int(is_ready)),
            *_heading("requests_refused_total", "counter", "Requests refused, by problem."),
            *(
                f'kakuran_collect_requests_refused_total{{problem="{name}"}} {count}'
                for name, count in self.refused.items()
            ),
            *(self._of_records() if tells_records else ()),
        ]
        return "\n".join(lines) + "\n"

    def _of_records(self) -> list[str]:
        return [
            *_metric("records_accepted_total", "counter", "Records stored by this server.", self.accepted),
            *_metric(
                "records_replayed_total", "counter", "Records sent again that were stored already.", self.replayed
            ),
            *_metric("records_waiting", "gauge", "Records waiting to be stored.", self.waiting),
            *_heading("commit_seconds", "histogram", "How long transactions took."),
            *self._histogram(),
        ]

    def _histogram(self) -> list[str]:
        total, lines = 0, []
        for bound, count in zip([*map(str, _SECONDS), "+Inf"], self._commits, strict=True):
            total += count
            lines.append(f'kakuran_collect_commit_seconds_bucket{{le="{bound}"}} {total}')
        return [
            *lines,
            f"kakuran_collect_commit_seconds_sum {self._commit_seconds:.6f}",
            f"kakuran_collect_commit_seconds_count {total}",
        ]


def _heading(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP kakuran_collect_{name} {text}", f"# TYPE kakuran_collect_{name} {kind}"]


def _metric(name: str, kind: str, text: str, value: int) -> list[str]:
    return [*_heading(name, kind, text), f"kakuran_collect_{name} {value}"]
