"""Where a dead letter goes, and what it carries then."""

import pytest

from kcli.commands.pipeline._replay_plan import sum_up
from kcli.core.types import Header, Record
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
    assert replayed(record(timestamp=-1), Decision("orders", "", 0), TO_TOPIC).timestamp is None


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
        named = {name.encode().ljust(16, b"."): at for name, at in keys.items()}
        return {"records": records, "skipped_records": 1, "bytes": 5, "keys": named | {b"%d" % 7: (0, 7)},
                "histogram": {("a", "-", "h"): records, ("", TOO_OFTEN, "h"): 1}}  # fmt: skip

    found = sum_up([item(4, k=(100, 1), m=(5, 2)), item(3, k=(99, 9), m=(5, 3))], dedupe=True)
    assert found.chosen is not None
    assert [sorted(each) for each in found.chosen] == [[1, 7], [3, 7]]
    assert (found.records, found.superseded, found.too_often, found.targets) == (4, 3, 2, {"a": 7})
