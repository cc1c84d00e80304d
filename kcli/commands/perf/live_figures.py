"""What is shown while a test runs: a bar on a terminal, and a line of figures for each reporting interval."""

from __future__ import annotations

import time
from types import TracebackType

from kcli.commands.perf.kafka_lines import kafka_sample, kafka_window
from kcli.commands.perf.options import PerfOptions
from kcli.commands.shared.context import Invocation
from kcli.flows.perf.limits import latency_text
from kcli.flows.perf.measurement import Interval
from kcli.output.progress import counted

_LOOK = 0.1  # seconds: tests report about so often
_TITLES = {"produce": "sent", "consume": "read", "e2e": "received"}


class Shown:
    """The progress of a test: from its first measured record on the figures, before it how long the warm-up lasts.

    ``lines`` is to be entered for the length of the test. ``left``: what a second signal leaves undone, after the
    number of records so far. ``total``: how many will come after the warm-up, None: not known.
    """

    def __init__(
        self, inv: Invocation, test: str, asked: PerfOptions, *, total: int | None, left: str
    ) -> None:
        self.lines = Reporting(
            inv, test, total=total, duration=asked.duration, every=asked.reporting_interval
        )
        self._left = left
        self._warms_up = asked.warmup_records > 0
        self._first: float | None = None
        self._began: float | None = None
        self._records = 0

    def add(self, interval: Interval) -> None:
        """What was measured since the last call."""
        now = time.monotonic()
        self._records += interval.records
        if self._began is None and (interval.records or interval.errors):
            self._began = now - _LOOK
        if self._began is not None:
            self.lines.add(interval, now - self._began)
        elif self._warms_up:
            self._first = now if self._first is None else self._first
            self.lines.warming_up(now - self._first)

    def unconfirmed(self) -> str:
        """At a second signal."""
        return f"{counted(self._records, 'record')} {self._left}"


class Reporting:
    """Takes the intervals as they end. ``total``: the records to come after the warm-up, ``duration`` the seconds;
    None where the test has no such end. ``every``: the reporting interval in seconds.

    With ``-o kafka`` the lines of a producer's test, and of every thousandth record of an end-to-end test, are on stdout,
    as those of Kafka's tools.
    """

    def __init__(
        self, inv: Invocation, test: str, *, total: int | None, duration: float | None, every: float
    ) -> None:
        self._inv, self._every, self._duration = inv, every, duration
        self._kafka = inv.out.kind == "kafka" and test == "produce"
        self._samples = inv.out.kind == "kafka" and test == "e2e"
        self._bar = inv.progress(_TITLES[test], total=total)
        self._lines = self._bar.style in ("bar", "line")
        if self._bar.style == "line":
            self._bar.style = "none"  # its lines every 10 s beside these would be too many
        self._sum = Interval(0)
        self._window = Interval(0)
        self._began = self._warmed = 0.0

    def __enter__(self) -> Reporting:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def add(self, interval: Interval, seconds: float) -> None:
        """An interval has ended ``seconds`` after the begin of the measured part; with several processes one of each."""
        self._window.merge(interval)
        self._sum.records += interval.records
        self._sum.bytes += interval.bytes
        self._sum.errors += interval.errors
        if self._samples and interval.samples:
            self._inv.out.text("".join(f"{kafka_sample(*sample)}\n" for sample in interval.samples))
            self._inv.out.flush()
        if seconds - self._began >= self._every:
            self._write(seconds)
        if self._bar.style == "none":
            return  # percentiles are not free, and the test shares its CPU with this
        share = None if self._duration is None else min(1.0, seconds / self._duration)
        p50, p99 = self._window.latencies.percentiles((0.50, 0.99))
        shown = {} if p50 is None or p99 is None else {"p50": latency_text(p50), "p99": latency_text(p99)}
        self._bar.update(self._sum.records, self._sum.bytes, share, errors=self._sum.errors, **shown)

    def warming_up(self, seconds: float) -> None:
        """The warm-up has lasted so long: a line for each reporting interval, since nothing else would be shown."""
        if self._lines and seconds - self._warmed >= self._every:
            self._warmed = seconds
            self._inv.talk.note(f"warm-up: {seconds:.0f} s, not measured")

    def _write(self, seconds: float) -> None:
        length = seconds - self._began
        if self._kafka:
            self._inv.out.text(kafka_window(self._window, length) + "\n")
            self._inv.out.flush()
        elif self._lines:
            self._inv.talk.note(window_line(self._window, seconds, length))
        self._began, self._window = seconds, Interval(0)


def window_line(window: Interval, seconds: float, length: float) -> str:
    """``at 5 s: 100,000 records/s, 10.00 MB/s, p50 1.2 ms, p99 3.4 ms, max 8.1 ms``."""
    parts = [f"{window.records / length:,.0f} records/s", f"{window.bytes / length / 1e6:,.2f} MB/s"]
    if window.latencies.total:
        p50, p99 = window.latencies.percentiles((0.50, 0.99))
        figures = {"p50": p50, "p99": p99, "max": window.latencies.largest}
        parts += [f"{name} {latency_text(value or 0)}" for name, value in figures.items()]
    if window.errors:
        parts.append(f"{window.errors:,} failed")
    return f"at {seconds:.0f} s: {', '.join(parts)}"
