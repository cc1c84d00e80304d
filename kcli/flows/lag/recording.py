"""Samples recorded in a file, one line of JSON each: all that their rows and verdicts are made of, and what is missing.

``flows/monitor/recording.py`` reads them, and records the samples of ``kcli top``, with the same parts.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from errno import EACCES
from typing import TYPE_CHECKING, Any

from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.groups.description import SHARE
from kcli.flows.lag.measure import Measurement, Times
from kcli.flows.lag.partition_lag import RecordTime
from kcli.flows.lag.sample import GroupSample, LagSample

if TYPE_CHECKING:  # loaded where groups are described
    from kcli.core.admin.group_description import GroupDescription

_ELSEWHERE = "make room, or name another file with --record"


def append_sample(path: str, cluster: str, found: Measurement) -> None:
    """Appends one line. Raises ConfigError when the file cannot be written."""
    append_line(path, _document(cluster, found))


def check_appendable(path: str, *, create: bool = True) -> None:
    """Raises ConfigError when nothing can be appended to the file. A new one is created, unless ``create`` is False."""
    try:
        if create or os.path.lexists(path):
            with open(path, "ab"):
                pass
        elif not os.access(folder := os.path.dirname(path) or ".", os.W_OK):
            os.stat(folder)
            raise PermissionError(EACCES, os.strerror(EACCES))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot write {path}", why=(why or str(error)).lower(), do=_ELSEWHERE) from None


def append_line(path: str, document: dict[str, Any]) -> None:
    """Appends a document, as a whole or not at all. Raises ConfigError when the file cannot be written."""
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"
    try:
        with open(path, "ab", buffering=0) as file:
            before = file.seek(0, os.SEEK_END) if file.seekable() else None
            try:
                left = memoryview(line.encode("utf-8", "backslashreplace"))
                while left:
                    left = left[file.write(left) :]
            except OSError:
                with contextlib.suppress(OSError):
                    if before is not None:  # a part of a line would spoil the next one, too
                        file.truncate(before)
                raise
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}", why=(error.strerror or str(error)).lower(), do=_ELSEWHERE
        ) from None


def _document(cluster: str, found: Measurement) -> dict[str, Any]:
    """Per partition: topic, number, committed offset, log start, end, last stable offset; null is unknown, and a seventh
    value why.
    """
    sample = found.sample
    groups = []
    for one in sample.groups:
        rows = []
        for tp, commit in one.committed.items():
            offset = commit.offset if isinstance(commit, OffsetAndMetadata) else None
            log = sample.bounds[tp]
            note = (log.note,) if log.note else ()
            rows.append([tp.topic, tp.partition, offset, log.start, log.end, log.stable, *note])
        groups.append({"group": one.group, "state": one.state or None, "partitions": rows, **group_part(one)})
    head = {"kind": "LagSample", "api": "kcli/v1", "cluster": cluster, "at_ms": sample.at_ms}
    times = {} if found.times is None else times_part(found.times)
    zone = {"utc_offset": utc_offset(sample.at_ms)}
    return {**head, **zone, "groups": groups, **times, **missing_part(sample)}


# --- parts of a line, here and in those of kcli top ------------------------------------------------------------------


def utc_offset(at_ms: int) -> int:
    """The zone of this machine at that time, in seconds."""
    offset = datetime.fromtimestamp(at_ms / 1000).astimezone().utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def group_part(one: GroupSample) -> dict[str, Any]:
    """``type`` of a group where it is known, ``members`` where they were requested; ``lags`` of a share group, by topic
    and partition, and ``topology_epoch`` of a streams group.
    """
    found: dict[str, Any] = {"type": one.type} if one.type else {}
    if one.type == SHARE:
        found["lags"] = [[*tp, lag] for tp, lag in one.lags.items()]
    return found if one.description is None else {**found, **_members_part(one.description)}


def _members_part(description: GroupDescription) -> dict[str, Any]:
    members = []
    for one in description.members:
        by_topic: dict[str, list[int]] | None = None if one.assignment is None else {}
        for tp in one.assignment or ():
            assert by_topic is not None
            by_topic.setdefault(tp.topic, []).append(tp.partition)
        tasks = {} if one.tasks is None else {"tasks": [[list(task) for task in some] for some in one.tasks]}
        members.append(
            {
                "member_id": one.member_id,
                "instance_id": one.instance_id,
                "client_id": one.client_id,
                "host": one.client_host,
                "assignment": by_topic,
                **tasks,
            }
        )
    epoch = description.topology_epoch
    topology = {} if epoch < 0 else {"topology_epoch": epoch}
    return {"type": description.type, **topology, "members": members}


def times_part(times: Times) -> dict[str, Any]:
    """``times``, ``retention`` and ``notes``."""
    return {
        "times": [[*tp, at, *time] for (tp, at), time in times.records.items()],
        "retention": dict(times.retention),
        "notes": [[*tp, note] for tp, note in times.notes.items()],
    }


def times_of(document: Mapping[str, Any]) -> Times:
    """From ``times_part``; nothing where it is not there."""
    return Times(
        {
            (TopicPartition(topic, partition), at): RecordTime(time, how)
            for topic, partition, at, time, how in document.get("times", ())
        },
        document.get("retention", {}),
        {TopicPartition(topic, partition): note for topic, partition, note in document.get("notes", ())},
    )


def missing_part(sample: LagSample, problems: Iterable[KcliError] = ()) -> dict[str, Any]:
    """``failed``: groups; ``undescribed``: members of groups; ``partial``: why groups that were not named are missing;
    ``missing``: what else is.
    """
    of_groups = [*sample.failed.values(), *sample.partial, *sample.undescribed.values()]
    known = set(map(id, of_groups))
    others = [part for part in sample.missing if id(part.error) not in known]
    lines = [[part.error.what, part.why, part.what, part.where, part.code] for part in others]
    known.update(id(part.error) for part in others)
    return {
        "failed": {name: error_line(error) for name, error in sample.failed.items()},
        "undescribed": {name: error_line(error) for name, error in sample.undescribed.items()},
        "partial": [error_line(error) for error in sample.partial],
        "missing": [*lines, *(error_line(error) for error in problems if id(error) not in known)],
    }


def error_line(error: KcliError) -> list[Any]:
    """What is kept of an error."""
    return [error.what, error.why, error.part, error.place, int(error.exit_code)]


def error_of(line: list[Any]) -> KcliError:
    """An error from ``error_line``."""
    what, why, part, place, code = line
    error = KcliError(what, why=why)
    error.part, error.place, error.exit_code = part, place, ExitCode(code)
    return error
