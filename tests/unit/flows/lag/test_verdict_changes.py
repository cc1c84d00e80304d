"""Which changes of verdicts are reported, from sample to sample."""

import json

import pytest

from kcli.core.types import TopicPartition
from kcli.flows.lag.partition_lag import PartitionLag
from kcli.flows.lag.verdict_changes import AT_MOST, VerdictChange, VerdictChanges, in_order
from kcli.flows.lag.verdicts import Verdict, worst
from tests.printed_json import check_document
from tests.unit.flows.lag.samples import row

OK, STALLED, EMPTY, STOPPED, UNREAD, MOVING = "ok", "stalled", "empty", "stopped", "unread", "rebalancing"
Told = tuple[int | None, str | None, str | None]


def rows(words: list[str | None]) -> list[PartitionLag]:
    """With more lag in higher numbers."""
    return [row(number, tp=TopicPartition("t", number)) for number in range(len(words))]


class Days:
    """Samples of group g, two seconds apart."""

    def __init__(self) -> None:
        self.changes, self.at_ms = VerdictChanges(), 0

    def sample(self, *words: str | None, word: str | None = None) -> list[VerdictChange]:
        self.at_ms += 2_000
        whole = word or worst(words)
        verdict = Verdict(whole, whole if whole == MOVING else list(words), f"{whole} it is")
        return self.changes.of(
            self.at_ms, "g", verdict, rows(list(words)), lambda row, word: f"{row.tp} {word}"
        )

    def told(self, *words: str | None, word: str | None = None) -> list[Told]:
        return told(self.sample(*words, word=word))

    def absent(self, seconds: int, failed: dict[str, str] | None = None, others: str = "") -> list[Told]:
        self.at_ms += seconds * 1_000
        return told(self.changes.absent(self.at_ms, (), failed or {}, others))


def told(changes: list[VerdictChange]) -> list[Told]:
    return [
        (None if one.partition is None else one.partition.partition, one.was, one.word) for one in changes
    ]


def test_a_change_is_reported_once_and_not_at_each_sample() -> None:
    days = Days()
    assert days.told(OK, OK) == []
    assert days.told(OK, STALLED) == [(None, OK, STALLED), (1, OK, STALLED)]
    assert days.told(OK, STALLED) == []
    assert days.told(OK, OK) == [(None, STALLED, OK), (1, STALLED, OK)]
    assert days.told(OK, OK) == []


@pytest.mark.parametrize("word", [OK, EMPTY, None])
def test_a_first_verdict_that_is_well_or_not_known_is_no_change(word: str | None) -> None:
    assert Days().told(word, word) == []


def test_a_first_verdict_that_is_not_well_is_a_change() -> None:
    assert Days().told(OK, STOPPED) == [(None, None, STOPPED), (1, None, STOPPED)]


def test_a_verdict_that_is_not_known_for_a_moment_is_no_change() -> None:
    days = Days()
    days.told(STALLED)
    assert days.told(None) == []
    assert days.told(STALLED) == []
    assert days.told(OK) == [(None, STALLED, OK), (0, STALLED, OK)]


def test_a_rebalance_is_one_change_of_the_group_and_its_partitions_stay_what_they_were() -> None:
    days = Days()
    days.told(OK, STALLED)
    assert days.told(OK, STALLED, word=MOVING) == [(None, STALLED, MOVING)]
    assert days.told(OK, STALLED) == [(None, MOVING, STALLED)]


def test_a_group_may_change_where_no_partition_is_news() -> None:
    days = Days()
    days.told(OK, OK)
    assert days.told(EMPTY, EMPTY) == [(None, OK, EMPTY)]


def test_a_thousand_partitions_that_stall_at_once_are_eleven_changes() -> None:
    days, many = Days(), 1_000
    days.sample(*[OK] * many)
    found = days.sample(*[STALLED] * many)
    assert len(found) == 1 + AT_MOST
    assert [one.partition.partition for one in found[1:] if one.partition] == list(
        range(many - 1, many - 1 - AT_MOST, -1)
    )
    assert found[0].why == "stalled it is; 990 other partitions: ok to stalled"
    assert found[1].why == "t-999 stalled"
    found = days.sample(*[OK] * many)
    assert len(found) == 1 + AT_MOST  # the end of each that was reported
    assert {one.word for one in found} == {OK}


def test_others_are_counted_though_the_word_of_the_group_stays() -> None:
    days = Days()
    days.sample(*[OK] * 30)
    days.sample(*[STALLED] * AT_MOST, *[OK] * 20)
    (one,) = days.sample(*[STALLED] * 30)
    assert (one.partition, one.was, one.word) == (None, STALLED, STALLED)
    assert one.why.endswith("20 other partitions: ok to stalled")


def test_a_partition_that_is_well_again_makes_room_for_another() -> None:
    days = Days()
    days.sample(*[OK] * 30)
    days.sample(*[STALLED] * AT_MOST, *[OK] * 20)
    assert days.told(OK, *[STALLED] * (AT_MOST - 1), *[OK] * 19, STALLED) == [
        (0, STALLED, OK),
        (29, OK, STALLED),
    ]


def test_one_bad_word_after_the_other_is_reported_of_what_was_reported() -> None:
    days = Days()
    days.told(STALLED)
    assert days.told(STOPPED) == [(None, STALLED, STOPPED), (0, STALLED, STOPPED)]


def test_a_partition_that_is_gone_ends_what_was_reported() -> None:
    days = Days()
    days.told(OK, STALLED)
    assert days.told(OK) == [(None, STALLED, OK), (1, STALLED, None)]
    assert days.told(OK) == []


def test_a_group_that_is_missing_for_a_moment_is_no_change() -> None:
    days = Days()
    days.told(STALLED)
    assert days.absent(2) == []
    assert days.told(STALLED) == []
    assert days.absent(9) == []  # counted from the first sample without it


def test_a_group_that_is_gone_ends_what_was_reported() -> None:
    days = Days()
    days.told(STALLED)
    days.absent(2)
    assert days.absent(10) == [(None, STALLED, None), (0, STALLED, None)]
    assert days.absent(10) == []


def test_a_group_that_was_well_goes_without_a_word() -> None:
    days = Days()
    days.told(OK)
    days.absent(2)
    assert days.absent(10) == []


@pytest.mark.parametrize(("failed", "others"), [({"g": "no answer"}, ""), ({}, "no answer")])
def test_a_group_that_cannot_be_read_is_unread_until_it_can(failed: dict[str, str], others: str) -> None:
    days = Days()
    days.told(STALLED)
    days.absent(2, failed, others)
    assert days.absent(10, failed, others) == [(None, STALLED, UNREAD)]
    assert days.absent(10, failed, others) == []
    assert days.told(STALLED) == [(None, UNREAD, STALLED)]
    assert days.told(OK) == [(None, STALLED, OK), (0, STALLED, OK)]


def test_a_group_that_could_never_be_read_is_unread() -> None:
    days = Days()
    days.absent(2, {"x": "not allowed"})
    assert days.absent(10, {"x": "not allowed"}) == [(None, None, UNREAD)]


def test_groups_come_before_partitions() -> None:
    days = Days()
    changes = [*days.sample(STALLED), *Days().sample(STALLED)]
    assert [one.partition is None for one in in_order(changes)] == [True, True, False, False]


def test_the_document_is_as_its_schema_says() -> None:
    days = Days()
    group, partition = days.sample(STALLED)
    for one in (group, partition):
        check_document(json.loads(json.dumps(one.document("c"))))
    document = partition.document("c")
    assert (document["topic"], document["partition"], document["from"], document["to"]) == (
        "t",
        0,
        None,
        STALLED,
    )
    assert group.document("c")["topic"] is None
    assert document["at"] == "1970-01-01T00:00:02.000Z"
