"""Times of commits in ``__consumer_offsets``: the right partition and key, the newest record, how far back it goes."""

from struct import pack

from kcli.core.types import GroupPartition, Record, TopicPartition
from kcli.flows.groups.bounded_reads import Budget
from kcli.flows.groups.commit_times import commit_key, commit_times, offsets_partition
from tests.log_reader import LogReader

WHERE = TopicPartition("__consumer_offsets", 0)
ONE, TWO = (GroupPartition("billing", TopicPartition("orders", number)) for number in range(2))


def value(offset: int, when: int, version: int = 3) -> bytes:
    return pack(">hqihq", version, offset, -1, 0, when)


def record(place: int, commit: GroupPartition, told: bytes | None) -> Record:
    return Record(*WHERE, place, 0, 0, commit_key(commit), told)


def times(
    records: list[Record], commits: dict[GroupPartition, int], size: int = 1 << 30
) -> tuple[dict[GroupPartition, int], int]:
    """What was found, and how many steps back it took."""
    reader = LogReader({WHERE: records}, batch=100)
    found = commit_times(reader, 1, commits, Budget(size, 60.0), 1.0)  # type: ignore[arg-type]
    return found, len(reader.spans)


def filler(first: int, count: int) -> list[Record]:
    return [record(first + n, GroupPartition("other", ONE.tp), value(1, 7)) for n in range(count)]


def test_key_and_partition_are_those_of_a_coordinator() -> None:
    assert commit_key(ONE) == b"\x00\x01\x00\x07billing\x00\x06orders\x00\x00\x00\x00"
    # "polygenelubricants".hashCode() is Integer.MIN_VALUE, which Kafka takes for 0; "group".hashCode() 98629247
    assert offsets_partition("polygenelubricants", 50).partition == 0
    assert offsets_partition("group", 50).partition == 98629247 % 50


def test_the_newest_commit_of_the_offset_counts() -> None:
    records = [
        record(0, ONE, value(5, 100)),
        record(1, ONE, value(5, 200)),
        record(2, TWO, value(9, 300)),
        record(3, ONE, value(6, 400)),  # after the commit that is asked about
    ]
    assert times(records, {ONE: 5, TWO: 9}) == ({ONE: 200, TWO: 300}, 1)


def test_it_goes_back_in_growing_steps_until_all_are_found() -> None:
    records = [record(0, ONE, value(5, 100)), *filler(1, 9_999), record(10_000, TWO, value(9, 300))]
    assert times(records, {TWO: 9}) == ({TWO: 300}, 1)
    found, steps = times(records, {ONE: 5, TWO: 9})
    assert found == {ONE: 100, TWO: 300}
    assert steps == 3  # 1,000, 4,000 and the rest


def test_commits_further_back_than_the_budget_are_unknown() -> None:
    records = [record(0, ONE, value(5, 100)), *filler(1, 9_999)]
    assert times(records, {ONE: 5}, size=10_000) == ({}, 1)


def test_deleted_foreign_and_unreadable_records_count_for_nothing() -> None:
    records = [
        record(0, ONE, None),
        record(1, ONE, b"\x00"),
        record(2, ONE, value(5, 1, version=99)),
        Record(*WHERE, 3, 0, 0, None, b""),
    ]
    assert times(records, {ONE: 5})[0] == {}
