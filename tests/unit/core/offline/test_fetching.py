"""Slices of log directories as a fetch has them, and the table of what is answered. No socket, no broker."""

import os
from pathlib import Path
from typing import cast

import pytest

from kcli.core.offline.answers import ANSWERS
from kcli.core.offline.directories import Directories
from kcli.core.offline.fetching import fetch
from kcli.core.offline.file_slices import FileSlice
from kcli.core.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from kcli.core.records.batch import split_batches
from kcli.core.types import TopicPartition
from tests.segments import batch, marker, name, write

WRITES = {
    0, 8, 11, 12, 13, 14, 19, 20, 21, 22, 24, 25, 26, 27, 28, 30, 31, 33, 34, 36, 37, 38, 39, 40, 42, 43, 44, 45, 47,
    49, 51,
}  # fmt: skip
"""Requests that change something, or that belong to the membership of a group."""


def test_each_row_has_its_messages_and_its_function() -> None:
    for key, row in ANSWERS.items():
        kind, handler = row.load()
        assert kind.api_key == key
        assert callable(handler)
        assert kind.versions[0] <= row.last, f"kcli knows {kind.versions} of {kind.api_name}"


def test_nothing_that_writes_is_answered() -> None:
    assert WRITES.isdisjoint(ANSWERS)


def asked(
    directories: Directories, offset: int, most: int = 1 << 20, *, committed: bool = True
) -> PartitionData:
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=most,
        isolation_level=int(committed),
        topics=[
            FetchTopic(
                topic="orders",
                partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=most)],
            )
        ],
    )
    response = fetch(directories, request, 12)
    assert response is not None
    return response.responses[0].partitions[0]


def content(row: PartitionData) -> bytes:
    """What would be sent."""
    parts = cast("list[FileSlice]", row.records)
    return b"".join(os.pread(part.file.descriptor, part.size, part.position) for part in parts)


def test_all_of_a_log_in_slices_of_any_size(tmp_path: Path) -> None:
    batches = [batch(at, [b"x" * (at % 50), b"y"], epoch=at // 40) for at in range(0, 120, 2)]
    for low in (0, 40, 80):
        write(tmp_path / "orders-0", batches[low // 2 : low // 2 + 20], every=3)
    directories = Directories([str(tmp_path)])
    for most in (1, 100, 500, 1_000, 1 << 20):
        offset, found = 0, b""
        while offset < 120:
            row = asked(directories, offset, most)
            assert (row.error_code, row.high_watermark, row.log_start_offset) == (0, 120, 0)
            whole = list(split_batches(memoryview(content(row))))
            assert whole, f"nothing whole at offset {offset} with {most} bytes"
            assert whole[0].base_offset == offset
            found += b"".join(bytes(one.raw) for one in whole)
            offset = whole[-1].next_offset
        assert found == b"".join(batches)
    assert content(asked(directories, 120)) == b""
    assert asked(directories, 121).error_code == 1
    directories.close()


@pytest.mark.parametrize("most", [150, 1 << 20])
def test_no_wrong_offset_is_taken_for_the_end_of_what_there_is(tmp_path: Path, most: int) -> None:
    """No checksum covers base offsets: whatever bit of one is wrong, there is an error, or every record."""
    batches = [batch(at, [b"x" * (at % 50), b"y"]) for at in range(0, 60, 2)]
    every = [offset for one in batches for offset in _offsets(one)]
    for index in (True, False):
        folder = tmp_path / f"{index}" / "orders-0"
        for low in (0, 10, 20):
            write(folder, batches[low : low + 10], every=3)
        if not index:
            for file in folder.glob("*.index"):
                file.unlink()
        files = {file: file.read_bytes() for file in folder.glob("*.log")}
        for number in range(len(batches) - 1):
            for bit in (0, 1, 3, 6, 17, 63):
                file = folder / name(20 * (number // 10))
                wrong = bytearray(files[file])
                at = sum(map(len, batches[10 * (number // 10) : number]))
                wrong[at + 7 - bit // 8] ^= 1 << bit % 8
                file.write_bytes(wrong)
                found = _read_all(Directories([str(tmp_path / f"{index}")]), most)
                # What the batch with the wrong offset has may be shown at it, and then the error follows.
                assert found is None or found == every, (index, number, bit, found)
                file.write_bytes(files[file])


def _offsets(raw: bytes) -> list[int]:
    return [
        offset for one in split_batches(memoryview(raw)) for offset in range(one.base_offset, one.next_offset)
    ]


def _read_all(directories: Directories, most: int) -> list[int] | None:
    """The offsets that a consumer gets; None where it is told of an error."""
    offset, found = 0, list[int]()
    while offset < 60:
        row = asked(directories, offset, most)
        if row.error_code:
            assert directories.failure(TopicPartition("orders", 0), offset) is not None
            return None
        got = [one for one in _offsets(content(row)) if one >= offset]
        if not got:
            return found
        found += got
        offset = got[-1] + 1
    return found


def test_a_slice_lists_the_transactions_that_were_aborted(tmp_path: Path) -> None:
    parts = [
        batch(0, [b"a"], producer=1, transactional=True),
        batch(1, [b"b"], producer=2, transactional=True),
        marker(2, 1, 0),
        marker(3, 2, 1),
        batch(4, [b"c"], producer=3, transactional=True),
        batch(5, [b"d"]),
    ]
    write(tmp_path / "orders-0", parts)
    directories = Directories([str(tmp_path)])
    row = asked(directories, 0)
    assert [(one.producer_id, one.first_offset) for one in row.aborted_transactions or ()] == [(1, 0)]
    assert (row.last_stable_offset, row.high_watermark) == (4, 6)
    assert content(row) == b"".join(parts[:4])
    every = asked(directories, 0, committed=False)
    assert (every.aborted_transactions, content(every)) == (None, b"".join(parts))
    directories.close()


def test_a_file_that_is_open_can_be_sent_after_it_is_gone(tmp_path: Path) -> None:
    write(tmp_path / "orders-0", [batch(0)])
    directories = Directories([str(tmp_path)])
    row = asked(directories, 0)
    (tmp_path / "orders-0" / name(0)).unlink()
    directories.close()
    assert content(row) == batch(0)
