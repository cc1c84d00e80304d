"""A test from its start to its exit status: what it measures is shown meanwhile, and judged and printed at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kcli.commands.perf.conclusion import conclude
from kcli.commands.perf.live_figures import Shown
from kcli.commands.perf.options import PerfOptions, SendOptions
from kcli.commands.shared.context import Invocation
from kcli.core.classes import replace
from kcli.flows.perf.measurement import Measurement
from kcli.flows.perf.payload import Values
from kcli.flows.perf.result import Run, perf_item
from kcli.flows.perf.surroundings import host, versions
from kcli.flows.perf.workers import Test, run_test
from kcli.flows.stop import Stop

P = TypeVar("P")


def measure(
    inv: Invocation,
    asked: PerfOptions,
    about: Run,
    test: Test[P],
    parts: Sequence[P],
    *,
    cluster: str | None,
    total: int | None,
    left: str,
    judge: Callable[[Measurement, Stop], object] = lambda _measured, _stop: None,
) -> int:
    """Runs the parts; returns the exit status.

    ``total`` and ``left``: see ``Shown``. ``judge`` adds to the measurement what is known after the test only. The
    versions and the host of ``about`` are read here.
    """
    shown = Shown(inv, about.test, asked, total=total, left=left)
    with Stop(unconfirmed=shown.unconfirmed, late=True) as stop:
        with shown.lines:
            measured = run_test(test, parts, stop=stop, on_progress=shown.add, hooks=inv.hooks)
        judge(measured, stop)
        return conclude(
            inv,
            perf_item(replace(about, versions=versions(), host=host()), measured),
            fail_if=asked.fail_if,
            html=asked.html,
            cluster=cluster,
            stop=stop,
            first=None if measured.failure is None else measured.failure.error(),
        )


def load_flags(asked: SendOptions, values: Values) -> dict[str, Any]:
    """The flags that make a difference to a load, in the spelling of the command line; None where not given."""
    size = values.low if values.low == values.high else f"{values.low}..{values.high}"
    limit = asked.throughput
    return {
        "num-records": asked.num_records,
        "duration": asked.duration,
        "record-size": size if values.file is None else None,
        "payload-file": values.file,
        "compressible": values.compressible,
        "keys": values.keys and str(values.keys),
        "seed": values.seed or None,
        "throughput": f"{limit.bytes:.10g} B/s" if limit.bytes else limit.records,
        "warmup-records": asked.warmup_records or None,
    }
