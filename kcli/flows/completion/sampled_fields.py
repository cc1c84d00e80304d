"""The fields of a topic's last records, for completion: names of members of JSON and of headers, never what they hold.

An object with more members than fields have is a map, whose keys are data: what is inside it is left out.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.core.consumer import ranges
from kcli.core.consumer.consumer import Consumer
from kcli.core.consumer.subscription import Span
from kcli.core.errors import NotFoundError
from kcli.core.options import ConsumerOptions
from kcli.core.types import Record, TopicPartition
from kcli.flows.completion.names_request import ListedNames, row_of

RECORDS = 20
"""The last offsets of each partition that are looked at, and records in all."""
_PARTITIONS = 16
_LARGEST = 1 << 20  # bytes of a value
_DEEPEST, _WIDEST, _LONGEST = 8, 100, 100
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def request_fields(topics: Sequence[str], options: ConsumerOptions, seconds: float) -> ListedNames:
    """The fields of the first of ``topics`` that exists; KcliError when no broker is reached within ``seconds``.
    ``whole``: there were records.
    """
    deadline = time.monotonic() + seconds

    def left() -> float:
        return max(0.0, deadline - time.monotonic())

    with Consumer(options) as consumer:
        consumer.connect(seconds)
        spans = _last_offsets(consumer, topics, left)
        consumer.assign(spans)
        found: dict[str, None] = {}
        read = 0
        while spans and not read and left():
            for fetched in consumer.poll(left()):
                for record in fetched.batch.records(*fetched.tp):
                    if fetched.first <= record.offset < fetched.stop and read < RECORDS:
                        read += 1
                        found |= dict.fromkeys(row_of(path, "") for path in paths_of(record))
    return ListedNames(list(found), whole=bool(read) or not spans)


def _last_offsets(consumer: Consumer, topics: Iterable[str], left: Any) -> dict[TopicPartition, Span]:
    for topic in topics:
        try:
            numbers = consumer.partitions([topic], left())[topic]
        except NotFoundError:
            continue
        parts = [TopicPartition(topic, number) for number in numbers[:_PARTITIONS]]
        now = ranges.bounds(consumer, parts, left())
        return {
            tp: Span(max(now.starts[tp], end - RECORDS), end)
            for tp, end in now.ends.items()
            if end > now.starts[tp]
        }
    return {}


def paths_of(record: Record) -> Iterator[str]:
    """The fields of a record: ``value.customer.id``, ``value.items[0].sku``, ``headers."trace-id"``."""
    for root, data in (("key", record.key), ("value", record.value)):
        if data and len(data) <= _LARGEST and data.lstrip()[:1] in (b"{", b"["):
            try:
                yield from _inside(root, json.loads(data), _DEEPEST)
            except (ValueError, RecursionError):
                continue
    names = (name if isinstance(name, str) else name.decode("utf-8", "replace") for name, _ in record.headers)
    yield from (f"headers{_step(name)}" for name in names if len(name) <= _LONGEST)


def _inside(path: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, list) and value and depth:
        yield from _inside(f"{path}[0]", value[0], depth - 1)
    if not isinstance(value, Mapping) or len(value) > _WIDEST or not depth:
        return
    for name, member in value.items():
        if 0 < len(name) <= _LONGEST:
            inner = path + _step(name)
            yield inner
            yield from _inside(inner, member, depth - 1)


def _step(name: str) -> str:
    """Quoted where it is no word, which all that takes a path understands."""
    if _WORD.fullmatch(name):
        return f".{name}"
    return '."' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
