"""An error code at its place in an answer: all of it, one partition, one topic or group, or on top."""

from collections.abc import Iterator
from copy import copy
from typing import Any

from kcli.core.protocol.api import Response
from kcli.core.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from kcli.core.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcli.core.protocol.messages.fetch import FetchRequest
from kcli.core.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from kcli.core.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kcli.core.types import TopicPartition
from tests.fake.answer_shapes import BLANK, READ_ONLY, InOrder, Named, Parts, shape_of
from tests.fake.group_requests import GROUP_APIS
from tests.fake.groups.refusal import refusal
from tests.fake.journal import Seen
from tests.fake.log_dirs import refused_moves
from tests.fake.producer_admin import mark_all, no_markers
from tests.fake.user_admin import refused_users


class Refusal:
    """One code for one request. ``where``: a TopicPartition, the name of a topic, group or key; None is everywhere.

    Either :meth:`answer` stands for the whole request, or what is refused is taken out of it, the rest is carried
    out, and :meth:`put_into` completes the answer.
    """

    def __init__(self, seen: Seen, code: int, *, where: TopicPartition | str | None, top: bool) -> None:
        self._seen, self._code, self._where = seen, code, where
        shape = shape_of(seen.kind, seen.version)
        self._top = top or shape is None
        self._shape = shape
        self._taken: list[tuple[Any, Any]] = []

    @property
    def concerns(self) -> bool:
        """Whether the request names ``where``: not the one that another broker got at the same time."""
        if self._top or self._where is None or self._seen.kind is FetchRequest:  # sessions: named once
            return True
        if isinstance(self._shape, Parts) or (
            isinstance(self._shape, Named) and isinstance(self._where, str)
        ):
            asked = list(self._asked())
            return not asked or any(self._is_meant(*place) for place in asked)
        return True

    @property
    def covers_all(self) -> bool:
        """Nothing is left to be carried out."""
        if self._seen.kind in READ_ONLY:
            return False
        return self._top or all(self._is_meant(*place) for place in self._asked())

    def answer(self) -> Response:
        """The answer in which everything is refused."""
        seen = self._seen
        if self._where is None and any(seen.kind is row[0] for row in GROUP_APIS):
            return refusal(seen.request, seen.version, self._code)
        if seen.kind is WriteTxnMarkersRequest:
            return no_markers(seen.request, self._code)
        if isinstance(seen.request, AlterUserScramCredentialsRequest):
            return refused_users(seen.request, self._code)
        if isinstance(seen.request, AlterReplicaLogDirsRequest):
            return refused_moves(seen.request, self._code)
        made = seen.kind.response()
        if self._top:
            self._mark(made, "error_code")
        elif isinstance(self._shape, InOrder):
            asked = getattr(seen.request, self._shape.asked)
            rows = [
                self._shape.row(**{name: getattr(one, name) for name in self._shape.same}) for one in asked
            ]
            setattr(made, self._shape.rows, rows)
            self.put_into(made)
        else:
            self._taken = list(self._asked())
            self._add(made)
        return made

    def without(self, request: Any) -> Any:
        """The request without what is refused: a copy, since the journal keeps what was sent."""
        made = copy(request)
        if isinstance(made, FetchRequest):
            made.max_wait_ms = 0  # errors are told at once
        if self._seen.kind in READ_ONLY or self._top:
            return made
        self._taken = [place for place in self._asked() if self._is_meant(*place)]
        shape = self._shape
        if isinstance(shape, Named):
            items = getattr(request, shape.asked)
            kept = [i for i in items if not self._is_meant(_value(i, shape.asked_key), None)]
            setattr(made, shape.asked, kept)
        elif isinstance(shape, Parts):
            topics = [self._smaller(topic, shape) for topic in getattr(request, shape.asked_topics)]
            setattr(made, shape.asked_topics, topics)
        return made

    def put_into(self, answer: Response) -> None:
        """Writes the code where it belongs."""
        shape = self._shape
        if isinstance(answer, WriteTxnMarkersResponse):
            mark_all(answer, self._code)
        elif isinstance(answer, AlterReplicaLogDirsResponse):
            answer.results = refused_moves(self._seen.request, self._code).results  # type: ignore[arg-type]
        elif self._top:
            self._mark(answer, "error_code")
        elif isinstance(shape, InOrder):
            for row in getattr(answer, shape.rows):
                self._mark(row, "error_code")
        elif isinstance(shape, Named):
            for row in getattr(answer, shape.rows):
                self._mark_row(row, getattr(row, shape.key))
        elif isinstance(shape, Parts):
            for topic in getattr(answer, shape.topics):
                for row in getattr(topic, shape.partitions):
                    if self._is_meant(topic, getattr(row, shape.index)):
                        self._mark(row, shape.code)
            if self._seen.kind in (FetchRequest, ShareAcknowledgeRequest):  # the answer may have no rows
                self._taken = [p for p in self._asked() if self._is_meant(*p) and not _has(answer, shape, *p)]
        self._add(answer)

    # --- inside ------------------------------------------------------------------------------------

    def _asked(self) -> Iterator[tuple[Any, Any]]:
        """(topic entry, partition) or (name, None) for all that the request names."""
        shape, request = self._shape, self._seen.request
        if isinstance(shape, Named):
            for item in getattr(request, shape.asked) or ():
                yield _value(item, shape.asked_key), None
        elif isinstance(shape, Parts):
            for topic in getattr(request, shape.asked_topics) or ():
                for item in getattr(topic, shape.asked_partitions):
                    yield topic, _value(item, shape.asked_index)

    def _is_meant(self, topic: Any, partition: int | None) -> bool:
        where = self._where
        name = topic if partition is None else self._topic_name(topic)
        if where is None:
            return True
        if isinstance(where, TopicPartition):
            return (name, partition) == where
        return bool(name == where)

    def _smaller(self, topic: Any, shape: Parts) -> Any:
        """A topic of the request with the partitions that are carried out."""
        made = copy(topic)
        items = getattr(topic, shape.asked_partitions)
        kept = [item for item in items if not self._is_meant(topic, _value(item, shape.asked_index))]
        setattr(made, shape.asked_partitions, kept)
        return made

    def _topic_name(self, topic: Any) -> str:
        name = getattr(topic, "name", "") or getattr(topic, "topic", "") or getattr(topic, "topic_name", "")
        return name or self._seen.names(topic.topic_id)

    def _mark_row(self, row: Any, name: str) -> None:
        """One named thing; a partition of it when ``where`` is one (metadata, offsets)."""
        where = self._where
        if not isinstance(where, TopicPartition):
            if self._is_meant(name, None):
                self._mark(row, "error_code")
            return
        topics = [row] if hasattr(row, "partitions") else getattr(row, "topics", [])
        for topic in topics:
            for partition in topic.partitions:
                if self._is_meant(topic, partition.partition_index):
                    self._mark(partition, "error_code")

    def _mark(self, row: Any, code: str) -> None:
        setattr(row, code, self._code)
        for name, value in BLANK.get(type(row), {}).items():
            setattr(row, name, value)

    def _add(self, answer: Response) -> None:
        """Rows for what was taken out of the request."""
        shape = self._shape
        for topic, partition in self._taken:
            if isinstance(shape, Named):
                row = shape.row(**{shape.key: topic})
                self._mark(row, "error_code")
                getattr(answer, shape.rows).append(row)
            elif isinstance(shape, Parts):
                part = shape.partition(**{shape.index: partition})
                self._mark(part, shape.code)
                getattr(_entry(answer, shape, topic), shape.partitions).append(part)


def _value(item: Any, attribute: str) -> Any:
    return getattr(item, attribute) if attribute else item


def _entry(answer: Any, shape: Parts, asked: Any) -> Any:
    """The topic's entry in the answer; a new one when it has none."""
    fields = [name for name in ("name", "topic", "topic_name", "topic_id") if hasattr(asked, name)]
    rows = getattr(answer, shape.topics)
    for row in rows:
        if all(getattr(row, name) == getattr(asked, name) for name in fields):
            return row
    made = shape.topic(**{name: getattr(asked, name) for name in fields})
    setattr(made, shape.partitions, [])
    rows.append(made)
    return made


def _has(answer: Any, shape: Parts, asked: Any, partition: int) -> bool:
    fields = [name for name in ("name", "topic", "topic_name", "topic_id") if hasattr(asked, name)]
    return any(
        all(getattr(row, name) == getattr(asked, name) for name in fields)
        and any(getattr(p, shape.index) == partition for p in getattr(row, shape.partitions))
        for row in getattr(answer, shape.topics)
    )
