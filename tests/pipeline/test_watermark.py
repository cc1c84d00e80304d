"""Up to which time of records windows are complete."""

from kcli.core.types import TopicPartition
from kcli.pipeline.watermark import Watermark

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def watermark(late_ms: int = 0) -> Watermark:
    return Watermark((A, B), late_ms=late_ms, idle=10.0)


def test_the_slowest_partition_counts() -> None:
    mark = watermark()
    mark.read(A, 5000, 0.0)
    assert mark.advance(0.0) is None  # of the other one nothing is known
    mark.read(B, 3000, 0.0)
    assert mark.advance(0.0) == 3000
    mark.read(B, 9000, 0.0)
    assert mark.advance(0.0) == 5000


def test_old_records_do_not_turn_it_back() -> None:
    mark = watermark()
    mark.read(A, 5000, 0.0)
    mark.read(B, 5000, 0.0)
    assert mark.advance(0.0) == 5000
    mark.read(A, 1000, 1.0)
    mark.read(TopicPartition("t", 2), 2000, 1.0)  # a partition that was added
    assert mark.advance(1.0) == 5000


def test_allowed_lateness_is_taken_off() -> None:
    mark = watermark(late_ms=2000)
    mark.read(A, 5000, 0.0)
    mark.read(B, 6000, 0.0)
    assert mark.advance(0.0) == 3000


def test_a_partition_is_idle_when_it_is_read_to_its_end_and_nothing_came_for_a_while() -> None:
    mark = watermark()
    mark.read(A, 5000, 0.0)
    mark.stands(B, 2.0, at_end=True)
    assert mark.advance(11.9) is None
    assert mark.advance(12.0) == 5000
    mark.read(B, 7000, 13.0)
    mark.read(A, 6000, 14.0)
    assert mark.advance(14.0) == 6000


def test_a_partition_that_cannot_be_read_is_not_idle() -> None:
    mark = watermark()
    mark.read(A, 5000, 0.0)
    mark.stands(B, 0.0, at_end=True)
    mark.stands(B, 5.0, at_end=False)
    assert mark.advance(100.0) is None
    mark.stands(B, 100.0, at_end=True)
    assert mark.advance(109.0) is None
    mark.read(A, 6000, 109.0)
    assert mark.advance(110.0) == 6000


def test_time_goes_on_with_the_clock_where_all_are_idle() -> None:
    mark = watermark(late_ms=1000)
    for tp, newest in ((A, 5000), (B, 8000)):
        mark.read(tp, newest, 0.0)
        mark.stands(tp, 0.0, at_end=True)
    assert mark.advance(9.0) == 4000
    assert mark.advance(10.0) == 8000 + 10_000 - 1000
    mark.read(A, 9000, 11.0)
    assert mark.advance(11.0) == 17_000


def test_a_topic_without_times_has_no_watermark() -> None:
    mark = watermark()
    for tp in (A, B):
        mark.read(tp, None, 0.0)
        mark.stands(tp, 0.0, at_end=True)
    assert mark.advance(0.0) is None
    assert mark.advance(100.0) is None


def test_records_from_a_time_on_are_in_all_partitions() -> None:
    mark = watermark()
    mark.read(A, 5000, 0.0)
    assert not mark.has_passed(4000)
    mark.read(B, 4000, 0.0)
    assert mark.has_passed(4000)
    assert not mark.has_passed(4001)
    assert not mark.all_at_end
    mark.stands(A, 0.0, at_end=True)
    mark.stands(B, 0.0, at_end=True)
    assert mark.all_at_end
