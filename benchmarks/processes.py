"""``--processes`` beside one process: what a command costs on the wall, and how much of it is left to the process that
talks to the brokers, which is what limits the gain where there are processors enough.

One real broker, on this machine: of two processors it needs one. ``KCLI_BENCH_ROUNDS`` (5), ``KCLI_BENCH_RECORDS``
(500,000) and ``KCLI_BENCH_PROCESSES`` (2) choose; ``KCLI_BENCH_PYTHON`` (this one) is the interpreter that runs kcli,
such as one without the GIL.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks._measure import FailedRunError, create_topic, environment, machine
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "5"))
RECORDS = int(os.environ.get("KCLI_BENCH_RECORDS", "500000"))
PROCESSES = int(os.environ.get("KCLI_BENCH_PROCESSES", "2"))
PYTHON = os.environ.get("KCLI_BENCH_PYTHON", sys.executable)
_MAIN = """
import resource, sys, time
from kcli.__main__ import main
began = time.monotonic()
try:
    main()
except SystemExit as end:
    code = end.code
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(time.monotonic() - began, *(one.ru_utime + one.ru_stime for one in (own, others)), file=sys.stderr)
sys.exit(code)
"""
"""kcli as a user runs it; then, in the last line of stderr, seconds on the wall, of this process and of the others."""

Figures = tuple[float, float, float]


def main() -> list[Table]:
    """Starts a broker, runs the rounds, prints and returns the table."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"processes-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            table = _table(status.bootstrap, _inputs(Path(folder)))
    finally:
        sandbox.down(delete=True)
    print(table.plain())
    return [table]


def _inputs(folder: Path) -> Mapping[str, Path]:
    found = {name: folder / name for name in ("lines", "ndjson", "csv")}
    value = [json.dumps({"id": n, "name": f"user {n % 9973}", "at": n * 7.5}) for n in range(RECORDS)]
    found["lines"].write_text("".join(f"{one}\n" for one in value))
    keyed = (json.dumps({"key": f"k{n % 997}", "value": one}) for n, one in enumerate(value))
    found["ndjson"].write_text("".join(f"{one}\n" for one in keyed))
    rows = (f'k{n % 997},"{one.replace(chr(34), chr(34) * 2)}"\n' for n, one in enumerate(value))
    found["csv"].write_text("key,value\n" + "".join(rows))
    return found


def _table(bootstrap: str, inputs: Mapping[str, Path]) -> Table:
    for topic in ("read", "sink"):
        create_topic(bootstrap, topic, 3)
    _run(bootstrap, ("produce", "read", "-z", "lz4"), inputs["lines"])
    read = ("consume", "read", "-e")
    cases: dict[str, tuple[tuple[str, ...], Path | None]] = {
        "produce -z zstd": (("produce", "sink", "-z", "zstd"), inputs["lines"]),
        "produce -z gzip:9": (("produce", "sink", "-z", "gzip:9"), inputs["lines"]),
        "produce -i ndjson -z lz4": (("produce", "sink", "-i", "ndjson", "-z", "lz4"), inputs["ndjson"]),
        "produce -i csv -z lz4": (("produce", "sink", "-i", "csv", "-z", "lz4"), inputs["csv"]),
        "consume -o ndjson": ((*read, "-o", "ndjson"), None),
        "consume --where": ((*read, "--where", "value.id > 100 and contains(value.name, '7')"), None),
        "consume --select": ((*read, "--select", "value.id,value.name"), None),
        "consume -s value=json -o ndjson": ((*read, "-s", "value=json", "-o", "ndjson"), None),
    }
    rows = []
    for name, (words, given) in cases.items():
        one: list[Figures] = []
        several: list[Figures] = []
        for _ in range(ROUNDS):
            one.append(_run(bootstrap, words, given))
            several.append(_run(bootstrap, (*words, "--processes", str(PROCESSES)), given))
        alone, shared = (
            tuple(map(statistics.median, zip(*rounds, strict=True))) for rounds in (one, several)
        )
        cells = [f"{alone[0]:.2f}", f"{shared[0]:.2f}", f"{alone[0] / shared[0]:.2f} ×"]
        cells += [f"{alone[1]:.2f}", f"{sum(shared[1:]):.2f}", f"{shared[1]:.2f}"]
        rows.append([name, *cells])
    n = PROCESSES
    heads = [
        "",
        "wall s",
        f"wall s, {n} processes",
        "faster",
        "CPU s",
        f"CPU s, {n} processes",
        "of it the first process",
    ]
    title = f"--processes {n} beside one, {RECORDS:,} records, medians of {ROUNDS} rounds"
    return Table(
        title, heads, rows, ["start-up is in all of it; codecs work in threads of the first process"]
    )


def _run(bootstrap: str, words: Sequence[str], given: Path | None) -> Figures:
    argv = [PYTHON, "-c", _MAIN, "-b", bootstrap, *words, "-q"]
    with Path(given or os.devnull).open("rb") as stdin:
        done = subprocess.run(
            argv,
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    if done.returncode:
        raise FailedRunError(f"kcli {' '.join(words)}: {done.stderr.decode()[-500:]}")
    wall, own, others = map(float, done.stderr.splitlines()[-1].split())
    return wall, own, others


if __name__ == "__main__":
    main()
