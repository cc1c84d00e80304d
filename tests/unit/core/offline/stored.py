"""Batches and log directories with the records that brokers store, for tests. Not a test."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kcli.core.protocol import codec, compiler
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import group_records, metadata_records, share_records, transaction_records
from kcli.core.protocol.stored.reading import NEVER
from kcli.core.records.batch import RecordBatch
from kcli.core.types import Record
from tests.batches import batch_of

TRANSACTIONAL, CONTROL = 0x10, 0x20
Pair = tuple[bytes | None, bytes | None]


def metadata_value(record: Struct, version: int | None = None) -> bytes:
    """As controllers write it."""
    cls: Any = type(record)
    number = next(number for number, one in metadata_records.KINDS.items() if one is cls)
    version = cls.versions[1] if version is None else version
    head = bytearray()
    for part in (1, number, version):
        codec.write_uvarint(head, part)
    return bytes(compiler.encode(record, version, flexible=version >= cls.flexible, head=head)[0])


def keyed(key: Struct, value: Struct | None, version: int | None = None) -> Pair:
    """As coordinators write it; a tombstone without a value."""
    tables = (group_records.KINDS, transaction_records.KINDS, share_records.KINDS)
    number = next(number for kinds in tables for number, (one, _) in kinds.items() if one is type(key))
    head = bytearray(number.to_bytes(2, "big"))
    raw = bytes(compiler.encode(key, 0, flexible=NEVER <= 0, head=head)[0])
    if value is None:
        return raw, None
    cls: Any = type(value)
    version = cls.versions[1] if version is None else version
    head = bytearray(version.to_bytes(2, "big"))
    return raw, bytes(compiler.encode(value, version, flexible=version >= cls.flexible, head=head)[0])


def batch(
    offset: int, pairs: Sequence[Pair], *, epoch: int = 0, producer: int = -1, flags: int = 0
) -> RecordBatch:
    """A batch with these keys and values."""
    rows = [
        Record("t", 0, offset + at, 1_000, 0, key, value, (), epoch) for at, (key, value) in enumerate(pairs)
    ]
    return batch_of(rows, producer=producer, epoch=0, flags=flags)


def metadata_batch(offset: int, *records: Struct, epoch: int = 0) -> RecordBatch:
    """A batch of the metadata log."""
    return batch(offset, [(None, metadata_value(record)) for record in records], epoch=epoch)


def control(
    offset: int, kind: int, *, producer: int = -1, flags: int = CONTROL, epoch: int = 0
) -> RecordBatch:
    """A control batch of this type."""
    return batch(
        offset, [(bytes(2) + kind.to_bytes(2, "big"), bytes(6))], producer=producer, flags=flags, epoch=epoch
    )


def marker(offset: int, producer: int, *, committed: bool) -> RecordBatch:
    """The end of a transaction."""
    return control(offset, int(committed), producer=producer, flags=CONTROL | TRANSACTIONAL)


def write_log(folder: Path, batches: Iterable[RecordBatch], *, start: int = 0) -> None:
    """A partition's folder with one segment."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{start:020d}.log").write_bytes(b"".join(bytes(one.raw) for one in batches))


def write_log_dir(folder: Path, node: int = 1, cluster: str = "abc") -> None:
    """The file that says whose log directory it is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id={cluster}\n")
