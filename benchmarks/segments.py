"""``kcli segments verify`` beside ``cat | crc32c`` and Kafka's kafka-dump-log, on files of a partition, without a broker.

The files are made here: segments of 1 GB of records of 100 bytes in batches of 16 KB, with their indexes, in the page
cache. Each contender runs in turn, round by round. Kafka's tool reads the first segment only, with --deep-iteration, its
output thrown away; rates are bytes a second, so they compare. ``kcli consume --from-dir --count`` is one, too.

KCLI_BENCH_BYTES (5,000,000,000), KCLI_BENCH_ROUNDS (3), KCLI_BENCH_FOLDER (the folder for temporary files).
"""

from __future__ import annotations

import os
import shlex
import statistics
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import _kafka_tools as kafka
from benchmarks._measure import Cost, FailedRunError, Run, measure
from benchmarks._table import Table
from kcli.core.records.builder import BatchBuilder

BYTES = int(os.environ.get("KCLI_BENCH_BYTES", "5_000_000_000"))
ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "3"))
SEGMENT = 1_000_000_000
PER_BATCH = 145
VERIFY, CRC, DUMP, COUNT = (
    "kcli segments verify",
    "cat | crc32c",
    "kafka-dump-log --deep-iteration",
    "--count",
)
LEAST_OF_CRC, LEAST_OF_DUMP = 0.8, 30
_LOOP = (
    "import os,sys;from kcli.core.kernels.active import crc32c\n"
    "crc=0\n"
    "while piece:=os.read(0,1<<20): crc=crc32c(piece,crc)\n"
    "print(crc)"
)


def main() -> list[Table]:
    """Makes the files, measures, and returns the table."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("KCLI_BENCH_FOLDER")) as folder:
        logs = list(write(Path(folder) / "orders-0", BYTES))
        sizes = dict.fromkeys((VERIFY, CRC, COUNT), sum(log.stat().st_size for log in logs))
        runs = contenders(Path(folder) / "orders-0", logs)
        sizes[DUMP] = logs[0].stat().st_size
        costs: dict[str, list[Cost]] = {name: [] for name in runs}
        absent = []
        for number in range(ROUNDS):
            for name, run in runs.items():
                try:
                    costs[name].append(measure(run))
                except FailedRunError as error:
                    if number or name != COUNT:
                        raise
                    absent.append(f"{name}: {str(error)[:200]}")
            for name in [name for name in runs if not costs[name]]:
                del runs[name]
    table = table_of({name: some for name, some in costs.items() if some}, sizes, absent)
    print(table.plain(), flush=True)
    return [table]


def contenders(folder: Path, logs: list[Path]) -> dict[str, Run]:
    """The runs; those of Kafka's tool only where there is a Java."""
    kcli = (sys.executable, "-m", "kcli")
    files = shlex.join(map(str, logs))
    loop = f"cat {files} | {shlex.quote(sys.executable)} -c {shlex.quote(_LOOP)}"
    found = {
        VERIFY: Run((*kcli, "segments", "verify", str(folder), "-q"), 0),
        CRC: Run(("sh", "-c", loop), 0),
        COUNT: Run((*kcli, "consume", "orders", "--from-dir", str(folder), "--count", "-q"), 0),
    }
    if dump := kafka.tool("org.apache.kafka.tools.DumpLogSegments"):
        found[DUMP] = Run((*dump, "--deep-iteration", "--files", str(logs[0])), 0)
    return found


def write(folder: Path, size: int) -> Iterator[Path]:
    """Segments with their indexes, of ``size`` bytes together."""
    folder.mkdir()
    builder = BatchBuilder(room=1 << 20, codec=0)
    values: list[bytes | None] = [os.urandom(50).hex().encode() for _ in range(PER_BATCH)]
    builder.append_keyed([b"k"] * PER_BATCH, values, 0, 1_700_000_000_000)
    raw = bytearray(b"".join(builder.wire(-1, 0, 0, transactional=False)))
    struct.pack_into(">ii", raw, 8, len(raw) - 12, 0)  # its length, and the epoch of the leader
    offset = 0
    while size > 0:
        base = offset
        log = folder / f"{base:020d}.log"
        entries = bytearray()
        with log.open("wb", buffering=1 << 20) as file:
            for position in range(0, min(size, SEGMENT) - len(raw), len(raw)):
                struct.pack_into(">q", raw, 0, offset)
                file.write(raw)
                offset += PER_BATCH
                if position:
                    entries += struct.pack(">ii", offset - 1 - base, position)
        log.with_suffix(".index").write_bytes(entries)
        log.with_suffix(".timeindex").write_bytes(struct.pack(">qi", 1_700_000_000_000, PER_BATCH - 1))
        (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        size -= SEGMENT
        yield log


def table_of(costs: dict[str, list[Cost]], sizes: dict[str, int], absent: list[str]) -> Table:
    """GB a second on the wall and of CPU time, medians, beside ``cat | crc32c``; whether the goals are met."""
    wall = {name: sizes[name] / statistics.median(cost.wall for cost in some) for name, some in costs.items()}
    cpu = {name: sizes[name] / statistics.median(cost.cpu for cost in some) for name, some in costs.items()}
    rows = [
        [
            name,
            f"{wall[name] / 1e9:.2f}",
            f"{wall[name] / wall[CRC]:.2f} ×",
            f"{cpu[name] / 1e9:.2f}",
            f"{cpu[name] / cpu[CRC]:.2f} ×",
            f"{max(cost.resident_mb for cost in some):.0f}",
        ]
        for name, some in costs.items()
    ]
    notes = list(absent)
    goals = [(VERIFY, CRC, LEAST_OF_CRC), (VERIFY, DUMP, LEAST_OF_DUMP), (COUNT, DUMP, LEAST_OF_DUMP)]
    for name, against, least in goals:
        if name in wall and against in wall:
            ratio = wall[name] / wall[against]
            said = "met" if ratio >= least else "MISSED"
            notes.append(f"target: {name} {least:g} × {against}, is {ratio:.1f} ×: {said}")
    heads = ["", "GB/s", "× cat | crc32c", "GB/CPU-s", "× cat | crc32c", "MB resident"]
    return Table(f"Files of a partition, {sizes[CRC] / 1e9:.1f} GB", heads, rows, notes)
