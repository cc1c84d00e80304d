"""What ``kcli consume`` makes of many records: counts, fields, the latest and each different one of millions of keys.

Beside ``kcli consume -o value``, kcat with sort, and DuckDB over kcli's stream (``kcli query``): whole processes, one
real broker, JSON of 60 bytes with keys of 20 to 40. ``sort`` may use as much memory as kcli. Memory is that of the
largest process of a contender. What kcli prints is compared with what kcat and sort print.

``KCLI_BENCH_RECORDS`` (10,000,000; there are half as many keys), ``KCLI_BENCH_ROUNDS`` (1) and ``KCLI_BENCH_ONLY`` (a
part of a contest's name) choose.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from benchmarks import _contenders as tools
from benchmarks._measure import Contest, FailedRunError, Run, create_topic, environment, machine
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "1"))
RECORDS = int(os.environ.get("KCLI_BENCH_RECORDS", "10000000"))
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")
TOPIC = "many-keys"
PARTITIONS = 3
MEMORY_MB = 200
VALUES = "kcli consume -o value"
_SHARE = 0.8  # of the rate of VALUES, for a count
_SCATTER = 2_654_435_761  # a prime: the same key comes again at different distances
_HOT = 100  # keys that come more often than the others
_SORT = f"LC_ALL=C sort -S {MEMORY_MB}M"

CONTESTS = {
    "count": (("--count",), r"%k\n", "wc -l", "select count(*) from source"),
    "the ten most frequent keys": (
        ("--count", "--by", "key", "--top", "10", "-o", "csv", "--no-headers"),
        r"%k\n",
        "sort | uniq -c | sort -k1,1nr -k2,2 | head -n 10 | awk '{print $2 \",\" $1}'",
        "select key_text, count(*) from source group by all order by 2 desc, 1 limit 10",
    ),
    "latest of each key": (
        ("--latest-per-key", "--select", "key,offset"),
        r"%k\t%o\n",
        "sort -k1,1 -k2,2nr | awk '$1 != last {last = $1; print}'",
        'select key_text, partition, max("offset") from source group by all',
    ),
    "each key once": (
        ("-e", "--distinct", "key"),
        r"%k\n",
        "sort -u",
        "select distinct key_text from source",
    ),
    "count by partition": (
        ("--count", "--by", "partition", "-o", "csv", "--no-headers"),
        r"%p\n",
        "sort | uniq -c | awk '{print $2 \",\" $1}'",
        "select partition, count(*) from source group by all",
    ),
    "two fields": (
        ("-e", "--select", "key,value.id"),
        r"%k\t%s\n",
        'jq -rR \'split("\\t") | "\\(.[0])\\t\\(.[1] | fromjson.id)"\'',
        "select key_text, value:id from source",
    ),
}
"""Of each: the words of ``kcli consume``, kcat's format, the pipe behind kcat, and the SQL of ``kcli query``."""


def main() -> list[Table]:
    """Starts a broker, writes the records, compares results, prints and returns the tables."""
    print(f"machine: {machine()}", flush=True)
    sandbox = Sandbox(f"bench-{os.getpid()}")
    status = sandbox.up(Settings(port=0, ephemeral=True, die_with_parent=True))
    try:
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            return measured(status.bootstrap, Path(folder))
    finally:
        sandbox.down(delete=True)


def measured(bootstrap: str, folder: Path) -> list[Table]:
    """The tables, one a contest; the counts first, which are compared with reading the values."""
    lines = keyed(folder)
    create_topic(bootstrap, TOPIC, PARTITIONS)
    run = tools.kcli_produce(bootstrap, TOPIC, lines, RECORDS, "none", "-K", "\t")
    with lines.open("rb") as stdin:
        subprocess.run(run.argv, stdin=stdin, check=True, env=environment())
    lines.unlink()
    tables = []
    for name, (words, form, pipe, sql) in CONTESTS.items():
        if ONLY not in name:
            continue
        printed = [folder / "kcli", folder / "kcat"]
        contenders = {
            VALUES: tools.kcli_consume(bootstrap, TOPIC, RECORDS, "-o", "value"),
            "kcli consume": own(bootstrap, words, printed[0]),
            "kcat": piped(bootstrap, form, pipe, folder, printed[1]),
            "kcli query, on DuckDB": query(bootstrap, sql),
        }
        contest = Contest(name, {title: lambda run=run: run for title, run in contenders.items()}, VALUES)
        for _ in range(ROUNDS):
            contest.round()
        if printed[1].exists():
            compare(name, printed)
        tables.append(with_memory(contest))
        print(tables[-1].plain(), flush=True)
    return tables


def keyed(folder: Path) -> Path:
    """A file of lines ``KEY<tab>JSON``; half as many keys as records."""
    path, keys = folder / "keyed", RECORDS // 2
    with path.open("wb") as file:
        for first in range(0, RECORDS, 10_000):
            file.write(b"".join(line(number, keys) for number in range(first, first + 10_000)))
    return path


def line(number: int, keys: int) -> bytes:
    """Of one record: the key has 20 to 40 bytes."""
    chosen = number % _HOT if number % 101 == 0 else number * _SCATTER % keys
    key = b"customer-%011d%s" % (chosen, b"abcdefghijklmnopqrst"[: chosen % 21])
    return b'%s\t{"id":%d,"status":%d,"path":"/index/%d","ok":true}\n' % (key, number, 200, number % 1000)


def own(bootstrap: str, words: tuple[str, ...], printed: Path) -> Run:
    """``kcli consume``."""
    argv = [sys.executable, "-m", "kcli", "-b", bootstrap, "consume", TOPIC, "-q", *words]
    return Run(argv, RECORDS, stdout=printed)


def piped(bootstrap: str, form: str, pipe: str, folder: Path, printed: Path) -> Run | None:
    """kcat, and the programs behind it."""
    kcat = tools.kcat_consume(bootstrap, TOPIC, RECORDS, "-f", form)
    if kcat is None:
        return None
    line = f"{shlex.join(kcat.argv)} | {pipe.replace('sort ', f'{_SORT} ')}"
    return replace(kcat, argv=["bash", "-c", line], environ={"TMPDIR": str(folder)}, stdout=printed)


def query(bootstrap: str, sql: str) -> Run | None:
    """``kcli query``, which hands batches to DuckDB as Arrow data."""
    if find_spec("duckdb") is None:
        return None
    words = ["query", TOPIC, sql, "--engine", "duckdb", "-o", "csv", "-q"]
    return Run([sys.executable, "-m", "kcli", "-b", bootstrap, *words], RECORDS)


def compare(name: str, printed: list[Path]) -> None:
    """FailedRunError unless both files have the same lines, in any order."""
    sort = f"TMPDIR={shlex.quote(str(printed[0].parent))} {_SORT}"
    one, other = (f"<({sort} {shlex.quote(str(path))})" for path in printed)
    if subprocess.run(["bash", "-c", f"cmp {one} {other}"], check=False).returncode:
        raise FailedRunError(f"{name}: kcli and kcat print different lines")


def with_memory(contest: Contest) -> Table:
    """Its table with a column of memory, and whether kcli keeps what it promises."""
    table = contest.table()
    largest = {name: max(cost.resident_mb for cost in costs) for name, costs in contest.costs.items()}
    rows = [[*row, f"{largest[row[0]]:.0f}"] for row in table.rows]
    memory, notes = largest["kcli consume"], list(table.notes)
    notes.append(
        f"target: at most {MEMORY_MB} MB, is {memory:.0f}: {'met' if memory <= MEMORY_MB else 'MISSED'}"
    )
    if contest.name == "count":
        share = contest.rate("kcli consume") / contest.rate(VALUES)
        notes.append(
            f"target: {_SHARE:g} × {VALUES}, is {share:.2f} ×: {'met' if share >= _SHARE else 'MISSED'}"
        )
    return replace(table, heads=[*table.heads, "MB"], rows=rows, notes=notes)


if __name__ == "__main__":
    main()
