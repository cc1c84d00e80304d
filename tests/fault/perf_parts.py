"""Parts of a test that worker processes import and run. Not a test."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from kcli.core.errors import TimedOutError
from kcli.core.options import ProducerOptions
from kcli.flows.perf.measurement import Interval, Measurement
from kcli.flows.perf.run_context import RunContext


@dataclass(frozen=True, slots=True)
class Samples:
    """Latencies that a process reports, after it began; ``fault`` says what happens to it."""

    micros: tuple[int, ...]
    fault: str = ""


def measure_samples(part: Samples, context: RunContext) -> Measurement:
    """All samples at once; ``began`` and ``ended`` are the monotonic time at which this process began."""
    if part.fault == "refused":
        raise TimedOutError("no broker", why="it is a test", do="nothing")
    start = context.begin()
    found = Measurement(began=start, ended=start)
    if part.fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if part.fault == "failing":
        raise TimedOutError("no response", why="it is a test", do="nothing")
    if part.fault == "gone":
        sys.exit(7)
    while part.fault == "endless" and not context.stopped():
        time.sleep(0.01)
    progress = Interval(0)
    for one in part.micros:
        for histogram in (
            found.raw,
            found.corrected,
            found.interval_at(one / 1e6).latencies,
            progress.latencies,
        ):
            histogram.add(one)
    found.records = progress.records = len(part.micros)
    context.report(progress)
    return found


def open_processes(options: ProducerOptions, context: RunContext) -> Measurement:
    """Counts where a secret is readable by other programs: arguments and variables of this process."""
    context.begin()
    word = options.sasl_password.reveal().encode()
    places = [Path("/proc/self/cmdline").read_bytes(), Path("/proc/self/environ").read_bytes()]
    return Measurement(records=sum(word in place for place in places), bytes=len(word))
