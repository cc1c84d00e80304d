"""What is counted and said of times that are not in order around the limits of a range."""

from array import array

import pytest

from kcli.core.admin.first_records import Stretch
from kcli.core.consumer.subscription import Span
from kcli.core.errors import TimedOutError
from kcli.core.positions import OffsetSpec, RangeSpec
from kcli.core.types import TopicPartition
from kcli.flows.time_limits import (
    EXACT,
    Astray,
    Newest,
    TimeLimit,
    disorder_text,
    judged,
    limits_of,
    sentences,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SINCE, UNTIL = OffsetSpec("timestamp", 100), OffsetSpec("timestamp", 200)


def stretch(start: int, *times: int, skip: int = 0) -> Stretch:
    """Records from an offset on, each ``skip`` offsets after the one before."""
    offsets = [start + n * (1 + skip) for n in range(len(times))]
    return Stretch(array("q", offsets), array("q", times), offsets[-1] + 1 if offsets else start)


@pytest.mark.parametrize(
    ("spec", "span", "found"),
    [
        (
            RangeSpec(SINCE, UNTIL),
            Span(3, 7),
            [TimeLimit(T0, 100, 3, 7), TimeLimit(T0, 200, 7, 10, True, 100)],
        ),
        (RangeSpec(SINCE), Span(3, 10), [TimeLimit(T0, 100, 3, 10)]),
        (RangeSpec(SINCE), Span(3, None), [TimeLimit(T0, 100, 3, 10)]),
        (RangeSpec(OffsetSpec("earliest"), UNTIL), Span(0, 7), [TimeLimit(T0, 200, 7, 10, True)]),
        # An end at the end of the log, a start behind all records, and a range of offsets.
        (RangeSpec(SINCE, UNTIL), Span(10, 10), []),
        (RangeSpec(OffsetSpec("offset", 3), OffsetSpec("latest")), Span(3, 10), []),
        # One record of a clock that is ahead: the range begins and ends before it, and is empty.
        (RangeSpec(SINCE, UNTIL), Span(4, 4), [TimeLimit(T0, 200, 4, 10, True, 100)]),
        # An end before the start, as that of a range of times that were swapped.
        (RangeSpec(SINCE, UNTIL), Span(6, 2), [TimeLimit(T0, 200, 6, 10, True, 100)]),
    ],
)
def test_limits_are_those_in_time_that_records_follow(
    spec: RangeSpec, span: Span, found: list[TimeLimit]
) -> None:
    assert limits_of(spec, {T0: span}, {T0: 10}) == found


def test_a_start_counts_what_is_older_and_an_end_what_is_within_the_range() -> None:
    start = TimeLimit(T0, 100, 3, 7)
    assert judged(start, stretch(3, 100, 99, -1, 150, 1, 2)) == Astray(start, 1, 3, 0)
    end = TimeLimit(T0, 200, 7, 12, end=True, since=100)
    assert judged(end, stretch(7, 900, 100, 99, 199, 200)) == Astray(end, 2, 5, 0)


def test_what_was_not_looked_at_is_counted_in_offsets() -> None:
    limit = TimeLimit(T0, 200, 10, 100, end=True)
    assert judged(limit, stretch(10, 300, 150, skip=4)) == Astray(limit, 1, 2, 84)
    assert judged(limit, None) == Astray(limit, 0, 0, 90)
    error = TimedOutError("too long")
    assert judged(limit, error) == Astray(limit, 0, 0, 90, error)


def test_a_warning_says_how_many_where_and_what_the_count_is_of() -> None:
    one = Astray(TimeLimit(T0, 86_400_000, 7, 12, True, 0), 2, 5, 0)
    two = Astray(TimeLimit(T1, 86_400_000, 9, 2000, True, 0), 1, 991, 1000)
    other = Astray(TimeLimit(T1, 0, 1, 9), 0, 8, 0)
    (text,) = sentences([two, one, other], Newest(T0, 7, 1 << 41), EXACT)
    assert text == (
        "t: times are not in order around 1970-01-02T00:00:00.000Z, where the range ends: at least 3 of the 996 records "
        "that follow (1,000 further offsets were not looked at) are older and left out, though their times are within "
        "the range (2 in partition 0 from offset 7 on, 1 in partition 1 from offset 9 on); the record of t-0 at offset 7 "
        f"has a time in the future, 2039-09-07T15:47:35.552Z; {EXACT}"
    )


def test_start_and_end_and_each_topic_have_a_warning_of_their_own() -> None:
    found = [
        Astray(TimeLimit(TopicPartition(name, 0), 5, 1, 9, end), 1, 8, 0)
        for end in (True, False)
        for name in ("u", "t")
    ]
    texts = list(sentences(found, None, ""))
    assert [text.split(":")[0] for text in texts] == ["t", "u", "t", "u"]
    assert ["begins" in text for text in texts] == [True, True, False, False]
    assert all(text.endswith("on)") for text in texts)


def test_many_partitions_are_named_up_to_five_and_those_without_a_response_are_reported() -> None:
    found = [Astray(TimeLimit(TopicPartition("t", n), 5, 1, 9), 1, 8, 0) for n in range(8)]
    late = [Astray(TimeLimit(TopicPartition("late", n), 5, 1, 9), 0, 0, 8) for n in range(2)]
    denied = Astray(TimeLimit(TopicPartition("no", 0), 5, 1, 9), 0, 0, 8, TimedOutError("x"))
    warning, unknown = sentences([*found, *late, denied], None, "")
    assert warning.endswith("1 in partition 4 from offset 1 on, and 3 partitions more)")
    assert unknown == (
        "whether times are in order around the limits is not known of 2 partitions (late-0, late-1): "
        "brokers took too long"
    )


def test_a_partition_in_a_few_words() -> None:
    found = Astray(TimeLimit(T0, 5, 1, 9), 1, 8, 0)
    assert disorder_text(found, Newest(T1, 4, 99)) == (
        "times are not in order: 1 of the 8 records that follow are older"
    )
    assert disorder_text(found, Newest(T0, 4, 0)).endswith(
        "; the record of t-0 at offset 4 has a time in the future, 1970-01-01T00:00:00.000Z"
    )
