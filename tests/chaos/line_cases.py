"""What one run of ``kcli produce`` is given and what happens to it, drawn at random from a seed. Not a test.

Every line has a number of its own in its value, so that it is found again in the topic and in the ``--failed`` file.
"""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

PARTITIONS = 3
TOO_LARGE = 20_000
"""``max.message.bytes`` of the topics: brokers refuse records above it."""
TOO_LONG = 40_000
"""``max.request.size`` of the runs: kcli refuses records above it."""
_MOST_FAULTS = 4

SIGNALS = ("INT", "TERM", "KILL")


@dataclass(frozen=True, slots=True)
class Line:
    """A unit of the input: ``raw`` is what is in it, ``end`` what ends it. ``good``: it can be stored."""

    number: int
    raw: bytes
    good: bool


@dataclass(slots=True)
class Case:
    """One run, or several where a checkpoint lets the next one continue.

    ``pauses``: seconds from the first record that a run has stored until each fault.
    """

    seed: int
    kind: str
    fault: str
    files: list[list[Line]]
    piped: bool
    flags: list[str]
    failed: bool
    checkpoint: bool
    transactional: bool
    acks: str
    tee: bool
    again: bool
    pauses: list[float] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        """All lines, in the order of the input."""
        return [line for file in self.files for line in file]

    @property
    def name(self) -> str:
        """What it is, in a few words."""
        words = [self.kind, self.fault, "pipe" if self.piped else f"{len(self.files)} files"]
        words += [word for word in ("failed", "checkpoint", "transactional", "tee") if getattr(self, word)]
        return f"seed {self.seed}: {' '.join(words)} {' '.join(self.flags)}"

    def write_inputs(self, folder: Path) -> list[str]:
        """Writes the input files; their names, none for a pipe."""
        if self.piped:
            return []
        names = []
        for index, lines in enumerate(self.files):
            path = folder / f"input{index}"
            path.write_bytes(self.head + b"".join(line.raw + b"\n" for line in lines))
            names.append(str(path))
        return names

    @property
    def head(self) -> bytes:
        """What precedes the lines of each input."""
        return b"value,key\n" if self.kind == "csv" else b""


def draw(seed: int, faults: tuple[str, ...], *, count: int, seconds: float, one_ack: bool = True) -> Case:
    """A case of about ``count`` lines that is over in about ``seconds``, if nothing happens to it.

    ``one_ack``: some ask for acks=1; not where leaders die with what they alone have.
    """
    rng = random.Random(seed)
    fault = rng.choice(faults)
    signals = fault in SIGNALS
    kind = rng.choice(("lines", "lines", "ndjson", "ndjson", "csv", "kcat"))
    transactional = rng.random() < 0.2
    checkpoint = fault == "KILL" or (signals and rng.random() < 0.6) or rng.random() < 0.2
    manual = kind in ("ndjson", "kcat") and rng.random() < 0.6
    rated = kind != "lines" or rng.random() < 0.5
    acks = "1" if rng.random() < 0.15 and not transactional and fault not in ("leader", "codes") else "all"
    acks = acks if one_ack else "all"
    piped = rng.random() < 0.4 or (kind == "lines" and not rated)
    total = rng.randrange(count // 2, count)
    spoilt = rng.choice((0.0, 0.001, 0.02))
    lines = [_line(rng, number, kind, spoilt, manual=manual) for number in range(total)]
    cut = total if piped or rng.random() < 0.6 else rng.randrange(1, total)
    flags = [] if kind == "lines" else ["-i", kind]
    flags += ["--partitioner", "manual"] if manual else []
    flags += ["--rate", str(max(100, round(total / seconds)))] if rated else []
    flags += ["-K", ":"] if kind == "lines" and rng.random() < 0.5 else []
    flags += ["--acks", acks] if acks != "all" else []
    if transactional:
        every = str(rng.choice((50, 500, 5_000)))
        flags += ["--transactional-id", f"id-{seed}", "--transaction-every", every]
    flags += [
        "-X",
        f"max.request.size={TOO_LONG}",
        "-X",
        f"batch.size={rng.choice((2_000, 20_000, 1_000_000))}",
    ]
    flags += ["-X", f"buffer.memory={rng.choice((50_000, 500_000, 32_000_000))}"]
    if fault == "silence":
        flags += ["-X", "delivery.timeout.ms=2000", "-X", "request.timeout.ms=700"]
    pauses = [rng.random() * seconds * 0.9 / (1 + run) for run in range(_MOST_FAULTS)]
    return Case(
        seed,
        kind,
        fault,
        [part for part in (lines[:cut], lines[cut:]) if part],
        piped,
        flags,
        failed=checkpoint or rng.random() < 0.85,
        checkpoint=checkpoint,
        transactional=transactional,
        acks=acks,
        tee=rng.random() < 0.1,
        again=rng.random() < 0.4,
        pauses=pauses,
    )


def _line(rng: random.Random, number: int, kind: str, spoilt: float, *, manual: bool) -> Line:
    text = f"n{number}-" + "x" * rng.randrange(60)
    good, broken, partition = True, False, rng.randrange(PARTITIONS)
    if rng.random() < spoilt:
        what = rng.choice(("large", "long", "broken", "partition"))
        if what in ("large", "long"):
            text += "y" * (TOO_LARGE + 5_000 if what == "large" else TOO_LONG + 5_000)
            good = False
        elif what == "partition" and manual:
            partition, good = PARTITIONS + rng.randrange(5), False
        elif what == "broken" and kind != "lines":
            broken, good = True, False
    return Line(number, _raw(kind, text, partition, manual=manual, broken=broken), good)


def _raw(kind: str, text: str, partition: int, *, manual: bool, broken: bool) -> bytes:
    match kind:
        case "ndjson" | "kcat":
            named = {"partition": partition} if manual else {}
            raw = json.dumps({"value" if kind == "ndjson" else "payload": text, **named}).encode()
            return raw[:-1] if broken else raw
        case "csv":
            return f"{text},k,too,many".encode() if broken else f"{text},k".encode()
    return text.encode()
