"""What a batch costs in calls of functions and of the system: a table that does not depend on the machine or the hour.

``python -m benchmarks calls`` prints it; each flow is listed by thread, with its limit (``calls.toml``). System calls are
counted by strace, where it is installed. ``KCLI_BENCH_ONLY``: the one flow of that name, whose calls are listed by
function. ``KCLI_BENCH_OUT``: a folder that gets ``calls.md`` and ``calls.json``.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks._call_limits import limits
from benchmarks._counted_flows import AS_USUAL, IN_STEP, Counts, Stage, calls, transfers

ONLY = os.environ.get("KCLI_BENCH_ONLY", "")
OUT = os.environ.get("KCLI_BENCH_OUT", "")
_HEAD = ("flow", "unit", "calls", "limit", "main thread", "sender thread", "transfers", "system calls")
_SENDER = "kcli-sender"
_MOST_NAMED = 6  # system calls


def main() -> None:
    """Counts all flows, or one; prints a table in Markdown."""
    with tempfile.TemporaryDirectory(prefix="kcli-calls-") as folder, Stage(Path(folder)) as stage:
        if ONLY:
            _list_functions(stage)
            return
        rows = [_row(stage, flow) for flow in (*IN_STEP, *AS_USUAL)]
    table = "\n".join(
        [*_introduction(), _line(_HEAD), _line(["---"] * len(_HEAD)), *map(_line, map(_cells, rows))]
    )
    print(table)
    if OUT:
        Path(OUT, "calls.md").write_text(table + "\n")
        Path(OUT, "calls.json").write_text(
            json.dumps({"python": platform.python_version(), "flows": rows}, indent=2)
        )


def _row(stage: Stage, flow: Any) -> dict[str, Any]:
    counts = stage.count(flow)
    limit = limits().get(flow.name)
    return {
        "flow": flow.name,
        "unit": flow.unit,
        "calls": round(calls(counts), 1),
        "limit": limit.calls if limit else None,
        "threads": {name: round(sum(functions.values()), 1) for name, functions in counts.items()},
        "transfers": round(transfers(counts), 2),
        "system_calls": _system_calls(stage, flow),
    }


def _system_calls(stage: Stage, flow: Any) -> dict[str, float] | None:
    if shutil.which("strace") is None:
        return None
    found = stage.system_calls(flow)
    return {
        name: round(count, 2)
        for name, count in sorted(found.items(), key=lambda row: -row[1])
        if count >= 0.05
    }


def _introduction() -> list[str]:
    lines = [
        f"Calls for each batch of 1 MB (lines of 100 bytes), or for each group. Python {platform.python_version()}."
    ]
    if shutil.which("strace") is None:
        lines.append("System calls are not measured: strace is not installed.")
    return [*lines, ""]


def _cells(row: dict[str, Any]) -> list[str]:
    system = row["system_calls"]
    named = list(system.items())[:_MOST_NAMED] if system is not None else []
    return [
        row["flow"],
        row["unit"],
        f"{row['calls']:,}",
        "" if row["limit"] is None else f"{row['limit']:,}",
        f"{row['threads'].get('main', 0):,}",
        f"{row['threads'].get(_SENDER, 0):,}",
        f"{row['transfers']}",
        ", ".join(f"{count} {name}" for name, count in named) if system is not None else "not measured",
    ]


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _list_functions(stage: Stage) -> None:
    """The functions of one flow, each with what it calls in C; the most expensive first."""
    counts = stage.count(next(flow for flow in (*IN_STEP, *AS_USUAL) if flow.name == ONLY))
    for thread, functions in counts.items():
        print(f"-- {thread}: {sum(functions.values()):,.1f}")
        for name, count, inside in _by_function(functions):
            print(f"{count:10,.2f}  {name}  {inside}")


def _by_function(functions: dict[str, float]) -> list[tuple[str, float, str]]:
    total: Counter[str] = Counter()
    inside: dict[str, list[str]] = {}
    for name, count in functions.items():
        callee, within, caller = name.rpartition(" in ")
        function = caller if within else name
        total[function] += count  # type: ignore[assignment]
        if within and count >= 0.01:
            inside.setdefault(function, []).append(f"{callee} {count:.2f}")
    return [
        (name, count, ", ".join(inside.get(name, []))) for name, count in total.most_common() if count >= 0.01
    ]


def listing(counts: Counts) -> str:
    """The most expensive functions of a flow, for a message."""
    functions: Counter[str] = Counter()
    for own in counts.values():
        for name, count, _ in _by_function(own):
            functions[name] += count  # type: ignore[assignment]
    return "\n".join(f"{count:10,.2f}  {name}" for name, count in functions.most_common(15))
