"""Each damage of a log is named, with its file and position; a log that is whole has no finding."""

import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kcli.core.logdir.folders import find, read_used
from kcli.core.offline.image import ImageTopic, MetadataImage
from kcli.flows.segments.finding import DAMAGE, NOTE, Finding
from kcli.flows.segments.verify import Verification, small_file_finding
from tests.parity.plain import record
from tests.segments import (
    ABORT,
    COMMIT,
    aborted_index,
    batch,
    epochs,
    header,
    marker,
    name,
    offsets,
    sealed,
    snapshot,
    write,
)

TOPIC_ID, OTHER_ID = bytes(range(16)), bytes(range(16, 32))
ID_TEXT, OTHER_TEXT = "AAECAwQFBgcICQoLDA0ODw", "EBESExQVFhcYGRobHB0eHw"
PER_BATCH, FEW, MANY = 5, 20, 60
SECOND, THIRD = FEW * PER_BATCH, (FEW + MANY) * PER_BATCH
END = THIRD + 10 + 4
LARGE = b"v" * 10_000
"""The second segment has 60 batches of 50 KB: an index that lacks many entries is seen from 1 MiB on."""


def first_batches() -> list[bytes]:
    return [batch(PER_BATCH * number, [b"value"] * PER_BATCH, epoch=3) for number in range(FEW)]


def second_batches() -> list[bytes]:
    return [
        batch(SECOND + PER_BATCH * number, [LARGE] * PER_BATCH, epoch=3 if number < 30 else 4)
        for number in range(MANY)
    ]


def third_batches() -> list[bytes]:
    """Two batches, an aborted and a committed transaction, then an open one."""
    return [
        *(batch(THIRD + PER_BATCH * number, [b"value"] * PER_BATCH, epoch=4) for number in range(2)),
        batch(THIRD + 10, [b"gone"], epoch=4, producer=7, transactional=True),
        marker(THIRD + 11, 7, ABORT, epoch=4),
        batch(THIRD + 12, [b"kept"], epoch=4, producer=7, transactional=True),
        marker(THIRD + 13, 7, COMMIT, epoch=4),
    ]


def positions(batches: list[bytes]) -> list[int]:
    found, at = [], 0
    for raw in batches:
        found.append(at)
        at += len(raw)
    return found


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with one partition."""
    root = tmp_path_factory.mktemp("sound")
    folder = root / "orders-0"
    write(folder, first_batches())
    write(folder, second_batches())
    write(folder, third_batches())
    stable = (7, THIRD + 10, THIRD + 11, THIRD + 12)
    (folder / name(THIRD, ".txnindex")).write_bytes(aborted_index([stable]))
    (folder / name(THIRD, ".snapshot")).write_bytes(snapshot([(7, 0, 4, THIRD + 9, 0, 5, 0, -1)]))
    (folder / "leader-epoch-checkpoint").write_bytes(epochs([(3, 0), (4, SECOND + 150)]))
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {ID_TEXT}\n")
    (root / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=cluster\n")
    (root / "replication-offset-checkpoint").write_bytes(offsets([("orders", 0, END)]))
    (root / "recovery-point-offset-checkpoint").write_bytes(offsets([("orders", 0, THIRD)]))
    return root


def image_of(policy: str = "delete") -> MetadataImage:
    image = MetadataImage()
    image.topics["orders"] = ImageTopic("orders", TOPIC_ID, {})
    image.topics["payments"] = ImageTopic("payments", OTHER_ID, {})
    image.configs[2, "orders"] = {"cleanup.policy": policy}
    return image


def findings_of(root: Path, image: MetadataImage | None) -> list[Finding]:
    found = find([root])
    verification = Verification(found, image, threads=2)
    small = [small_file_finding(one.path, one.why) for one in found.missing]
    verdicts = list(verification.verdicts())
    assert not [one for verdict in verdicts for one in verdict.missing]
    of_partitions = [one for verdict in verdicts for one in verdict.findings]
    return [*(one for one in small if one), *verification.folder_findings, *of_partitions]


def change(path: Path, at: int, new: bytes) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + len(new)] = new
    path.write_bytes(data)


def flip(path: Path, at: int) -> None:
    change(path, at, bytes([path.read_bytes()[at] ^ 0x10]))


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


FIRST_LOG, SECOND_LOG, THIRD_LOG = name(0), name(SECOND), name(THIRD)
AT = positions(first_batches())
AT_SECOND = positions(second_batches())
AT_THIRD = positions(third_batches())
SIZE = len(b"".join(first_batches()))


def swapped(folder: Path) -> None:
    batches = first_batches()
    batches[4], batches[5] = batches[5], batches[4]
    (folder / FIRST_LOG).write_bytes(b"".join(batches))


def duplicated(folder: Path) -> None:
    """The first segment once more, as if it began behind the second batch."""
    for suffix in (".log", ".index", ".timeindex"):
        shutil.copy(folder / name(0, suffix), folder / name(10, suffix))


def without_segment(folder: Path) -> None:
    for suffix in (".log", ".index", ".timeindex"):
        (folder / name(SECOND, suffix)).unlink()


def without_last(folder: Path) -> None:
    for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
        (folder / name(THIRD, suffix)).unlink()


class Seeded(NamedTuple):
    """What is done to a folder, and the findings that it must have: severity, rule, file, position, offset."""

    damage: Callable[[Path], object]
    expected: set[tuple[str, str, str, int | None, int | None]]


EPOCHS, METADATA = "leader-epoch-checkpoint", "partition.metadata"
TABLE = {
    "nothing": Seeded(lambda folder: folder, set()),
    "a flipped bit in a record": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[4] + 70), {(DAMAGE, "checksum", FIRST_LOG, AT[4], 20)}
    ),
    "a flipped bit in the last batch of a full segment": Seeded(
        lambda folder: flip(folder / FIRST_LOG, SIZE - 3), {(DAMAGE, "checksum", FIRST_LOG, AT[-1], 95)}
    ),
    "a flipped bit in the first batch": Seeded(
        lambda folder: flip(folder / SECOND_LOG, 70), {(DAMAGE, "checksum", SECOND_LOG, 0, SECOND)}
    ),
    "a flipped bit in the first length": Seeded(
        lambda folder: flip(folder / FIRST_LOG, 10), {(DAMAGE, "header", FIRST_LOG, 0, 0)}
    ),
    "a flipped bit in the length of a batch": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[4] + 10), {(DAMAGE, "header", FIRST_LOG, AT[4], 20)}
    ),
    "a flipped bit in a base offset": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[4] + 6), {(DAMAGE, "header", FIRST_LOG, AT[4], 20)}
    ),
    "a flipped bit in the high half of a base offset": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[4]), {(DAMAGE, "header", FIRST_LOG, AT[4], 20)}
    ),
    "a flipped bit in the offsets of the last batch of a full segment": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[-1] + 24), {(DAMAGE, "checksum", FIRST_LOG, AT[-1], 95)}
    ),
    "a flipped bit in a leader epoch": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[4] + 15), {(DAMAGE, "leader epochs", FIRST_LOG, AT[4], 20)}
    ),
    "a flipped bit in the magic": Seeded(
        lambda folder: flip(folder / FIRST_LOG, AT[4] + 16), {(DAMAGE, "header", FIRST_LOG, AT[4], 20)}
    ),
    "a large batch with a flipped bit": Seeded(
        lambda folder: flip(folder / SECOND_LOG, AT_SECOND[20] + 30_000),
        {(DAMAGE, "checksum", SECOND_LOG, AT_SECOND[20], SECOND + 100)},
    ),
    "swapped batches": Seeded(
        swapped,
        {
            (DAMAGE, "order", FIRST_LOG, AT[5], 20),
            (DAMAGE, "offset index", name(0, ".index"), 24, 24),
            (DAMAGE, "time index", name(0, ".timeindex"), 36, 24),
        },
    ),
    "a batch that is missing": Seeded(
        lambda folder: write(folder, [raw for raw in first_batches() if header(raw)[0] != 20]),
        {(DAMAGE, "gap", FIRST_LOG, AT[4], 20)},
    ),
    "a cut tail of a full segment": Seeded(
        lambda folder: cut(folder / FIRST_LOG, SIZE - 10),
        {
            (DAMAGE, "torn tail", FIRST_LOG, AT[-1], 95),
            (DAMAGE, "missing segment", SECOND_LOG, 0, 95),
            (DAMAGE, "offset index", name(0, ".index"), 8 * (FEW - 2), 99),
            (DAMAGE, "time index", name(0, ".timeindex"), 12 * (FEW - 2), 99),
        },
    ),
    "a torn tail of the active segment": Seeded(
        lambda folder: (folder / THIRD_LOG).write_bytes(
            (folder / THIRD_LOG).read_bytes() + batch(END, [b"torn"], epoch=4)[:-3]
        ),
        {(NOTE, "torn tail", THIRD_LOG, len(b"".join(third_batches())), END)},
    ),
    "zeros at the end of the active segment": Seeded(
        lambda folder: (folder / THIRD_LOG).write_bytes((folder / THIRD_LOG).read_bytes() + bytes(5000)),
        {(NOTE, "torn tail", THIRD_LOG, len(b"".join(third_batches())), END)},
    ),
    "foreign bytes at the end": Seeded(
        lambda folder: (folder / THIRD_LOG).write_bytes((folder / THIRD_LOG).read_bytes() + b"no batch " * 20),
        {(DAMAGE, "foreign bytes", THIRD_LOG, len(b"".join(third_batches())), END)},
    ),
    "a missing segment": Seeded(
        without_segment,
        {
            (DAMAGE, "missing segment", THIRD_LOG, 0, SECOND),
        },
    ),
    "the last segment is missing": Seeded(
        without_last, {(DAMAGE, "missing segment", "orders-0", None, THIRD)}
    ),
    "a segment under a second name": Seeded(
        duplicated,
        {
            (DAMAGE, "overlap", name(10), 0, 10),
            (DAMAGE, "order", name(10), 0, 0),
            (DAMAGE, "offset index", name(10, ".index"), 0, 19),
            (DAMAGE, "time index", name(10, ".timeindex"), 0, 19),
        },
    ),
    "a stale entry in the offset index": Seeded(
        lambda folder: change(folder / name(0, ".index"), 8 * 3 + 4, struct.pack(">i", AT[4] + 1)),
        {(DAMAGE, "offset index", name(0, ".index"), 24, 24)},
    ),
    "an entry for an offset before its batch": Seeded(
        lambda folder: change(folder / name(0, ".index"), 8 * 3, struct.pack(">i", 3)),
        {(DAMAGE, "offset index", name(0, ".index"), 24, 3)},
    ),
    "an entry for an offset of the next one's batch": Seeded(
        lambda folder: change(folder / name(0, ".index"), 8 * 3, struct.pack(">i", 27)),
        {(DAMAGE, "offset index", name(0, ".index"), 24, 27)},
    ),
    "the index of another log": Seeded(
        lambda folder: shutil.copy(folder / name(SECOND, ".index"), folder / name(0, ".index")),
        {(DAMAGE, "offset index", name(0, ".index"), 0, 9)},
    ),
    "an index that is cut within an entry": Seeded(
        lambda folder: cut(folder / name(0, ".index"), 8 * 5 + 3),
        {(DAMAGE, "size", name(0, ".index"), 40, None)},
    ),
    "an index that is cut between entries": Seeded(
        lambda folder: cut(folder / name(SECOND, ".index"), 8 * 10),
        {(DAMAGE, "index entries", name(SECOND, ".index"), 80, SECOND + 31 * PER_BATCH)},
    ),
    "an index that is gone": Seeded(
        lambda folder: (folder / name(0, ".index")).unlink(),
        {(DAMAGE, "offset index", name(0, ".index"), None, None)},
    ),
    "an index with zeros behind its entries": Seeded(
        lambda folder: (folder / name(0, ".index")).write_bytes(
            (folder / name(0, ".index")).read_bytes() + bytes(800)
        ),
        set(),
    ),
    "a wrong time in the time index": Seeded(
        lambda folder: flip(folder / name(0, ".timeindex"), 12 * 3 + 7),
        {(DAMAGE, "time index", name(0, ".timeindex"), 36, 24)},
    ),
    "a time index that names what the log has not": Seeded(
        lambda folder: (folder / name(0, ".timeindex")).write_bytes(
            (folder / name(0, ".timeindex")).read_bytes() + struct.pack(">qi", 1 << 41, 120)
        ),
        {(DAMAGE, "time index", name(0, ".timeindex"), 12 * (FEW - 1), 120)},
    ),
    "an aborted transaction that no index has": Seeded(
        lambda folder: (folder / name(THIRD, ".txnindex")).unlink(),
        {(DAMAGE, "transaction index", name(THIRD, ".txnindex"), 0, THIRD + 11)},
    ),
    "an index of a transaction that was not aborted": Seeded(
        lambda folder: (folder / name(THIRD, ".txnindex")).write_bytes(
            aborted_index([(7, THIRD + 10, THIRD + 11, THIRD + 12), (7, THIRD + 12, THIRD + 13, THIRD + 14)])
        ),
        {(DAMAGE, "transaction index", name(THIRD, ".txnindex"), 34, THIRD + 13)},
    ),
    "an aborted transaction that began elsewhere": Seeded(
        lambda folder: (folder / name(THIRD, ".txnindex")).write_bytes(
            aborted_index([(7, THIRD + 5, THIRD + 11, THIRD + 12)])
        ),
        {(DAMAGE, "transaction index", name(THIRD, ".txnindex"), 0, THIRD + 5)},
    ),
    "a last stable offset behind the marker": Seeded(
        lambda folder: (folder / name(THIRD, ".txnindex")).write_bytes(
            aborted_index([(7, THIRD + 10, THIRD + 11, THIRD + 13)])
        ),
        {(DAMAGE, "transaction index", name(THIRD, ".txnindex"), 0, None)},
    ),
    "a meta.properties without the id of the node": Seeded(
        lambda folder: (folder.parent / "meta.properties").write_text("version=1\ncluster.id=cluster\n"),
        {(DAMAGE, "checkpoint", "meta.properties", 0, None)},
    ),
    "a base offset of the first batch that is far too high": Seeded(
        lambda folder: change(folder / FIRST_LOG, 0, b"\x7f" + b"\xff" * 7),
        {(DAMAGE, "header", FIRST_LOG, 0, 0)},
    ),
    "a base offset of the last batch that is far too high": Seeded(
        lambda folder: change(folder / FIRST_LOG, AT[-1], b"\x7f" + b"\xff" * 7),
        {
            (DAMAGE, "header", FIRST_LOG, AT[-1], 95),
        },
    ),
    "an epoch that begins elsewhere": Seeded(
        lambda folder: (folder / EPOCHS).write_bytes(epochs([(3, 0), (4, SECOND + 155)])),
        {(DAMAGE, "leader epochs", EPOCHS, None, SECOND + 150)},
    ),
    "an epoch that is missing": Seeded(
        lambda folder: (folder / EPOCHS).write_bytes(epochs([(3, 0)])),
        {(DAMAGE, "leader epochs", EPOCHS, None, SECOND + 150)},
    ),
    "an epoch file that cannot be read": Seeded(
        lambda folder: (folder / EPOCHS).write_text("0\n5\n3 0\n"),
        {(DAMAGE, "leader epochs", EPOCHS, 0, None)},
    ),
    "records that were deleted, with their epochs": Seeded(
        lambda folder: (
            (folder / EPOCHS).write_bytes(epochs([(3, 50), (4, SECOND + 150)])),
            (folder.parent / "log-start-offset-checkpoint").write_bytes(offsets([("orders", 0, 50)])),
        ),
        set(),
    ),
    "epochs that begin behind the log": Seeded(
        lambda folder: (folder / EPOCHS).write_bytes(epochs([(3, 50), (4, SECOND + 150)])),
        {(NOTE, "leader epochs", EPOCHS, None, 0)},
    ),
    "no epoch file": Seeded(
        lambda folder: (folder / EPOCHS).unlink(), {(DAMAGE, "leader epochs", EPOCHS, None, None)}
    ),
    "a snapshot of producers with a flipped bit": Seeded(
        lambda folder: flip(folder / name(THIRD, ".snapshot"), 20),
        {(DAMAGE, "producer snapshot", name(THIRD, ".snapshot"), 2, None)},
    ),
    "the topic id of another topic": Seeded(
        lambda folder: (folder / METADATA).write_text(f"version: 0\ntopic_id: {OTHER_TEXT}\n"),
        {(DAMAGE, "partition.metadata", "orders-0", None, None)},
    ),
    "a partition.metadata that cannot be read": Seeded(
        lambda folder: (folder / METADATA).write_text("version: 0\ntopic_id: none\n"),
        {(DAMAGE, "partition.metadata", METADATA, 0, None)},
    ),
    "a high watermark beyond the end": Seeded(
        lambda folder: (folder.parent / "replication-offset-checkpoint").write_bytes(
            offsets([("orders", 0, END + 5)])
        ),
        {(DAMAGE, "missing segment", "orders-0", None, END)},
    ),
    "a log start before the first segment": Seeded(
        lambda folder: (
            [
                (folder / name(0, suffix)).unlink() for suffix in (".log", ".index", ".timeindex")
            ],
            (folder.parent / "log-start-offset-checkpoint").write_bytes(offsets([("orders", 0, 50)])),
        ),
        {(DAMAGE, "missing segment", "orders-0", None, 50)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_a_damage_is_named_with_its_place(sound: Path, tmp_path: Path, case: str) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    TABLE[case].damage(root / "orders-0")
    found = findings_of(root, image_of())
    named = {(one.severity, one.rule, Path(one.file).name, one.position, one.offset) for one in found}
    assert named == TABLE[case].expected, "\n".join(map(str, found))
    assert all(one.why and one.affects for one in found)


def test_offsets_may_be_missing_where_the_topic_is_compacted(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    write(root / "orders-0", [raw for raw in first_batches() if header(raw)[0] != 20])
    assert findings_of(root, image_of("compact")) == []
    (unknown,) = findings_of(root, None)
    assert (unknown.severity, unknown.rule) == (NOTE, "policy")
    assert "5 offsets have no record" in unknown.why
    (root / "cleaner-offset-checkpoint").write_bytes(offsets([("orders", 0, 100)]))
    assert findings_of(root, None) == []


@pytest.mark.parametrize("number", [0, 4, FEW - 1])
@pytest.mark.parametrize("offset", [(1 << 63) - 1, (1 << 63) - 99, 1 << 40])
def test_an_offset_beyond_its_segment_is_named_where_it_is(
    sound: Path, tmp_path: Path, number: int, offset: int
) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    change(root / "orders-0" / FIRST_LOG, AT[number], offset.to_bytes(8))
    (one,) = findings_of(root, None)
    assert (one.severity, one.rule) == (DAMAGE, "header")
    assert (one.position, one.offset) == (AT[number], PER_BATCH * number)


def test_a_partition_in_two_folders_of_a_broker(sound: Path, tmp_path: Path) -> None:
    for disk in ("disk-1", "disk-2"):
        shutil.copytree(sound, tmp_path / disk)
    (folder,) = findings_of(tmp_path, image_of())
    assert (folder.severity, folder.rule, Path(folder.file).parent.name) == (DAMAGE, "folder", "disk-2")
    (tmp_path / "disk-2" / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=cluster\n")
    assert findings_of(tmp_path, image_of()) == []


def test_a_folder_of_a_partition_that_the_topic_has_not(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    shutil.copytree(root / "orders-0", root / "orders-7")
    image = image_of()
    image.topics["orders"].partitions.update({0: None, 1: None})  # type: ignore[dict-item]
    (folder,) = findings_of(root, image)
    assert (folder.severity, folder.rule, Path(folder.file).name) == (DAMAGE, "folder", "orders-7")
    assert "orders has 2 partitions" in folder.why


def test_topic_ids_are_compared_without_a_metadata_log(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    shutil.copytree(root / "orders-0", root / "payments-0")
    (same,) = findings_of(root, None)
    assert (same.severity, same.rule) == (DAMAGE, "partition.metadata")
    assert ID_TEXT in same.why


def control(offset: int, kind: int, value: bytes) -> bytes:
    """A control batch of KRaft."""
    body = record(struct.pack(">hh", 0, kind), value, b"\0", 0, 0)
    return sealed(offset, body, 1, 0x20)


SNAPSHOT = f"{40:020d}-{2:010d}.checkpoint"
HEADER_BATCH, FOOTER_BATCH = control(0, 3, bytes(10)), control(2, 4, bytes(3))
MIDDLE = batch(1, [b"a record"])
PARTS = (HEADER_BATCH, MIDDLE, FOOTER_BATCH)
FOOTER_AT = len(HEADER_BATCH + MIDDLE)
SNAPSHOTS: dict[str, tuple[Callable[[bytes], bytes], tuple[str, int] | None]] = {
    "whole": (lambda data: data, None),
    "a flipped bit in the header": (lambda data: flipped(data, 70), ("checksum", 0)),
    "a flipped bit in a record": (lambda data: flipped(data, len(HEADER_BATCH) + 65), ("checksum", len(HEADER_BATCH))),
    "a flipped bit in the footer": (lambda data: flipped(data, FOOTER_AT + 66), ("checksum", FOOTER_AT)),
    "no footer": (lambda data: data[:FOOTER_AT], ("snapshot", len(HEADER_BATCH))),
    "no header": (lambda _data: MIDDLE + FOOTER_BATCH, ("snapshot", 0)),
    "cut": (lambda data: data[: FOOTER_AT - 5], ("torn tail", len(HEADER_BATCH))),
    "a batch that is missing": (lambda _data: HEADER_BATCH + FOOTER_BATCH, ("gap", len(HEADER_BATCH))),
    "foreign bytes": (lambda data: data + b"no batch " * 20, ("foreign bytes", FOOTER_AT + len(FOOTER_BATCH))),
    "empty": (lambda _data: b"", ("snapshot", 0)),
}  # fmt: skip


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


@pytest.mark.parametrize("case", SNAPSHOTS)
def test_a_damage_of_a_snapshot_is_named_with_its_place(tmp_path: Path, case: str) -> None:
    folder = tmp_path / "data" / "__cluster_metadata-0"
    write(folder, [batch(40, [b"v"]), batch(41, [b"v"])])
    (folder / EPOCHS).write_bytes(epochs([(0, 0)]))
    (tmp_path / "data" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    damage, expected = SNAPSHOTS[case]
    (folder / SNAPSHOT).write_bytes(damage(b"".join(PARTS)))
    (tmp_path / "data" / "bootstrap.checkpoint").write_bytes(damage(b"".join(PARTS)))
    found = findings_of(tmp_path / "data", None)
    of_files = {Path(one.file).name: (one.rule, one.position) for one in found if one.severity == DAMAGE}
    places = dict.fromkeys((SNAPSHOT, "bootstrap.checkpoint"), expected)
    reaches = {"__cluster_metadata-0": ("snapshot", None)}  # no whole one is left
    assert of_files == ({} if expected is None else {**places, **reaches})


def test_an_index_is_read_as_far_as_it_is_used_and_no_damage_is_missed(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    index = root / "orders-0" / name(0, ".index")
    used = index.read_bytes()
    for tail, expected in (
        (b"", set()),
        (b"\1", {("size", 10 << 20), ("offset index", len(used))}),
        (struct.pack(">ii", 7, 9), {("offset index", len(used))}),
    ):
        with index.open("wb") as file:
            file.write(used)
            file.seek(10 << 20)
            file.write(tail or b"\0" * 8)
        read = read_used(str(index))
        assert read is not None
        assert len(read.data) <= (len(used) + 24 if not tail else read.size)
        found = findings_of(root, image_of())
        assert {(one.rule, one.position) for one in found} == expected
    assert read_used(str(root / "none")) is None


def test_many_places_are_one_finding(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "data"
    shutil.copytree(sound, root)
    log = root / "orders-0" / FIRST_LOG
    for at in AT[2:8]:
        flip(log, at + 70)
    (one,) = findings_of(root, image_of())
    assert (one.rule, one.position, one.also) == ("checksum", AT[2], 5)
