"""``python -m tests.hostile``: many mutated inputs in several processes; ``make fuzz``. Not a test.

A process that dies or hangs in native code is found by its number in a shared file, and continued after the input. The
first input of each kind of finding is kept below ``.cache/fuzz``, named as the corpus names its files: once mended, move
it to ``tests/hostile/corpus``.

Inputs are judged in pieces. With ``--remember`` those that are finished are in a ledger, and are not judged again under
the same code; ``--minutes`` ends the run with the first piece after them. ``--clients`` gives a hundredth as many changed
responses to whole clients (``live``). What follows ``--`` is run in the end, with ``--minutes`` for what is left.
Exit status: 0 only if everything was judged and nothing found, 1 for findings, 3 if something is left.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.hostile import live
from tests.hostile.families import NAMES, families
from tests.hostile.harness import DONE, GROWTH, Finding, Now, Plan, run
from tests.hostile.ledger import JUDGED, Ledger, Piece, state_of

FOUND = Path(".cache/fuzz")
_STUCK = 60.0
"""Seconds of wall time for one input, before a process counts as hanging where no timer reaches it."""
_TICK = 0.2
PIECE = 50_000
"""Inputs that are judged at a time: what a stop loses at most."""
_CLIENTS = 100
"""How many inputs there are for each changed response of the clients."""
LEFT = 3
"""Exit status: nothing was found, and something is left to do."""


@dataclass(eq=False)
class Worker:
    """A process and the inputs that are left to it: first, last and step."""

    first: int
    stop: int
    step: int
    seed: int
    implementation: str
    names: tuple[str, ...]
    folder: Path
    growth: int = GROWTH
    findings: list[Finding] = field(default_factory=list)
    refused: int = 0
    done: bool = False

    def start(self) -> None:
        """Begins, or continues, at ``first``."""
        self._number = len(list(self.folder.iterdir()))
        place = self.folder / f"now-{self._number}"
        self._now = Now.create(place)
        self._errors = (self.folder / f"err-{self._number}").open("w+b")
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", "tests.hostile", "--worker", str(place), "--seed", str(self.seed),
                "--only", ",".join(self.names), "--range", f"{self.first}:{self.stop}:{self.step}",
                "--growth", str(self.growth >> 20),
            ],
            env=os.environ | {"KCLI_IMPL": self.implementation},
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )  # fmt: skip
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._text = b""
        self._seen, self._since = -1, time.monotonic()

    @property
    def judged(self) -> int:
        """How many inputs are behind it."""
        if not hasattr(self, "_now"):
            return 0
        index, _ = self._now.read()
        if self.done or index == DONE:
            return len(range(self._start, self.stop, self.step))
        return max(0, (index - self._start) // self.step)

    def __post_init__(self) -> None:
        self._start = self.first

    def tend(self) -> None:
        """Reads what was found; a dead or stuck process is a finding too, and goes on behind it."""
        self._read()
        code = self._process.poll()
        index, refused = self._now.read()
        if index != self._seen:
            self._seen, self._since = index, time.monotonic()
        stuck = code is None and index >= 0 and time.monotonic() - self._since > _STUCK
        if code is None and not stuck:
            return
        if stuck:
            self._process.kill()
            self._process.wait()
        self._read()
        self.refused += refused
        if code == 0:
            self.done = True
            return
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        if index < 0:
            raise SystemExit(f"a process ended with {code} before its first input:\n{said}")
        _, target, data = Plan(families(self.names)).input(self.seed, index)
        kind = "stuck" if stuck else f"death-{code}"
        self.findings.append(Finding(target.name, kind, said[-2000:], data, f"{self.seed}:{index}"))
        self.first = index + self.step
        if self.first < self.stop:
            self.start()
        else:
            self.done = True

    def end(self) -> None:
        """For Ctrl-C."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._text += self._process.stdout.read() or b""
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            row = json.loads(line)
            row["data"] = bytes.fromhex(row["data"])
            self.findings.append(Finding(**row))


def campaign(
    inputs: int,
    seed: int,
    implementations: tuple[str, ...],
    jobs: int = 1,
    *,
    only: tuple[str, ...] = NAMES,
    growth: int = GROWTH,
    after: int = 0,
) -> tuple[list[Finding], int, int]:
    """The findings among ``inputs`` inputs, how many were judged, and how many were refused by their parsers.

    With two implementations, what differs between them sees its share in each; everything else once. ``after`` so many
    inputs, as if they had been judged just before.
    """
    shared = tuple(family.name for family in families(only) if not family.per_kernel)
    kernels = tuple(name for name in only if name not in shared)
    rows = [(impl, only if at == 0 else kernels) for at, impl in enumerate(implementations)]
    weights = [sum(f.share for f in families(names)) for _, names in rows]
    with tempfile.TemporaryDirectory() as folder:
        workers = []
        for (impl, names), weight in zip(rows, weights, strict=True):
            first, stop = (round(count * weight / sum(weights)) for count in (after, after + inputs))
            workers += [
                Worker(first + at, stop, jobs, seed, impl, names, Path(folder), growth) for at in range(jobs)
            ]
        _tend(workers, jobs)
    found = [finding for worker in workers for finding in worker.findings]
    return found, sum(worker.judged for worker in workers), sum(worker.refused for worker in workers)


def _tend(workers: list[Worker], jobs: int) -> None:
    waiting, busy = list(workers), []
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                busy.append(waiting.pop(0))
                busy[-1].start()
            for worker in busy:
                worker.tend()
            busy = [worker for worker in busy if not worker.done]
            time.sleep(_TICK)
    finally:
        for worker in busy:
            worker.end()


def keep(findings: list[Finding]) -> list[Finding]:
    """One of each kind, in a file."""
    first: dict[tuple[str, str, str], Finding] = {}
    for found in findings:
        first.setdefault((found.target.partition("-v")[0], found.kind, found.where.partition(":")[0]), found)
    FOUND.mkdir(parents=True, exist_ok=True)
    for found in first.values():
        digest = hashlib.sha256(found.data).hexdigest()[:8]
        (FOUND / f"{found.target}.{found.kind}-{digest}").write_bytes(found.data)
    return list(first.values())


def main(words: list[str]) -> int:
    end = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--impl", default="pure,native", help="which implementations of the kernels")
    parser.add_argument("--only", default=",".join(NAMES), help="which families of parsers")
    parser.add_argument("--growth", type=int, default=GROWTH >> 20, help="MiB by which memory may grow")
    parser.add_argument(
        "--clients", action="store_true", help="also whole clients, with a hundredth of the inputs"
    )
    parser.add_argument(
        "--remember", action="store_true", help="go on where the last run with this seed ended"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="no piece is begun after so long")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--range", help=argparse.SUPPRESS)
    given = parser.parse_args(words[:end])
    return _work(given) if given.worker else _judge(given, words[end + 1 :])


def _judge(given: argparse.Namespace, then: list[str]) -> int:
    until = time.monotonic() + 60 * given.minutes
    ledger = Ledger(FOUND / f"seed-{given.seed}.ndjson" if given.remember else None, state_of(JUDGED))
    pieces = list(_pieces(given, ledger.code))
    if earlier := ledger.earlier():
        print(earlier)
    try:
        for piece in pieces:
            if time.monotonic() > until:
                break
            if not ledger.has(piece):
                ledger.add(_judged(piece, given))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    places = {piece.place for piece in pieces}
    done = [piece for piece in ledger.own() if piece.place in places]
    findings = [found for piece in done for found in piece.findings]
    print(*findings, sep="\n", end="\n" if findings else "")
    judged, refused = sum(piece.inputs for piece in done), sum(piece.refused for piece in done)
    print(f"{judged:,} inputs (seed {given.seed}), {refused:,} refused, {len(findings)} findings")
    left = sum(piece.inputs for piece in pieces) - judged
    if left:
        print(f"{left:,} inputs are left" + (": the same command goes on" if given.remember else ""))
    elif then:
        spare = (
            [] if given.minutes == math.inf else ["--minutes", str(max(0.0, until - time.monotonic()) / 60)]
        )
        code = subprocess.run([*then, *spare], check=False).returncode
        if code:
            return LEFT if code == LEFT and not findings else 1
    return 1 if findings else LEFT if left else 0


def _pieces(given: argparse.Namespace, code: str) -> Iterator[Piece]:
    for first in range(0, given.inputs, PIECE):
        last = min(first + PIECE, given.inputs)
        yield Piece(f"parsers: {given.impl}: {given.only}", first, last, code)
        if given.clients:
            yield Piece("clients", first // _CLIENTS, last // _CLIENTS, code)


def _judged(piece: Piece, given: argparse.Namespace) -> Piece:
    began = time.monotonic()
    if piece.what == "clients":
        tally = live.campaign(piece.inputs, given.seed, first=piece.first)
        judged = replace(piece, refused=tally.refused, findings=tally.findings)
    else:
        found, _, refused = campaign(
            piece.inputs,
            given.seed,
            tuple(given.impl.split(",")),
            given.jobs,
            only=tuple(given.only.split(",")),
            growth=given.growth << 20,
            after=piece.first,
        )
        judged = replace(piece, refused=refused, findings=[str(one) for one in keep(found)])
    spent = time.monotonic() - began
    about = f"{piece.what.partition(':')[0]} {piece.first:,} to {piece.last:,}"
    print(f"{about}: {len(judged.findings)} findings, {spent:.0f} s", flush=True)
    return judged


def _work(given: argparse.Namespace) -> int:
    first, stop, step = map(int, given.range.split(":"))
    plan = Plan(families(tuple(given.only.split(","))))
    for found in run(plan, given.seed, range(first, stop, step), Now(given.worker), given.growth << 20):
        row = {"target": found.target, "kind": found.kind, "where": found.where, "name": found.name}
        print(json.dumps(row | {"data": found.data.hex()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
