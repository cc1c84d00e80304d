"""Where a partition's commit goes: every kind of target, held against the bounds of the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.cluster.offsets import OffsetInfo
from kcli.core.positions import parse_offset
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.rewind.plan import plan_item
from kcli.flows.rewind.targets import PartitionState, Target, TargetError, find, target_of

WHERE = TopicPartition("t", 0)
START, END = OffsetInfo(100, -1, 2), OffsetInfo(200, -1, 5)
COMMIT = OffsetAndMetadata(150, "mine", 3)
FOUND, NONE_NEWER = OffsetInfo(120, 1_000, 4), OffsetInfo(-1, -1)
GIVEN = Target("given", offsets={WHERE: OffsetAndMetadata(130, "theirs", 4)})


def exact(before: OffsetAndMetadata | None) -> Target:
    return Target("given", offsets={WHERE: before}, exact=True)


@pytest.mark.case("O8")
@pytest.mark.parametrize(
    ("target", "seen", "new", "note"),
    [
        (Target("earliest"), PartitionState(COMMIT, START, END), (100, "mine", 2), ""),
        (Target("latest"), PartitionState(COMMIT, START, END), (200, "mine", 5), ""),
        (Target("current"), PartitionState(COMMIT, START, END), (150, "mine", 3), ""),
        (Target("offset", 130), PartitionState(COMMIT, START, END), (130, "mine", -1), ""),
        (Target("offset", 7), PartitionState(COMMIT, START, END), (100, "mine", 2), "clamped to log start"),
        (Target("offset", 201), PartitionState(COMMIT, START, END), (200, "mine", 5), "clamped to log end"),
        (Target("offset", 150), PartitionState(COMMIT, START, END), (150, "mine", 3), ""),
        (Target("shift", -20), PartitionState(COMMIT, START, END), (130, "mine", -1), ""),
        (Target("shift", 20), PartitionState(COMMIT, START, END), (170, "mine", -1), ""),
        (Target("shift", -200), PartitionState(COMMIT, START, END), (100, "mine", 2), "clamped to log start"),
        (Target("time", 1), PartitionState(COMMIT, START, END, FOUND), (120, "mine", 4), ""),
        (
            Target("time", 1),
            PartitionState(COMMIT, START, END, NONE_NEWER),
            (200, "mine", 5),
            "no record since; goes to end",
        ),
        (
            Target("time", 1),
            PartitionState(OffsetAndMetadata(200, "", 5), START, END, NONE_NEWER),
            (200, "", 5),
            "no record since; stays at end",
        ),
        # a record that came after the ends were read
        (Target("time", 1), PartitionState(COMMIT, START, END, OffsetInfo(200, 9, 6)), (200, "mine", 6), ""),
        (Target("time", 1), PartitionState(COMMIT, START, END, OffsetInfo(203, 9, 6)), (203, "mine", 6), ""),
        (GIVEN, PartitionState(COMMIT, START, END), (130, "mine", 4), ""),
        (Target("earliest"), PartitionState(None, START, END), (100, "", 2), "no commit before"),
        (
            Target("offset", 7),
            PartitionState(None, START, END),
            (100, "", 2),
            "clamped to log start; no commit before",
        ),
        (
            exact(OffsetAndMetadata(3, "old", 1)),
            PartitionState(COMMIT, START, END),
            (3, "old", 1),
            "before log start",
        ),
        (
            exact(OffsetAndMetadata(300, "old", 1)),
            PartitionState(COMMIT, START, END),
            (300, "old", 1),
            "behind log end",
        ),
        (exact(None), PartitionState(COMMIT, START, END), None, "commit deleted: there was none"),
    ],
)
def test_find(target: Target, seen: PartitionState, new: tuple[int, str, int] | None, note: str) -> None:
    found = find(target, WHERE, seen)
    assert found.note == note
    assert found.new == (None if new is None else OffsetAndMetadata(*new))


@pytest.mark.parametrize(
    "target",
    [Target("shift", 1), Target("current"), Target("given", offsets={}), exact(None), Target("time", 1)],
)
def test_what_cannot_be_computed_is_refused(target: Target) -> None:
    tp = TopicPartition("other", 1)
    with pytest.raises(TargetError):
        find(target, tp, PartitionState(None, START, END))
    item = plan_item(tp, target, PartitionState(None, START, END))
    assert (item.action, item.new) == ("refused", None)
    assert item.note.startswith("refused: ")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("earliest", Target("earliest")),
        ("end", Target("latest")),
        ("stored", Target("current")),
        ("+5", Target("shift", 5)),
        ("-5", Target("shift", -5)),
        ("5", Target("offset", 5)),
        ("@1732180000000", Target("time", 1732180000000)),
    ],
)
def test_the_target_option(text: str, target: Target) -> None:
    assert target_of(parse_offset(text, 0)) == target


@given(
    committed=st.integers(0, 400),
    start=st.integers(0, 200),
    length=st.integers(0, 200),
    asked=st.integers(0, 500),
)
def test_the_new_commit_is_in_the_log_and_no_more_records_are_reported_than_it_has(
    committed: int, start: int, length: int, asked: int
) -> None:
    seen = PartitionState(OffsetAndMetadata(committed), OffsetInfo(start, -1), OffsetInfo(start + length, -1))
    item = plan_item(WHERE, Target("offset", asked), seen)
    assert item.new is not None
    assert item.change is not None
    assert item.records is not None
    assert start <= item.new.offset <= start + length
    assert item.change == item.new.offset - committed
    assert 0 <= item.records <= min(length, abs(item.change))
    if start <= committed <= start + length:
        assert item.records == abs(item.change)
    if start <= asked <= start + length:
        assert (item.new.offset, item.note) == (asked, "")


@given(
    before=st.none() | st.builds(OffsetAndMetadata, st.integers(0, 1 << 62), st.text(), st.integers(-1, 99)),
    committed=st.none() | st.builds(OffsetAndMetadata, st.integers(0, 400)),
)
def test_an_undo_restores_exactly(
    before: OffsetAndMetadata | None, committed: OffsetAndMetadata | None
) -> None:
    item = plan_item(WHERE, exact(before), PartitionState(committed, START, END))
    assert item.new == before
    assert item.action == ("commit" if before is not None else "delete" if committed is not None else "keep")
