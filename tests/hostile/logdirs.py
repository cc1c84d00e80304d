"""Targets: the folder of a partition with one damaged file, from finding it to its records and transactions. Not a test.

The first byte of an input says which file it is, the rest is its content. A third of the segments is damaged behind right
checksums. An index that is wrong changes no answer. ``segments verify`` goes through the same folder, and names what a
reader of batches refuses.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from random import Random

from kcli.core.errors import CorruptRecordsError, UnreadableFileError
from kcli.core.kernels.active import crc32c
from kcli.core.logdir.folders import find
from kcli.core.logdir.partition_log import PartitionLog
from kcli.core.logdir.segment_files import choose_files
from kcli.core.records.batch import CRC_START, HEADER, HEADER_SIZE, LENGTH_END
from kcli.core.types import Codec
from kcli.flows.segments.policies import Policy
from kcli.flows.segments.verify import Verdict, Verification, judge, read_segment, small_file_finding
from tests.hostile.mutator import Mark, Sample, mutate
from tests.hostile.target import Family, Target
from tests.segments import (
    ABORT,
    BASE,
    COMMIT,
    aborted_index,
    batch,
    epochs,
    marker,
    name,
    offsets,
    snapshot,
    write,
)
from tests.unit.records.test_legacy import message, wrapper

_MARKS = (
    (0, "q"),
    (8, "i"),
    (12, "i"),
    (16, "b"),
    (21, "h"),
    (23, "i"),
    (27, "q"),
    (35, "q"),
    (43, "q"),
    (57, "i"),
)
_LOGS = ("old", "middle", "last")
_BESIDE = (
    "middle.index", "middle.timeindex", "middle.txnindex", "last.index", "last.timeindex", "last.txnindex",
    "middle.snapshot", "last.snapshot", "leader-epoch-checkpoint", "partition.metadata", "meta.properties",
    "replication-offset-checkpoint", "log-start-offset-checkpoint", "recovery-point-offset-checkpoint",
)  # fmt: skip
_HINTS = ("middle.index", "last.index")
"""Files whose damage changes no answer."""
_BASES = {"old": 0, "middle": 20, "last": 60}
_ALLOWED = (CorruptRecordsError, UnreadableFileError)


def _write(root: Path) -> None:
    """A log directory with one partition: old formats, all codecs, transactions that were aborted, one left open."""
    folder = root / "orders-3"
    folder.mkdir(parents=True)
    inside = b"".join(message(number, b"w" * 5) for number in range(3))
    old = message(0, b"a") + message(1, None, key=b"k") + bytes(wrapper(4, inside).raw) + batch(5, [b"x"] * 3)
    (folder / name(0)).write_bytes(old)
    data = partial(batch, transactional=True)
    middle = [
        batch(20, [b"a" * 40, None], codec=Codec.ZSTD), data(22, producer=5), data(23, producer=6),
        batch(24, codec=Codec.LZ4),
        marker(26, 5, ABORT), batch(27, [b"g"] * 4, codec=Codec.GZIP, gaps=(0, 2, 3, 9)), marker(40, 6, COMMIT),
        data(41, producer=5),
    ]  # fmt: skip
    write(folder, middle, every=2)
    last = [
        marker(60, 5, ABORT, epoch=1), batch(61, [b"s"], codec=Codec.SNAPPY, epoch=1), data(62, producer=7, epoch=1),
        batch(63, [b"z" * 200], appended=BASE, epoch=1), batch(64, [b"n"] * 9, epoch=1),
    ]  # fmt: skip
    write(folder, last, every=1, tail=batch(73)[:30])
    (folder / name(20, ".txnindex")).write_bytes(aborted_index([(5, 22, 26, 23)]))
    (folder / name(60, ".txnindex")).write_bytes(aborted_index([(5, 41, 60, 61)]))
    (folder / name(20, ".snapshot")).write_bytes(snapshot([(9, 0, 0, 1, 0, BASE, 0, -1)]))
    (folder / name(60, ".snapshot")).write_bytes(snapshot([(5, 0, 0, 41, 0, BASE, 0, 41)]))
    (folder / "leader-epoch-checkpoint").write_bytes(epochs([(0, 0), (1, 60)]))
    (folder / "partition.metadata").write_bytes(b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n")
    (root / "meta.properties").write_bytes(b"#\nversion=1\nnode.id=4\ncluster.id=c\ndirectory.id=d\n")
    (root / "replication-offset-checkpoint").write_bytes(offsets([("orders", 3, 70), ("other", 0, 5)]))
    (root / "log-start-offset-checkpoint").write_bytes(offsets([("orders", 3, 1)]))
    (root / "recovery-point-offset-checkpoint").write_bytes(offsets([("orders", 3, 60)]))


@cache
def _root() -> Path:
    root = Path(
        tempfile.mkdtemp(prefix="kcli-hostile-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    _write(root)
    return root


def _place(file: str) -> Path:
    stem, dot, suffix = file.partition(".")
    if stem in _BASES:
        return _root() / "orders-3" / name(_BASES[stem], dot + suffix if dot else ".log")
    inner = _root() / "orders-3" / file
    return inner if inner.exists() else _root() / file


@cache
def _sample(file: str) -> Sample:
    data = _place(file).read_bytes()
    if file in _LOGS:
        at, marks = 0, []
        while len(data) - at > HEADER_SIZE and data[at + 16] == 2:
            marks += [Mark(at + where, kind) for where, kind in _MARKS]
            at += LENGTH_END + HEADER.unpack_from(data, at)[1]
        return Sample(data, tuple(marks))
    width = {"index": (8, "iiii"), "timeindex": (12, "qi"), "txnindex": (34, "hqqqq")}.get(
        file.rpartition(".")[2]
    )
    if width is None:
        return Sample(data)
    kinds = {"h": 2, "i": 4, "q": 8}
    fields, at = [], 0
    for kind in width[1]:
        fields.append((at, kind))
        at += kinds[kind]
    return Sample(
        data,
        tuple(Mark(row + where, kind) for row in range(0, len(data), width[0]) for where, kind in fields),
    )


def _signed(data: bytes) -> bytes:
    """The batches with the checksums that their bytes have now, as far as they can be told apart."""
    out, at = bytearray(data), 0
    while len(out) - at >= HEADER_SIZE:
        end = at + LENGTH_END + int.from_bytes(out[at + 8 : at + 12], "big", signed=True)
        if not at + HEADER_SIZE <= end <= len(out):
            break
        out[at + CRC_START - 4 : at + CRC_START] = crc32c(out[at + CRC_START : end]).to_bytes(4, "big")
        at = end
    return bytes(out)


def _make_log(rng: Random) -> bytes:
    number = rng.randrange(len(_LOGS))
    samples = [_sample(file) for file in _LOGS]
    data = mutate(samples[number], rng, samples)
    if number and rng.random() < 0.35:
        data = _signed(data)
    if rng.random() < 0.05:
        data += bytes(rng.randrange(3_000))
    return bytes((number,)) + data


def _make_beside(rng: Random) -> bytes:
    number = rng.randrange(len(_BESIDE))
    samples = [_sample(file) for file in _BESIDE]
    data = mutate(samples[number], rng, samples)
    if _BESIDE[number].endswith("snapshot") and rng.random() < 0.5 and len(data) > 6:
        data = data[:2] + crc32c(data[6:]).to_bytes(4, "big") + data[6:]
    return bytes((number,)) + data


def _run(files: tuple[str, ...], data: bytes) -> None:
    """Everything that is done with a folder; the errors that are allowed do not hide what follows."""
    if not data or data[0] >= len(files):
        return
    file = files[data[0]]
    before, place = _sample(file).data, _place(file)
    right = _answers() if file in _HINTS else None
    place.write_bytes(data[1:])
    compacted = (None, False, True)[len(data) % 3]
    refused: list[Exception] = []
    try:
        named = _verify(compacted=compacted)
        sound = _is_sound()
        answers = _answer(refused, lambda: _ask(refused))
    finally:
        place.write_bytes(before)
    assert right is None or answers == right, (file, answers, right)
    assert sound or named != _named(compacted=compacted), file
    if refused:
        raise refused[0]


def _verify(*, compacted: bool | None) -> list[object]:
    """What ``segments verify`` finds in the folder, and what it could not read; without its threads."""
    found = find([_root()])
    named: list[object] = [small_file_finding(one.path, one.why) or one for one in found.missing]
    named += Verification(found, None).folder_findings
    for folder in found.partitions:
        verdict = Verdict(folder, Policy(compacted, ""))
        files = choose_files(folder.path, folder.files).files
        judge(
            verdict,
            [read_segment(folder, one, verdict.policy, one is files[-1], lambda: False) for one in files],
        )
        named += [*verdict.findings, *(str(part.error) for part in verdict.missing)]
    return named


@cache
def _named(*, compacted: bool | None) -> list[object]:
    """Of the folder without damage: its torn tail, the indexes that the first segment lacks."""
    return _verify(compacted=compacted)


def _is_sound() -> bool:
    """Whether all is read without looking into the records."""
    found = find([_root()])
    if found.missing:
        return False
    try:
        with PartitionLog(found.partitions[0]) as log:
            log.epochs()
            for _ in log.batches(log.start_offset, log.end_offset, verify=True):
                pass
    except _ALLOWED:
        return False
    return True


@cache
def _answers() -> list[object]:
    refused: list[Exception] = []
    found = _ask(refused)
    assert not refused
    return found


def _ask(refused: list[Exception]) -> list[object]:
    found = find([_root()])
    refused += [UnreadableFileError(miss.path, why=miss.why) for miss in found.missing]
    (folder,) = found.partitions
    answers: list[object] = []
    with PartitionLog(folder) as log:
        assert log.start_offset <= log.end_offset
        for offset in (5, 29, 63):
            answers.append(_answer(refused, lambda at=offset: log.locate(at)))  # type: ignore[misc]
        for time in (BASE + 21, BASE + 63):
            answers.append(_answer(refused, lambda at=time: log.offset_for_time(at)))  # type: ignore[misc]
        answers += [
            _answer(refused, log.latest_time), _answer(refused, log.epochs), _answer(refused, log.open_transactions),
            _answer(refused, lambda: log.aborted(log.start_offset, log.end_offset)),
            _answer(refused, lambda: _read(log)), log.end_offset, log.start_offset,
        ]  # fmt: skip
        for number in range(len(log.files)):
            with suppress(*_ALLOWED):
                log.index(number).check(log.files[number].size)
            with suppress(*_ALLOWED):
                log.time_index(number).check()
    return answers


def _answer(refused: list[Exception], ask: Callable[[], object]) -> object:
    try:
        return ask()
    except _ALLOWED as error:
        refused.append(error)
        return str(error)


def _read(log: PartitionLog) -> tuple[int, int]:
    """All records; what is damaged is passed over."""
    at, records, damages = log.start_offset, 0, 0
    while at < log.end_offset:
        try:
            for segment, (position, one) in log.batches(at, log.end_offset, verify=True):
                assert 0 <= position < segment.size
                assert one.next_offset > at
                at = one.next_offset
                records += sum(1 for _ in one.records())
        except CorruptRecordsError as error:
            damages += 1
            if error.next_offset <= at:
                break  # nothing further on is known to be whole
            at = error.next_offset
            continue
        break
    return records, damages


def family() -> Family:
    """Segments, and what is beside them."""
    return Family(
        "logdirs",
        0.1,
        (
            Target("logdir-segment", "logdirs", _make_log, partial(_run, _LOGS), _ALLOWED),
            Target("logdir-beside", "logdirs", _make_beside, partial(_run, _BESIDE), _ALLOWED),
        ),
        spare=8 << 20,
        per_kernel=True,
    )
