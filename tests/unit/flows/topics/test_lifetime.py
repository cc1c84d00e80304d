"""Which records a topic keeps, deletes or refuses by their times and keys, and what a user is told of it."""

from collections.abc import Mapping
from typing import Any

import pytest

from kcli.flows.topics.lifetime import (
    EXPIRED,
    KEEPS_ALL,
    KEPT,
    NO_KEY,
    TOO_NEW,
    TOO_OLD,
    Fates,
    Kept,
    Tally,
    Terms,
    terms_of,
)

NOW, DAY = 1_790_000_000_000, 86_400_000
WEEK = {"cleanup.policy": "delete", "retention.ms": str(7 * DAY)}


@pytest.mark.parametrize(
    ("values", "kept_from", "accepted_from", "accepted_to", "needs_keys"),
    [
        (WEEK, NOW - 7 * DAY, 0, None, False),
        ({**WEEK, "retention.ms": "-1"}, 0, 0, None, False),
        ({**WEEK, "retention.ms": str((1 << 63) - 1)}, 0, 0, None, False),
        ({**WEEK, "cleanup.policy": "compact"}, 0, 0, None, True),
        ({**WEEK, "cleanup.policy": "compact,delete"}, NOW - 7 * DAY, 0, None, True),
        ({**WEEK, "message.timestamp.before.max.ms": "1000"}, NOW - 7 * DAY, NOW - 1000, None, False),
        ({**WEEK, "message.timestamp.after.max.ms": "1000"}, NOW - 7 * DAY, 0, NOW + 1000, False),
        # Of brokers before 3.6, to both sides.
        ({**WEEK, "message.timestamp.difference.max.ms": "9"}, NOW - 7 * DAY, NOW - 9, NOW + 9, False),
        # Records get the time at which they arrive.
        ({**WEEK, "message.timestamp.type": "LogAppendTime"}, 0, 0, None, False),
        # Nothing is known of it, and nothing is refused for that.
        ({}, 0, 0, None, False),
    ],
)
def test_terms_follow_from_the_values_in_force(
    values: Mapping[str, str], kept_from: int, accepted_from: int, accepted_to: int | None, needs_keys: bool
) -> None:
    found = terms_of(values, NOW)
    assert (found.kept_from, found.accepted_from, found.needs_keys) == (kept_from, accepted_from, needs_keys)
    assert found.accepted_to == accepted_to or (accepted_to is None and found.accepted_to > NOW * 1000)


def test_with_the_time_of_now_only_keys_count() -> None:
    values = {**WEEK, "cleanup.policy": "compact,delete", "message.timestamp.before.max.ms": "1"}
    assert terms_of(values, NOW, keep_times=False) == Terms(needs_keys=True)
    assert terms_of({**WEEK, "message.timestamp.after.max.ms": "1"}, NOW, keep_times=False) == KEEPS_ALL


def test_what_a_broker_refuses_is_not_stored_and_so_not_deleted() -> None:
    terms = Terms(kept_from=500, accepted_from=300, accepted_to=900, needs_keys=True)
    fates = [terms.fate(time) for time in (-1, 0, 299, 300, 499, 500, 900, 901)]
    assert fates == [KEPT, TOO_OLD, TOO_OLD, EXPIRED, EXPIRED, KEPT, KEPT, TOO_NEW]
    assert terms.fate(1, has_key=False) == NO_KEY


def fates_of(kept: Kept = Kept(), /, values: Mapping[str, str] = WEEK, **tally: Any) -> Fates:  # noqa: B008
    found = Fates({"t": values}, NOW, kept)
    if tally:
        found.add("t", Tally(**tally))
    return found


def test_records_that_retention_deletes_are_refused_with_their_number_and_the_ways_out() -> None:
    found = fates_of(kept=4, expired=3, oldest=0, read=True)
    refusal = found.refusal
    assert refusal is not None
    assert refusal.exit_code == 7
    assert refusal.what == "3 of 7 records would not be kept by topic t; nothing was sent"
    assert "3 of 7 records (counted by reading): 3 are older than its retention.ms of 7d" in refusal.why
    assert "the oldest one is of 1970-01-01T00:00:00.000Z" in refusal.why
    assert [word for word in ("--timestamps now", "--extend-retention DUR", "--force") if word in refusal.do] == [
        "--timestamps now", "--extend-retention DUR", "--force"
    ]  # fmt: skip
    assert list(found.warnings()) == []
    assert "(by the metadata of the files)" in str(fates_of(expired=1, oldest=0).refusal)


def test_nothing_is_said_of_records_that_are_kept() -> None:
    found = fates_of(kept=7, oldest=NOW - DAY)
    assert (found.refusal, list(found.warnings()), list(found.remarks()), found.extended) == (
        None,
        [],
        [],
        [],
    )


def test_force_sends_what_is_deleted_with_a_warning_but_nothing_that_is_refused() -> None:
    forced = fates_of(Kept(force=True), expired=3, oldest=0)
    assert forced.refusal is None
    assert len(list(forced.warnings())) == len(list(forced.remarks())) == 1
    for refused in ("too_old", "too_new", "no_key"):
        refusal = fates_of(Kept(force=True), expired=3, oldest=0, **{refused: 1}).refusal
        assert refusal is not None
        assert "--force" not in refusal.do


def test_a_retention_is_extended_where_records_are_older_and_it_is_shorter() -> None:
    longer = Kept(retention_ms=30 * DAY)
    old = fates_of(longer, kept=1, oldest=NOW - 20 * DAY)
    assert old.extended == ["t"]
    assert old.terms("t").kept_from == NOW - 30 * DAY
    assert list(old.remarks()) == ["  t: retention.ms is extended from 7d to 30d"]
    assert fates_of(longer, kept=1, oldest=NOW - 5 * DAY).extended == []
    assert fates_of(longer, kept=1).extended == []  # no record has a time
    forever = {**WEEK, "retention.ms": "-1"}
    assert fates_of(longer, values=forever, kept=1, oldest=0).extended == []
    assert fates_of(longer, values=forever).terms("t").kept_from == 0
    assert (
        fates_of(Kept(retention_ms=DAY), kept=1, oldest=NOW - 5 * DAY).terms("t").kept_from == NOW - 7 * DAY
    )
    too_short = fates_of(longer, expired=1, oldest=0).refusal
    assert too_short is not None
    assert "a longer --extend-retention DUR" in too_short.do
    with_append_time = {**WEEK, "message.timestamp.type": "LogAppendTime"}
    assert fates_of(longer, values=with_append_time, kept=1, oldest=0).extended == []


def test_what_is_not_known_is_said() -> None:
    found = fates_of(values={}, kept=3, oldest=0)
    assert found.refusal is None
    assert list(found.warnings()) == [
        "whether topic t would keep the records is not known: their configuration cannot be read"
    ]


def test_tallies_join() -> None:
    one, two = Tally(1, 2, 3, 4, 5, oldest=7), Tally(kept=1, oldest=-1, read=True)
    assert one.joined(two) == two.joined(one) == Tally(2, 2, 3, 4, 5, oldest=7, read=True)
    assert (one.records, one.refused) == (15, 12)
