"""README's table: each run, of ten minutes at most, is recorded in ``runs.json``; the table shows ranges of all of them.

    python -m benchmarks readme          measure, record, and write README's table again
    KCLI_BENCH_TRY=1 ...                 measure and print, record nothing

Nothing is recorded on a machine that does something else: its figures would be those of a busy machine, and no range of
runs says so. A run counts for the version of kcli that it measured; the table has the runs of the newest one.
``KCLI_BENCH_MEGABYTES`` (1000) chooses how much is moved, for a try.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import produce_consume
from benchmarks._measure import Contest, machine
from benchmarks._table import README, Table, with_block
from benchmarks.produce_consume import MEGABYTES, RAW_READER, RAW_SENDER
from kcli.core.version import __version__

RUNS = Path(__file__).with_name("runs.json")
MOST_LOAD = 0.5
ENOUGH_RUNS, ENOUGH_DAYS = 5, 2
CONTESTS = (
    "produce 100 B", "produce 100 B lz4", "produce 100 B zstd", "produce 1 KB", "produce 100 B keyed",
    "consume 100 B", "consume 100 B lz4", "consume 1 KB", "consume -o ndjson",
)  # fmt: skip
KEPT = ("kcat", "kcli", RAW_SENDER, RAW_READER, "kaf")
"""``produce_consume`` has those that take long, or may not end."""
Ratios = dict[str, dict[str, tuple[float, float]]]
"""Contest → contender → kcli's records as a multiple of its: of CPU time, and on the wall."""


def main() -> None:
    """Measures once, and records it."""
    only_tried, load = bool(os.environ.get("KCLI_BENCH_TRY")), os.getloadavg()[0]
    if load > MOST_LOAD and not only_tried:
        sys.exit(
            f"nothing is recorded: the load is {load:.1f}, more than {MOST_LOAD:g} (KCLI_BENCH_TRY=1: a try)"
        )
    if MEGABYTES != 1000 and not only_tried:
        sys.exit("nothing is recorded: KCLI_BENCH_MEGABYTES is not 1000, and starts would weigh more or less")
    about, at = machine(), datetime.now(UTC)
    before = recorded()
    ratios = measured(len(before))
    run = {
        "at": at.strftime("%Y-%m-%dT%H:%MZ"),
        "kcli": __version__,
        "machine": about,
        "versions": produce_consume.versions(),
        "ratios": ratios,
    }
    if only_tried:
        print(table([run]).plain())
        return
    runs = [*before, run]
    RUNS.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")
    shown_runs = newest(runs)
    made = table(shown_runs)
    print(made.plain())
    machines = dict.fromkeys(run["machine"].partition(", load")[0] for run in shown_runs)
    text = f"{'; '.join(machines)}\n\n{made.markdown()}"
    README.write_text(with_block(README.read_text(), "readme", text))


def recorded() -> list[dict[str, Any]]:
    """All runs, the oldest first."""
    found: list[dict[str, Any]] = json.loads(RUNS.read_text()) if RUNS.exists() else []
    return found


def newest(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the version that was measured last."""
    return [run for run in runs if run["kcli"] == runs[-1]["kcli"]]


def measured(first: int) -> Ratios:
    """One round of each contest, which contender number ``first`` begins."""
    found: Ratios = {}
    with produce_consume.contests() as contests:
        for contest in contests:
            if contest.name in CONTESTS:
                found[contest.name] = _ratios(contest, first)
                print(f"{contest.name}: {found[contest.name]}", flush=True)
    return found


def _ratios(contest: Contest, first: int) -> dict[str, tuple[float, float]]:
    contest.contenders = {name: make for name, make in contest.contenders.items() if name in KEPT}
    contest.first = first
    contest.round()
    own = contest.rate(contest.kcli), contest.wall_rate(contest.kcli)
    return {
        "raw loop" if name in (RAW_SENDER, RAW_READER) else name: (
            round(own[0] / contest.rate(name), 3),
            round(own[1] / contest.wall_rate(name), 3),
        )
        for name in contest.costs
        if name != contest.kcli
    }


def table(runs: Sequence[dict[str, Any]]) -> Table:
    """The ranges of these runs."""
    rivals = [name for name in ("kcat", "raw loop", "kaf") if any(map(list, _all(runs, name)))]
    heads = ["of CPU time, ×", *rivals, "on the wall, × kcat"]
    rows = []
    for contest in CONTESTS:
        cells = [shown(pair[0] for pair in _of(runs, contest, rival)) for rival in rivals]
        wall = shown(pair[1] for pair in _of(runs, contest, "kcat"))
        if any(cells):
            rows.append([contest, *cells, wall])
    days = {run["at"][:10] for run in runs}
    several = f"{len(runs)} run{'s' if len(runs) > 1 else ''} on {' and '.join(sorted(days))}"
    few = len(runs) < ENOUGH_RUNS or len(days) < ENOUGH_DAYS
    notes = [
        f"{several}{f', fewer than {ENOUGH_RUNS} runs of {ENOUGH_DAYS} days' if few else ''}: the least and the most. "
        f"1000 MB each; {runs[-1]['versions']}"
    ]
    return Table("kcli beside others", heads, rows, notes)


def _all(runs: Sequence[dict[str, Any]], rival: str) -> Iterable[list[tuple[float, float]]]:
    return (_of(runs, contest, rival) for contest in CONTESTS)


def _of(runs: Sequence[dict[str, Any]], contest: str, rival: str) -> list[tuple[float, float]]:
    found = (run["ratios"].get(contest, {}).get(rival) for run in runs)
    return [pair for pair in found if pair is not None]


def shown(values: Iterable[float]) -> str:
    """The range, as it is written in the table; empty without a value."""
    found = sorted(values)
    if not found:
        return ""
    texts = [f"{value:.2f}" if value < 2 else f"{value:.1f}" for value in (found[0], found[-1])]
    return f"{texts[0]} ×" if texts[0] == texts[1] else f"{texts[0]} to {texts[1]} ×"
