"""The topics of a benchmark: sources that are filled once, and copies, of which the last one exists."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import count
from pathlib import Path

from benchmarks._measure import create_topic, environment

PARTITIONS = 4
_BLOCK = 20_000_000  # bytes of values that differ; more than what a codec remembers


class Topics:
    """Topics of the cluster at ``bootstrap``. ``folder`` is for temporary files."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self._bootstrap = bootstrap
        self._folder = folder
        self._numbers = count(1)
        self._filled: set[str] = set()
        self._copy = ""

    def source(self, width: int, megabytes: int) -> tuple[str, int]:
        """A topic with values of ``width`` bytes, and the number of its records."""
        topic, distinct = f"w{width}", min(_BLOCK, megabytes * 1_000_000) // width
        blocks = max(1, megabytes * 1_000_000 // (distinct * width))
        if topic not in self._filled:
            self._filled.add(topic)
            create_topic(self._bootstrap, topic, PARTITIONS)
            self._fill(topic, width, distinct, blocks)
        return topic, distinct * blocks

    def orders(self, width: int, records: int) -> str:
        """A topic with so many values of JSON of about ``width`` bytes."""
        topic = f"orders{width}"
        if topic not in self._filled:
            self._filled.add(topic)
            create_topic(self._bootstrap, topic, PARTITIONS)
            lines = self._folder / "lines"
            with lines.open("w") as file:
                for number in range(records):
                    value = (
                        f'{{"id":{number},"status":"s{number % 4}","customer":{{"id":"c{number % 1000}"}},'
                        f'"amount":{number % 700}.5'
                    )
                    file.write(
                        f'{number % 5000}\t{value},"note":"{"x" * max(0, width - len(value) - 11)}"}}\n'
                    )
            self._kcli("produce", topic, str(lines), "-K", "\t", "-z", "none")
            lines.unlink()
        return topic

    def copy(self) -> str:
        """An empty topic; the one before it goes, so that the disk does not fill up."""
        if self._copy:
            self._kcli("topics", "delete", self._copy, "--yes")
        self._copy = self.new()
        return self._copy

    def new(self) -> str:
        """An empty topic that stays."""
        name = f"copy-{next(self._numbers)}"
        create_topic(self._bootstrap, name, PARTITIONS)
        return name

    def _fill(self, topic: str, width: int, distinct: int, blocks: int) -> None:
        chance = random.Random(width)
        block = b"".join(
            b"%08d:%s\n" % (number, chance.randbytes(width // 2).hex().encode()) for number in range(distinct)
        )
        lines = self._folder / "lines"
        with lines.open("wb") as file:
            for _ in range(blocks):
                file.write(block)
        self._kcli("produce", topic, str(lines), "-K", ":", "-z", "none")
        lines.unlink()

    def _kcli(self, *words: str) -> None:
        argv = [sys.executable, "-m", "kcli", "-b", self._bootstrap, *words, "-q"]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, env=environment())
