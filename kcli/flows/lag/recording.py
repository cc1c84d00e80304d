"""Samples recorded in a file, one line of JSON each, for later analysis by programs."""

import contextlib
import json
import os
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.types import OffsetAndMetadata
from kcli.flows.lag.sample import LagSample

_ELSEWHERE = "make room, or name another file with --record"


def append_sample(path: str, cluster: str, sample: LagSample) -> None:
    """Appends one line. Raises ConfigError when the file cannot be written."""
    append_line(path, _document(cluster, sample))


def check_appendable(path: str) -> None:
    """Raises ConfigError when nothing can be appended to the file. A new one is created."""
    try:
        with open(path, "ab"):
            pass
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


def _document(cluster: str, sample: LagSample) -> dict[str, Any]:
    """Per partition: topic, number, committed offset, log start, end, last stable offset; null is unknown."""
    groups = []
    for one in sample.groups:
        rows = []
        for tp, commit in one.committed.items():
            offset = commit.offset if isinstance(commit, OffsetAndMetadata) else None
            log = sample.bounds[tp]
            rows.append([tp.topic, tp.partition, offset, log.start, log.end, log.stable])
        groups.append({"group": one.group, "state": one.state or None, "partitions": rows})
    head = {"kind": "LagSample", "api": "kcli/v1", "cluster": cluster, "at_ms": sample.at_ms}
    return {**head, "groups": groups}
