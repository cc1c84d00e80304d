"""Where a dead letter goes, and what it carries then."""

import pytest

from kcli.core.types import Header, Record
from kcli.flows.topics.lifetime import Tally
from kcli.pipeline.drivers.replay_plan import plan_text, sum_up
from kcli.pipeline.kernels.replay import LastOfKey
from kcli.pipeline.redrive import (
    NO_TARGET,
    ORIGIN,
    REPLAYS,
    TOO_OFTEN,
    Decision,
    Routing,
    decide,
    hour,
    packed,
    parse_target,
    reason,
    replayed,
    unpacked,
)

TO_TOPIC, TO_HEADER = Routing("orders", "", 3), Routing("", "original-topic", 3)


def record(*headers: Header, timestamp: int = 1_700_000_000_000) -> Record:
    return Record("dlq", 2, 17, timestamp, 0, b"k", None, headers)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("orders", ("orders", "")),
        ("header:original-topic", ("", "original-topic")),
        ("header:", ("", "")),
        ("", ("", "")),
    ],
)
def test_a_target_is_a_topic_or_a_header(text: str, parts: tuple[str, str]) -> None:
    assert parse_target(text) == parts


@pytest.mark.parametrize(
    ("headers", "decision"),
    [
        ((), Decision("", NO_TARGET, 0)),
        ((("original-topic", b"a"),), Decision("a", "", 0)),
        ((("original-topic", b"a"), ("original-topic", b"b")), Decision("b", "", 0)),
        ((("original-topic", b""),), Decision("", NO_TARGET, 0)),
        ((("original-topic", None),), Decision("", NO_TARGET, 0)),
        ((("original-topic", b"a/b"),), Decision("", NO_TARGET, 0)),
        ((("original-topic", b".."),), Decision("", NO_TARGET, 0)),
        ((("original-topic", b"\xff"),), Decision("", NO_TARGET, 0)),
        ((("original-topic", b"a"), (REPLAYS, b"2")), Decision("a", "", 2)),
        ((("original-topic", b"a"), (REPLAYS, b"3")), Decision("", TOO_OFTEN, 3)),
        ((("original-topic", b"a"), (REPLAYS, b"99999999999")), Decision("a", "", 0)),
        ((("original-topic", b"a"), (REPLAYS, b"-3")), Decision("a", "", 0)),
        ((("original-topic", b"a"), (REPLAYS, None)), Decision("a", "", 0)),
    ],
)
def test_a_record_goes_where_its_header_says_unless_it_was_replayed_too_often(
    headers: tuple[Header, ...], decision: Decision
) -> None:
    assert decide(record(*headers), TO_HEADER) == decision


def test_a_record_is_sent_as_it_was_with_one_more_replay() -> None:
    one = record(("a", b"1"), (REPLAYS, b"1"), ("a", None), (ORIGIN, b"dlq/0/3"))
    sent = replayed(one, decide(one, TO_TOPIC), TO_TOPIC)
    assert sent.headers == (("a", b"1"), ("a", None), (REPLAYS, b"2"), (ORIGIN, b"dlq/2/17"))
    assert (sent.topic, sent.key, sent.value, sent.partition, sent.timestamp) == (
        "orders",
        b"k",
        None,
        None,
        1_700_000_000_000,
    )
    now = TO_TOPIC._replace(keep_timestamps=False)
    assert replayed(one, decide(one, now), now).timestamp is None
    assert (
        replayed(record(timestamp=-1), Decision("orders", "", 0), TO_TOPIC).timestamp == -1
    )  # none, as it was


def test_a_reason_is_what_a_header_says() -> None:
    assert reason(record()) == "-"
    assert (
        reason(record(("__connect.errors.exception.class.name", b"org.x.DataException"))) == "DataException"
    )
    assert reason(record(("reason", b"not valid. really"))) == "not valid. really"
    assert hour(1_700_000_000_000) == "2023-11-14T22:00Z"
    assert hour(-1) == hour(1 << 62) == "-"


def test_a_set_of_offsets_travels() -> None:
    assert unpacked(packed([3, 1, 1 << 40])) == {1, 3, 1 << 40}
    assert unpacked(packed([])) == frozenset()


def test_of_a_key_the_last_record_of_all_partitions_is_kept() -> None:
    def item(records: int, **keys: tuple[int, int]) -> dict[str, object]:
        named = {name.encode().ljust(16, b"."): LastOfKey(*at, "a", "kept", 10) for name, at in keys.items()}
        named[b"%d" % 7] = LastOfKey(0, 7, "a", "expired", 10)
        return {"records": records, "skipped_records": 1, "bytes": 5, "keys": named, "tallies": {}, "sizes": {},
                "histogram": {("a", "-", "h"): records, ("", TOO_OFTEN, "h"): 1}}  # fmt: skip

    found = sum_up([item(4, k=(100, 1), m=(5, 2)), item(3, k=(99, 9), m=(5, 3))], dedupe=True)
    assert found.chosen is not None
    assert [sorted(each) for each in found.chosen] == [[1, 7], [3, 7]]
    assert (found.records, found.superseded, found.too_often, found.targets) == (4, 3, 2, {"a": 7})
    assert found.tallies == {"a": Tally(kept=2, expired=2, oldest=0, read=True)}
    assert found.sizes == {"a": 40}


def plan_rows(histogram: dict[tuple[str, str, str], int]) -> list[list[str]]:
    """The words of each line of the plan's table."""
    item = {
        "records": sum(histogram.values()),
        "bytes": 5,
        "histogram": histogram,
        "tallies": {},
        "sizes": {},
    }
    found = sum_up([item], dedupe=False)
    text = plan_text("dlq", "header:t", "job", [], found, continued=0, where=None, max_replays=3)
    return [line.split() for line in text.splitlines()[2:]]


def test_a_plan_counts_by_hour_or_by_day_or_by_reason_so_that_it_stays_short() -> None:
    hours = {
        ("orders", "timeout", f"2026-11-{day:02}T{hour:02}:00Z"): 2 for day in (25, 26) for hour in range(24)
    }
    first = dict(list(hours.items())[:20])
    assert plan_rows(first)[:2] == [
        ["TARGET", "REASON", "HOUR", "RECORDS"], ["orders", "timeout", "2026-11-25T00:00Z", "2"]
    ]  # fmt: skip
    assert plan_rows(hours) == [
        ["TARGET", "REASON", "DAY", "RECORDS"],
        ["orders", "timeout", "2026-11-25", "48"],
        ["orders", "timeout", "2026-11-26", "48"],
    ]
    days = {("orders", "timeout", f"2026-{month:02}-01T00:00Z"): 1 for month in range(1, 13)}
    days |= {(target, reason, hour): 3 for (target, _, hour) in days for reason in ("rejected",)}
    assert plan_rows(days) == [
        ["TARGET", "REASON", "RECORDS"], ["orders", "rejected", "36"], ["orders", "timeout", "12"]
    ]  # fmt: skip


def test_a_plan_with_many_reasons_says_how_many_are_left_out() -> None:
    rows = plan_rows({("orders", f"reason-{number:02}", "2026-11-25T00:00Z"): 1 for number in range(25)})
    assert len(rows) == 1 + 20 + 1
    assert rows[-1] == ["and", "5", "rows", "more"]
