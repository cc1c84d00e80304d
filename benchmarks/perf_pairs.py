"""What ``kcli perf compare`` says of real runs: of two of the same thing, and of one at nine tenths of the rate.

One broker, runs that follow each other. Of pairs of the same thing one in twenty may have a difference; of the others
each should have one in rate. ``KCLI_BENCH_PAIRS`` (20), ``KCLI_BENCH_SECONDS`` (10, of each run) and
``KCLI_BENCH_RATE`` (5000) choose.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks._measure import FailedRunError, create_topic, environment, machine
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

PAIRS = int(os.environ.get("KCLI_BENCH_PAIRS", "20"))
SECONDS = os.environ.get("KCLI_BENCH_SECONDS", "10")
RATE = int(os.environ.get("KCLI_BENCH_RATE", "5000"))
_TOPIC = "pairs"
_SAME, _LESS = "the same twice", "nine tenths of the rate"


def main() -> Sequence[Table]:
    """Starts a broker, runs the pairs, prints and returns the table."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"pairs-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    said: dict[str, list[dict[str, str]]] = {_SAME: [], _LESS: []}
    try:
        create_topic(status.bootstrap, _TOPIC, 1)
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            for _ in range(PAIRS):
                before = _run(status.bootstrap, Path(folder) / "before", RATE)
                same = _run(status.bootstrap, Path(folder) / "same", RATE)
                less = _run(status.bootstrap, Path(folder) / "less", RATE * 9 // 10)
                said[_SAME].append(_verdicts(before, same))
                said[_LESS].append(_verdicts(same, less))
    finally:
        sandbox.down(delete=True)
    table = _table(said)
    print(table.plain(), flush=True)
    return [table]


def _run(bootstrap: str, path: Path, rate: int) -> Path:
    words = ["perf", "produce", "-t", _TOPIC, "--duration", f"{SECONDS}s", "--throughput", str(rate)]
    flags = ["--record-size", "100", "--warmup-records", str(rate), "-q", "-o", "json"]
    path.write_text(_kcli("-b", bootstrap, *words, *flags))
    return path


def _verdicts(before: Path, after: Path) -> dict[str, str]:
    """By metric."""
    document = json.loads(_kcli("perf", "compare", str(before), str(after), "-q", "-o", "json"))
    return {item["metric"]: item["verdict"] for item in document["items"]}


def _kcli(*words: str) -> str:
    argv = [sys.executable, "-m", "kcli", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        raise FailedRunError(f"kcli {words[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def _table(said: dict[str, list[dict[str, str]]]) -> Table:
    metrics = list(said[_SAME][0])
    rows = [
        [
            name,
            *(str(sum(one[metric] != "no difference" for one in pairs)) for metric in metrics),
            str(sum(set(one.values()) != {"no difference"} for one in pairs)),
        ]
        for name, pairs in said.items()
    ]
    title = f"differences that perf compare reports, of {PAIRS} pairs of {SECONDS} s at {RATE:,} records/s"
    wrong, found = int(rows[0][-1]), int(rows[1][1])
    notes = [
        f"target: none of the same in 19 of 20 pairs: {'met' if wrong * 20 <= PAIRS else 'MISSED'}",
        f"target: the lower rate is found: {'met' if found == PAIRS else 'MISSED'}",
    ]
    return Table(title, ["", *metrics, "any"], rows, notes)


if __name__ == "__main__":
    main()
