"""What the values of a recorded line are: a file may have been changed by others, or be damaged. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kcli.core.exit_codes import ExitCode

Check = Callable[[Any], bool]
LATEST_MS = 253_402_214_400_000
"""Almost the end of the year 9999, in any zone."""
_DAY = 86_400
_LARGEST = (1 << 63) - 1


def check_sample(document: Mapping[str, Any]) -> None:
    """Raises ValueError for a line of ``groups lag --record`` that has other values than ``recording`` writes."""
    _demand(document, _SAMPLE)
    _demand(document, {key: check for key, check in {**_ADDED, **_TIMES}.items() if key in document})


def check_reading(document: Mapping[str, Any]) -> None:
    """The same for a line of ``top --record``."""
    _demand(document, _READING)
    _demand(document, {key: check for key, check in _ADDED.items() if key in document})


def _demand(document: Mapping[str, Any], shape: Mapping[str, Check]) -> None:
    for key, check in shape.items():
        if not check(document[key]):
            raise ValueError(f"{key} is not what is recorded")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    """-1 is unknown, as in Kafka."""
    return type(value) is int and -1 <= value <= _LARGEST


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST


def _moment(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LATEST_MS


def _zone(value: Any) -> bool:
    return type(value) is int and -_DAY < value < _DAY


def _digits(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _either(one: Check, other: Check) -> Check:
    return lambda value: one(value) or other(value)


def _exit_code(value: Any) -> bool:
    return type(value) is int and value in set(ExitCode)


def _list(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _row(*checks: Check) -> Check:
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(checks)
        and all(check(one) for check, one in zip(checks, value, strict=True))
    )


def _map(key: Check, check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(key, value)) and all(map(check, value.values()))


def _object(optional: Mapping[str, Check] | None = None, /, **checks: Check) -> Check:
    return lambda value: (
        isinstance(value, dict)
        and all(key in value and check(value[key]) for key, check in checks.items())
        and all(key not in value or check(value[key]) for key, check in (optional or {}).items())
    )


def _by_partition(check: Check) -> Check:
    """By topic; the partitions from 0 on, or an object by partition."""
    dense, sparse = _list(check), _map(_digits, check)
    return _map(_text, lambda value: dense(value) or sparse(value))


_MAYBE = _or_none(_count)
_TASKS = _list(_row(_text, _count))
_MEMBER = _object(
    {"tasks": _row(_TASKS, _TASKS, _TASKS)},
    member_id=_text, instance_id=_or_none(_text), client_id=_text, host=_text,
    assignment=_or_none(_map(_text, _list(_count))),
)  # fmt: skip
_PARTS: Mapping[str, Check] = {
    "type": _text,
    "members": _list(_MEMBER),
    "topology_epoch": _count,
    "lags": _list(_row(_text, _count, _count)),
}
"""Of a group; older files have only type and members, always both."""
_GROUP = _object(_PARTS, group=_text, state=_text, commits=_by_partition(_MAYBE))
_TOPIC = _object(
    {"partition_bytes": _list(_MAYBE)}, topic=_text, internal=_flag,
    partitions=_list(_row(_count, _count, _list(_count), _list(_count))),
    bytes=_or_none(_row(_MAYBE, _MAYBE)),
)  # fmt: skip
_ERROR = _row(_text, _text, _text, _text, _exit_code)
_TIMES: Mapping[str, Check] = {
    "times": _list(_row(_text, _count, _count, _or_none(_count), _text)),
    "retention": _map(_text, _count),
    "notes": _list(_row(_text, _count, _text)),
}
_PARTITIONS = _map(_text, _list(_count))


def _part(value: Check) -> Check:
    return _object(at_ms=_moment, errors=_list(_ERROR), absent=_text, value=_or_none(value))


_QUORUM = _object(
    leader=_count, epoch=_count, high_watermark=_count, endpoints=_map(_digits, _text),
    replicas=_list(_row(_count, _flag, _count, _count, _count)),
)  # fmt: skip
_TRANSACTION = _object(
    transactional_id=_or_none(_text), state=_text, producer_id=_count, producer_epoch=_count, coordinator=_count,
    since_ms=_count, timeout_ms=_count, partitions=_PARTITIONS,
)  # fmt: skip
_JOB = _object(
    job=_text, source=_text, servers=_text, target=_text, state=_text, why=_text, states=_map(_text, _count),
    topics=_count, lag=_MAYBE, gaps=_count, running=_or_none(_flag), host=_text, pid=_count, since_ms=_moment,
    standbys=_count, delivery=_text, updated_ms=_moment, seen_ms=_moment,
    worst=_list(_row(_text, _count, _text, _MAYBE, _text)),
)  # fmt: skip
_ADDED: Mapping[str, Check] = {
    "utc_offset": _zone,
    "failed": _map(_text, _ERROR),
    "undescribed": _map(_text, _ERROR),
    "partial": _list(_ERROR),
    "missing": _list(_ERROR),
    "quorum": _part(_QUORUM),
    "transactions": _part(_list(_TRANSACTION)),
    "mirrors": _part(_list(_JOB)),
    "configs": _part(_map(_text, _list(_row(_text, _or_none(_text), _text)))),
}
"""Older files have none of them."""
_READING: Mapping[str, Check] = {
    "cluster": _or_none(_text),
    "at_ms": _moment,
    "utc_offset": _zone,
    "seconds": _number,
    "requests": _count,
    "groups": _list(_GROUP),
    "logs": _by_partition(_row(_MAYBE, _MAYBE, _MAYBE, _or_none(_text))),
    "brokers": _list(_row(_count, _text, _count, _or_none(_text), _or_none(_flag))),
    "latencies": _map(_digits, _row(_count, _number, _number)),
    "controller": _or_none(_count),
    "topics": _or_none(_list(_TOPIC)),
    "timed": _list(_text),
    **_TIMES,
    "problems": _list(_text),
}
_OFFSETS = (_text, _count, _MAYBE, _MAYBE, _MAYBE, _MAYBE)
_LOG = _row(*_OFFSETS)
_SAMPLE: Mapping[str, Check] = {
    "cluster": _or_none(_text),
    "at_ms": _moment,
    "groups": _list(
        _object(
            _PARTS, group=_text, state=_or_none(_text),
            partitions=_list(_either(_LOG, _row(*_OFFSETS, _text))),
        )
    ),
}  # fmt: skip
