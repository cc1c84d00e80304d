"""``kcli mirror`` beside ``kcat -C | kcat -P``, a bare receive-and-send loop, and MirrorMaker 2.

Two real brokers, a topic of 4 partitions, whole processes, in turn. Records per second of client CPU; with small batches
also the CPU of the target broker. The source's batches have no producer id, which the bare loop needs.

``KCLI_BENCH_ROUNDS`` (3), ``KCLI_BENCH_MEGABYTES`` (1000), ``KCLI_BENCH_ONLY`` (a part of a contest's name).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmarks import _mirror_maker as mirror_maker
from benchmarks._measure import Contest, Run, create_topic, environment, machine, version_of_kcat
from benchmarks._table import Table
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.settings import Settings

ROUNDS = int(os.environ.get("KCLI_BENCH_ROUNDS", "3"))
MEGABYTES = int(os.environ.get("KCLI_BENCH_MEGABYTES", "1000"))
ONLY = os.environ.get("KCLI_BENCH_ONLY", "")
PARTITIONS = 4
_NUMBERS = count(1)
_PIPE = "set -o pipefail; kcat -C -b {source} -t {topic} -e -q -o beginning | kcat -P -b {target} -t {copy}"


def main() -> list[Table]:
    """Starts two brokers, runs all contests, prints and returns their tables."""
    print(f"machine: {machine()}")
    print(f"versions: kcat {version_of_kcat()}", flush=True)
    boxes = [Sandbox(f"bench-{name}-{os.getpid()}") for name in ("source", "target")]
    try:
        source, target = (box.up(Settings(port=0, ephemeral=True, die_with_parent=True)) for box in boxes)
        with tempfile.TemporaryDirectory(prefix="kcli-bench-") as folder:
            bench = Bench(source.bootstrap, target.bootstrap, target.nodes[0].pid or 0, Path(folder))
            if "1 KB" in ONLY or not ONLY:
                bench.contest("mirror 1 KB", 1_000, target=5.5)
            if "100 B" in ONLY or not ONLY:
                bench.contest("mirror 100 B", 100, target=13.0)
            if "16 KB" in ONLY or not ONLY:
                bench.small_batches()
            if "MirrorMaker" in ONLY or not ONLY:
                bench.mirror_maker("1 KB", 1_000)
                bench.mirror_maker("100 B", 100)
            return bench.tables
    finally:
        for box in boxes:
            box.down(delete=True)


class Bench:
    """The contests between two brokers; topics of the source are kept, those of the target deleted after each run."""

    def __init__(self, source: str, target: str, target_pid: int, folder: Path) -> None:
        self._source = source
        self._target_pid = target_pid
        self._target = target
        self._folder = folder
        self._copy = ""
        self.tables: list[Table] = []

    def contest(self, name: str, width: int, *, target: float) -> None:
        """kcli, kcat and the bare loop."""
        topic, records = self._topic(f"w{width}", width), MEGABYTES * 1_000_000 // width
        contest = Contest(
            name,
            {
                "kcat -C | kcat -P": lambda: self._kcat(topic, records),
                "kcli mirror": lambda: self._kcli(topic, records),
                "kcli mirror --exactly-once": lambda: self._kcli(topic, records, "--exactly-once"),
                "bare loop": lambda: self._bare(topic, records),
            },
            "kcat -C | kcat -P",
            target,
            kcli="kcli mirror",
        )
        for _ in range(ROUNDS):
            contest.round()
        notes = []
        if "bare loop" in contest.costs:
            share = contest.rate("kcli mirror") / contest.rate("bare loop")
            notes.append(f"of the bare loop: {share:.2f} (target 0.75)")
        self._add(contest.table(), *notes)

    def small_batches(self) -> None:
        """Source batches of 16 KB: what they cost the target broker."""
        topic, records = self._topic("small", 1_000, "-X", "batch.size=16384"), MEGABYTES * 1_000
        contest = Contest(
            "mirror 1 KB in 16 KB batches",
            {
                "kcat -C | kcat -P": lambda: self._kcat(topic, records),
                "kcli mirror": lambda: self._kcli(topic, records),
            },
            "kcat -C | kcat -P",
            3.0,
            kcli="kcli mirror",
        )
        broker: dict[str, list[float]] = {name: [] for name in contest.contenders}
        pid = self._target_pid
        for _ in range(ROUNDS):
            for name, make in contest.contenders.items():
                run = make()  # creates the copy, which is not what is measured
                if run is None:
                    continue
                alone = Contest(name, {name: lambda run=run: run}, name)  # type: ignore[misc]
                before = mirror_maker.cpu_of(pid)
                alone.round()
                broker[name].append(mirror_maker.cpu_of(pid) - before)
                contest.records |= alone.records
                contest.costs.setdefault(name, []).extend(alone.costs[name])
        notes = []
        medians = {name: statistics.median(costs) for name, costs in broker.items() if costs}
        ours, theirs = medians.get("kcli mirror"), medians.get("kcat -C | kcat -P")
        if ours is not None and theirs:
            notes.append(
                f"CPU of the target broker: {ours:.2f} s, with kcat {theirs:.2f} s: {ours / theirs:.2f} × (target 1.1)"
            )
        self._add(contest.table(), *notes)

    def mirror_maker(self, name: str, width: int) -> None:
        """MirrorMaker 2 after its start-up, and kcli with its start-up."""
        if mirror_maker.classpath() is None:
            self._add(
                Table(f"MirrorMaker 2, {name}", [""], []), "MirrorMaker 2: not measured: there is no Java"
            )
            return
        topic, records = self._topic(f"w{width}", width), MEGABYTES * 1_000_000 // width
        found = mirror_maker.measure(self._source, self._target, topic, PARTITIONS, records, self._folder)
        contest = Contest("kcli", {"kcli": lambda: self._kcli(topic, records)}, "kcli")
        for _ in range(ROUNDS):
            contest.round()
        rows = [["MirrorMaker 2", f"{found.startup:.1f} CPU-s", f"{found.rate / 1e6:.3f} M"]]
        rows.append(["kcli mirror", "in its rate", f"{contest.rate('kcli') / 1e6:.3f} M"])
        table = Table(f"MirrorMaker 2, {name}", ["", "start-up", "records/CPU-s"], rows)
        self._add(table, f"kcli mirror: {contest.rate('kcli') / found.rate:.1f} × (target 30)")

    def _add(self, table: Table, *notes: str) -> None:
        self.tables.append(replace(table, notes=[*table.notes, *notes]))
        print(self.tables[-1].plain(), flush=True)

    # --- contenders ------------------------------------------------------------------------------------

    def _kcat(self, topic: str, records: int) -> Run | None:
        if shutil.which("kcat") is None:
            return None
        line = _PIPE.format(source=self._source, target=self._target, topic=topic, copy=self._fresh())
        return Run(["bash", "-c", line], records)

    def _kcli(self, topic: str, records: int, *flags: str) -> Run:
        copy = self._fresh()
        clusters = [
            "--from",
            self._source,
            "--to",
            self._target,
            "-t",
            topic,
            "--map-topic",
            f"{topic}={copy}",
        ]
        words = ["mirror", *clusters, "--job", copy, "--until-caught-up", "--yes", "-q", *flags]
        return Run([sys.executable, "-m", "kcli", *words], records)

    def _bare(self, topic: str, records: int) -> Run:
        words = [self._source, self._target, topic, self._fresh(), str(PARTITIONS)]
        return Run([sys.executable, "-m", "benchmarks._bare_mirror", *words], records)

    # --- topics ----------------------------------------------------------------------------------------

    def _fresh(self) -> str:
        """An empty topic on the target; the one before it goes, so that the disk does not fill up."""
        if self._copy:
            self._run_kcli(self._target, "topics", "delete", self._copy, "--yes")
        self._copy = f"copy-{next(_NUMBERS)}"
        create_topic(self._target, self._copy, PARTITIONS)
        return self._copy

    def _topic(self, name: str, width: int, *flags: str) -> str:
        """A topic of the source with ``MEGABYTES`` of lines, made once."""
        marker = self._folder / f"{name}.topic"
        if not marker.exists():
            lines = self._folder / "lines"
            with lines.open("wb") as file:
                block = b"".join(b"%09d " % number + b"x" * (width - 11) + b"\n" for number in range(1_000))
                for _ in range(MEGABYTES * 1_000 // width):
                    file.write(block)
            create_topic(self._source, name, PARTITIONS)
            self._run_kcli(
                self._source, "produce", name, str(lines), "-X", "enable.idempotence=false", *flags
            )
            lines.unlink()
            marker.touch()
        return name

    def _run_kcli(self, bootstrap: str, *words: str) -> None:
        argv = [sys.executable, "-m", "kcli", "-b", bootstrap, *words, "-q"]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, env=environment())
