"""What ``format("kcli")`` reads: topics, partitions and the range of each, from its options. Pure.

A range is kcli's own (``since``, ``until``, ``offset``) or the connector's (``startingOffsets`` and its kin), which can
name a position for each partition.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError
from kcli.core.names import check_topic
from kcli.core.positions import OffsetSpec, RangeSpec, check_times, parse_instant, parse_range
from kcli.core.types import TopicPartition
from kcli.pipeline.spark.source_options import Given, Use

Positions = tuple[tuple[TopicPartition, OffsetSpec], ...]

_NUMBERS = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")
_OWN = ("since", "until", "offset")
_STARTS = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
_ENDS = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
BEGINS = ("since", "offset", *_STARTS)
"""The options that say where reading begins."""
_EARLIEST, _LATEST = -2, -1
_OFFSETS = '{"orders":{"0":17,"1":-1}}'
_ASSIGNED = '{"orders":[0,1]}'


class ReadTopics(NamedTuple):
    """``topics`` are names, ``pattern`` a regular expression in their place; ``partitions`` are numbers in each topic,
    ``assigned`` single ones. None and empty: all.
    """

    topics: tuple[str, ...]
    pattern: str
    partitions: tuple[int, ...] | None
    assigned: tuple[TopicPartition, ...]


class ReadRange(NamedTuple):
    """``starts`` and ``stops`` are positions of single partitions, which come before ``range``. ``no_record_fails``: it
    is an error that a partition has no record from the time on at which it shall begin.
    """

    range: RangeSpec
    starts: Positions = ()
    stops: Positions = ()
    no_record_fails: bool = False


def topics_of_options(given: Given) -> ReadTopics:
    """The topics and partitions that are named; ConfigError for names and numbers that are none."""
    own = given.own
    assigned = tuple(TopicPartition(topic, number) for topic, number in _assigned(own.get("assign")))
    if assigned and "partitions" in own:
        raise ConfigError("assign and partitions were both given", why="both name partitions", do="give one")
    names = own.get("topic") or own.get("subscribe") or ",".join(tp.topic for tp in assigned)
    pattern = _pattern("pattern", own.get("pattern", ""))
    whole = own.get("subscribePattern", "")
    if whole:
        _pattern("subscribePattern", whole)
        pattern = rf"(?:{whole})\Z"
    return ReadTopics(_topics(names), pattern, _partitions(own.get("partitions")), assigned)


def range_of_options(given: Given, use: Use | None, now: int) -> ReadRange:
    """The range that is read; ConfigError for one that is none, or that two options say."""
    own = given.own
    theirs = [name for name in (*_STARTS, *_ENDS) if name in own]
    mine = [name for name in _OWN if name in own]
    if theirs and mine:
        raise ConfigError(
            f"{mine[0]} was given together with {theirs[0]}",
            why="both say what is read",
            do="give since, until and offset, or the options of Spark's connector",
        )
    if mine:
        return ReadRange(_own_range(own, use, now))
    start, starts = _connector_side(own, _STARTS)
    stop, stops = _connector_side(own, _ENDS)
    if use != "stream":
        _check_batch(start, starts, stop, stops)
    elif start is None and not starts and given.dialect:
        start = OffsetSpec("latest")
    timed = "startingTimestamp" in own or "startingOffsetsByTimestamp" in own
    strategy = own.get("startingOffsetsByTimestampStrategy")
    if strategy is not None:
        if strategy.strip().lower() not in ("error", "latest"):
            raise ConfigError(
                f"startingOffsetsByTimestampStrategy={strategy}",
                why="it is neither error nor latest",
                do="write one of them",
            )
        if not timed:
            raise ConfigError(
                "the option startingOffsetsByTimestampStrategy has no effect",
                why="it is for startingTimestamp and startingOffsetsByTimestamp",
                do="leave it out",
            )
    fails = timed and (strategy or "error").strip().lower() == "error"
    return ReadRange(RangeSpec(start, stop), starts, stops, fails)


# --- kcli's own --------------------------------------------------------------------------------------------


def _own_range(own: Mapping[str, str], use: Use | None, now: int) -> RangeSpec:
    since, until, offset = (own.get(name) for name in _OWN)
    if offset is not None and (since is not None or until is not None):
        raise ConfigError(
            "offset was given together with since or until",
            why="both say where reading begins",
            do="give a range as offset: @-2h..@-1h, 1000:2000",
        )
    try:
        if offset is not None:
            wanted = parse_range(offset, now)
        else:
            start = None if since is None else OffsetSpec("timestamp", parse_instant(since, now))
            stop = None if until is None else OffsetSpec("timestamp", parse_instant(until, now))
            wanted = RangeSpec(start, stop)
    except ValueError as error:
        raise ConfigError(
            "since, until or offset is wrong",
            why=str(error),
            do="`kcli help times` and `kcli help offsets` list what is valid",
        ) from None
    if use == "stream" and wanted.stop is not None:
        raise ConfigError(
            f"offset={offset} has an end", why="a stream has none", do="give where it begins: 1000, @-2h"
        )
    check_times(
        wanted, now, "the range to read", since="since" if offset is None else "offset", until="until"
    )
    return wanted


def _topics(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    for name in names:
        check_topic(name)
    return names


def _pattern(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigError(
            f"{name}: {text!r} is no regular expression", why=str(error), do="correct it, as in orders-.*"
        ) from None
    return text


def _partitions(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    plain = text.replace(" ", "")
    if not _NUMBERS.fullmatch(plain):
        raise ConfigError(
            f"partitions: {text!r} is no list of numbers", why="partitions are numbered", do="0,2,5-7"
        )
    found: list[int] = []
    for part in plain.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))


# --- the connector's ---------------------------------------------------------------------------------------


def _connector_side(
    own: Mapping[str, str], names: tuple[str, str, str]
) -> tuple[OffsetSpec | None, Positions]:
    """Where reading begins, or ends: for all partitions, or for each. The first of ``names`` that is given counts."""
    timestamp, by_timestamp, offsets = names
    if timestamp in own:
        text = own[timestamp].strip()
        if not text.isdecimal():
            raise ConfigError(
                f"{timestamp}={text}",
                why="it is not a number of milliseconds since the epoch",
                do="1700000000000",
            )
        return OffsetSpec("timestamp", int(text)), ()
    if by_timestamp in own:
        return None, tuple(
            (tp, OffsetSpec("timestamp", ms)) for tp, ms in _by_partition(by_timestamp, own[by_timestamp])
        )
    text = own.get(offsets, "").strip()
    if not text:
        return None, ()
    if text.lower() in ("earliest", "latest"):
        return OffsetSpec(text.lower()), ()
    return None, tuple(
        (tp, _position(offset)) for tp, offset in _by_partition(offsets, text, least=_EARLIEST)
    )


def _position(offset: int) -> OffsetSpec:
    return {_EARLIEST: OffsetSpec("earliest"), _LATEST: OffsetSpec("latest")}.get(
        offset, OffsetSpec("offset", offset)
    )


def _check_batch(
    start: OffsetSpec | None, starts: Positions, stop: OffsetSpec | None, stops: Positions
) -> None:
    """ConfigError for a batch that begins at the end, or ends at the beginning: the connector refuses it too."""
    for name, kind, one, each in (
        ("startingOffsets", "latest", start, starts),
        ("endingOffsets", "earliest", stop, stops),
    ):
        if (one is not None and one.kind == kind) or any(spec.kind == kind for _, spec in each):
            raise ConfigError(
                f"{name}: {kind} leaves nothing to read",
                why="a batch reads what is there when it is planned",
                do="leave it out",
            )


def _by_partition(name: str, text: str, least: int = 0) -> list[tuple[TopicPartition, int]]:
    found = []
    for topic, numbers in _json_object(name, text, _OFFSETS).items():
        check_topic(topic)
        if not isinstance(numbers, dict):
            raise _no_json(name, text, _OFFSETS)
        for number, value in numbers.items():
            if not number.isdecimal() or type(value) is not int or value < least:
                raise _no_json(name, text, _OFFSETS)
            found.append((TopicPartition(topic, int(number)), value))
    return found


def _assigned(text: str | None) -> list[tuple[str, int]]:
    found = []
    for topic, numbers in _json_object("assign", text, _ASSIGNED).items() if text is not None else ():
        check_topic(topic)
        if not isinstance(numbers, list) or any(type(each) is not int or each < 0 for each in numbers):
            raise _no_json("assign", text or "", _ASSIGNED)
        found += [(topic, number) for number in dict.fromkeys(numbers)]
    if text is not None and not found:
        raise _no_json("assign", text, _ASSIGNED)
    return found


def _json_object(name: str, text: str, example: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found:
        raise _no_json(name, text, example)
    return found


def _no_json(name: str, text: str, example: str) -> ConfigError:
    return ConfigError(
        f"{name}={text}", why="it does not name partitions in JSON", do=f"write it as {example}"
    )
