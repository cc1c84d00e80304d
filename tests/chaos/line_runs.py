"""Runs a case of ``line_cases`` against a cluster, and judges what became of each line. Not a test.

The invariant: each line of the input is stored, or in the ``--failed`` file, or was not read; never in two of these
(but for lines whose outcome is unknown, which says so), never twice in the file; and the report's counts add up.
"""

import json
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.chaos.line_cases import SIGNALS, Case
from tests.run import KCLI, environment
from tests.warm_kcli import WarmPopen

PATIENCE = 180.0
_NUMBER = re.compile(rb"n(\d+)-")
_BY_SIGNAL = {130, 143, -9}
_UNKNOWN = "may have stored it nevertheless"
"""What the reason says of a line that may be stored although it is in the file."""


class World(Protocol):
    """The cluster that a case runs on. ``strike`` does what the case's fault says, once, and mends it again."""

    bootstrap: str

    def create_topic(self, name: str) -> None: ...

    def delete_topic(self, name: str) -> None: ...

    def count(self, topic: str) -> int: ...

    def strike(self, fault: str, topic: str, rng: random.Random) -> None: ...

    def values(self, topic: str) -> list[bytes]: ...


@dataclass(slots=True)
class Seen:
    """What is left of a case. ``reports`` are those of the runs that could say something; ``code`` is the last one's."""

    case: Case
    stored: list[int] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)
    code: int = 0
    runs: int = 0
    errors: str = ""
    teed: list[bytes] | None = None
    refed: dict[str, Any] | None = None
    left_again: int = 0


class Trial:
    """One case in a folder of its own."""

    def __init__(self, world: World, case: Case, folder: Path) -> None:
        self._world, self._case, self._folder = world, case, folder
        self._rng = random.Random(-case.seed)
        self.topic = f"lines-{case.seed}"

    def run(self) -> Seen:
        case, seen = self._case, Seen(self._case)
        self._world.create_topic(self.topic)
        names = case.write_inputs(self._folder)
        pauses = iter(case.pauses)
        while True:
            struck = case.fault == "none" or (case.fault not in SIGNALS and seen.runs > 0)
            pause = None if struck else next(pauses, None)
            seen.code = self._one(names, pause, seen)
            seen.runs += 1
            if seen.code not in _BY_SIGNAL or not case.checkpoint:
                break
        if case.failed and (path := self._folder / "failed").exists():
            seen.entries = [json.loads(line) for line in path.read_bytes().splitlines()]
        if case.again and seen.entries:
            self._feed_again(seen)
        if case.fault != "delete" or seen.refed is not None:
            seen.stored = [number_of(value) for value in self._world.values(self.topic)]
        return seen

    def _one(self, names: list[str], pause: float | None, seen: Seen) -> int:
        case = self._case
        flags = [*case.flags, *(["--failed", str(self._folder / "failed")] if case.failed else [])]
        flags += ["--checkpoint", str(self._folder / "checkpoint")] if case.checkpoint else []
        flags += ["--tee"] if case.tee else ["-o", "json"]
        before = self._world.count(self.topic) if pause is not None else 0
        process = self._start(flags, names)
        feeder = threading.Thread(target=self._feed, args=(process,), daemon=True)
        feeder.start()
        striker = threading.Thread(target=self._strike, args=(process, pause, before), daemon=True)
        striker.start()
        out, err = self._end(process, feeder)
        striker.join(PATIENCE)
        seen.errors += err.decode(errors="replace")
        if case.tee:
            seen.teed = out.splitlines()
        elif out and process.returncode != -signal.SIGKILL:  # which may come in the middle of the report
            seen.reports.append(json.loads(out)["items"][0])
        return process.returncode

    def _start(self, flags: Sequence[str], names: Sequence[str]) -> "subprocess.Popen[bytes]":
        return WarmPopen(
            [*KCLI, "produce", self.topic, *flags, *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(self._world.bootstrap),
            cwd=self._folder,
        )

    def _end(self, process: "subprocess.Popen[bytes]", feeder: threading.Thread) -> tuple[bytes, bytes]:
        found: dict[str, bytes] = {}
        readers = [
            threading.Thread(target=lambda n=name, s=stream: found.__setitem__(n, s.read()), daemon=True)
            for name, stream in (("out", process.stdout), ("err", process.stderr))
        ]
        for reader in readers:
            reader.start()
        process.wait(PATIENCE)
        for thread in (*readers, feeder):
            thread.join(PATIENCE)
        return found["out"], found["err"]

    def _feed(self, process: "subprocess.Popen[bytes]") -> None:
        """A pipe that brings its bytes in bursts of any size; nothing where there are files."""
        stdin, case = process.stdin, self._case
        assert stdin is not None
        data = case.head + b"".join(line.raw + b"\n" for line in case.lines) if case.piped else b""
        rated = "--rate" in case.flags
        try:
            while data:
                size = self._rng.randrange(1, max(2, len(data) // 8, 20_000))
                stdin.write(data[:size])
                stdin.flush()
                data = data[size:]
                time.sleep(0 if rated else self._rng.random() / 8)
            stdin.close()
        except (BrokenPipeError, ValueError):
            pass

    def _strike(self, process: "subprocess.Popen[bytes]", pause: float | None, before: int) -> None:
        """``before``: the records that were stored before this run."""
        if pause is None:
            return
        while process.poll() is None and self._world.count(self.topic) <= before:
            time.sleep(0.02)
        try:
            process.wait(pause)
        except subprocess.TimeoutExpired:
            case = self._case
            if case.fault in SIGNALS:
                process.send_signal(getattr(signal, f"SIG{case.fault}"))
            elif case.fault == "delete":
                self._world.delete_topic(self.topic)
            else:
                self._world.strike(case.fault, self.topic, self._rng)

    def _feed_again(self, seen: Seen) -> None:
        """What failed goes in again, into the topic as it was created: all that is good is stored then."""
        case = self._case
        if case.fault == "delete":
            self.topic += "-again"
            self._world.create_topic(self.topic)
        flags = [flag for flag in case.flags if flag not in ("-i", "ndjson", "kcat", "csv")]
        rest = self._folder / "again"
        process = self._start(
            ["-i", "failed", *flags, "-o", "json", "--failed", str(rest)], [str(self._folder / "failed")]
        )
        out, err = process.communicate(timeout=PATIENCE)
        seen.errors += err.decode(errors="replace")
        seen.refed = json.loads(out)["items"][0] if out else {}
        seen.left_again = len(rest.read_bytes().splitlines())


def number_of(value: bytes) -> int:
    """The number of the line that a stored value came from."""
    found = _NUMBER.match(value)
    return int(found[1]) if found else -1


def judge(seen: Seen) -> list[str]:
    """What is wrong with the account, in words; nothing if all is well."""
    case, wrong = seen.case, []
    say = wrong.append
    if "Traceback" in seen.errors:
        say("a traceback")
    for report in seen.reports:
        if report["lines"] != report["confirmed"] + report["failed"] + report["unknown"]:
            say(f"the counts do not add up: {report}")
    in_file = _numbers_in_file(seen, say)
    if case.failed and not case.checkpoint and not case.transactional and seen.reports:
        unknown, said = seen.reports[-1]["unknown"], sum(in_file.values())
        if unknown != said:
            say(f"{unknown} unknown, and {said} lines of the file say so")
    if case.fault == "delete" and seen.refed is None:
        _judge_counts(seen, in_file, say)
    else:
        _judge_stored(seen, in_file, say)
    if seen.teed is not None and seen.runs == 1 and len(case.files) == 1 and seen.code == 0:
        _judge_copy(seen, seen.teed, say)
    return wrong


def _judge_copy(seen: Seen, teed: list[bytes], say: Callable[[str], None]) -> None:
    if teed != [*seen.case.head.splitlines(), *(line.raw for line in seen.case.lines)]:
        say("the copy of the input differs from it")


def _numbers_in_file(seen: Seen, say: Callable[[str], None]) -> dict[int, bool]:
    """The lines in the file, and whether their outcome is unknown."""
    lines = seen.case.files
    found: dict[int, bool] = {}
    for entry in seen.entries:
        name = entry.get("file", "input0")
        index = int(name[-1]) if name[-1].isdigit() and not seen.case.piped else 0
        source = seen.case.lines if seen.case.piped else lines[index]
        line = source[entry.get("record", entry["line"]) - 1]
        if line.number in found:
            say(f"line {line.number} is in the file twice")
        raw = line.raw
        if entry["input"] is not None and entry["input"].encode() != raw:
            say(f"line {line.number} is not what stood in the input: {entry['input'][:40]!r}")
        found[line.number] = _UNKNOWN in entry["reason"]
    return found


def _judge_counts(seen: Seen, in_file: dict[int, bool], say: Callable[[str], None]) -> None:
    """The topic is gone: the report's word stands for what was in it."""
    if not seen.case.failed or not seen.reports:
        return
    report = seen.reports[-1]
    first = 0 if seen.case.checkpoint else None
    if first is None and len(in_file) != report["failed"] + report["unknown"]:
        say(f"{len(in_file)} lines in the file, {report['failed']} failed and {report['unknown']} unknown")
    if any(number >= report["lines"] for number in in_file):
        say("a line in the file was not read")


def _judge_stored(seen: Seen, in_file: dict[int, bool], say: Callable[[str], None]) -> None:
    case = seen.case
    counts = Counter(seen.stored)
    every = {line.number for line in case.lines}
    bad = {line.number for line in case.lines if not line.good}
    if strange := set(counts) - every:
        say(f"{len(strange)} records that nobody sent")
    if wrong := set(counts) & bad:
        say(f"{_some(wrong)} stored although they cannot be")
    if case.fault == "delete":
        _judge_again(seen, in_file, say)
        return
    single = seen.runs == 1 and case.acks == "all" and seen.refed is None
    if (single or (case.transactional and seen.refed is None)) and (
        twice := [number for number, times in counts.items() if times > 1]
    ):
        say(f"{_some(twice)} stored twice")
    if case.failed and seen.refed is None:
        both = {number for number in in_file if number in counts and not in_file[number]}
        if both:
            say(f"{_some(both)} in the file and stored")
    neither = every - set(counts) - set(in_file)
    if seen.refed is not None:
        _judge_again(seen, in_file, say)
    if not case.failed:
        _judge_without_file(seen, counts, say)
    elif seen.code in (0, 1, 6):
        if neither:
            say(f"{_some(neither)} lost, and it ended with {seen.code}")
    elif neither and not case.checkpoint:
        _judge_unread(seen, counts, in_file, neither, say)
    if seen.reports and seen.runs == 1 and case.failed and seen.refed is None:
        report = seen.reports[-1]
        certain = set(counts) - set(in_file)
        if report["confirmed"] != len(certain) and not report["unknown"]:
            say(f"{report['confirmed']} confirmed, {len(certain)} stored")
        if not case.checkpoint and len(in_file) != report["failed"] + report["unknown"]:
            say(
                f"{len(in_file)} lines in the file, {report['failed']} failed and {report['unknown']} unknown"
            )


def _judge_without_file(seen: Seen, counts: Counter[int], say: Callable[[str], None]) -> None:
    if seen.reports and seen.runs == 1 and seen.refed is None:
        report = seen.reports[-1]
        if not report["confirmed"] <= len(counts) <= report["confirmed"] + report["unknown"]:
            say(f"{report['confirmed']} confirmed and {report['unknown']} unknown, {len(counts)} stored")


def _judge_unread(
    seen: Seen, counts: Counter[int], in_file: dict[int, bool], neither: set[int], say: Callable[[str], None]
) -> None:
    """After a stop: what is in neither was not read, so it is what the input ends with, bad lines aside."""
    bad = {line.number for line in seen.case.lines if not line.good}
    read = (set(counts) | set(in_file)) - bad
    if read and min(neither) < max(read):
        say(f"line {min(neither)} is lost: line {max(read)} was read")
    if seen.reports and (seen.reports[-1]["lines"] != len(seen.case.lines) - len(neither)):
        say(
            f"{seen.reports[-1]['lines']} lines read, {len(neither)} of {len(seen.case.lines)} are in neither"
        )


def _judge_again(seen: Seen, in_file: dict[int, bool], say: Callable[[str], None]) -> None:
    """What was fed again is stored or has failed again."""
    refed = seen.refed or {}
    if refed.get("lines") != len(in_file):
        say(f"{refed.get('lines')} of {len(in_file)} lines were fed again")
    if refed.get("failed", 0) + refed.get("unknown", 0) != seen.left_again:
        say(f"{seen.left_again} failed again, and {refed} was reported")
    good = {line.number for line in seen.case.lines if line.good}
    if missing := (set(in_file) & good) - set(seen.stored):
        say(f"{_some(missing)} fed again and not stored")


def _some(numbers: Iterable[int]) -> str:
    found = sorted(numbers)
    return f"{len(found)} lines ({', '.join(map(str, found[:5]))}{', …' if len(found) > 5 else ''})"
