"""Snapshots of the metadata log, ``.checkpoint`` files: checksums as of segments, a header and a footer."""

import os
import re
from collections.abc import Callable, Sequence

from kcli.core.errors import CorruptRecordsError, ProtocolError
from kcli.core.offline.stored_values import control_type
from kcli.core.records.segment import Segment, open_file
from kcli.core.records.view import BatchView
from kcli.flows.segments.finding import DAMAGE, Finding
from kcli.flows.segments.walk import Segment as Walked
from kcli.flows.segments.walk import Walk

CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
BOOTSTRAP = "bootstrap.checkpoint"
"""In a log directory: what a new cluster begins with."""
_HEADER, _FOOTER = 3, 4
_STOPS = "a controller or broker that loads it does not start"


def snapshot_findings(path: str, stopped: Callable[[], bool]) -> list[Finding]:
    """All that is wrong with one snapshot. OSError, or KcliError, if it cannot be read."""
    descriptor = open_file(path)
    try:
        facts = Walk(Walked(path, 0, False, True), descriptor, stopped).run()
    finally:
        os.close(descriptor)
    if facts.findings or stopped():
        return [one._replace(affects=f"{one.affects}; {_STOPS}") for one in facts.findings]
    return _ends(path)


def _ends(path: str) -> list[Finding]:
    first = last = None
    with Segment.open(path, base_offset=0) as segment:
        for placed in segment.batches():
            first, last = first or placed, placed
        if first is None or last is None:
            return [_finding(path, 0, "it has no batch", _STOPS)]
        findings = []
        if _kind(first.batch) != _HEADER:
            findings.append(_finding(path, first.position, "its first batch is no snapshot header", _STOPS))
        if _kind(last.batch) != _FOOTER:
            lost = f"its last batch is no snapshot footer, so what was behind offset {last.batch.last_offset} is lost"
            findings.append(_finding(path, last.position, lost, _STOPS))
    return findings


def _kind(batch: BatchView) -> int:
    try:
        return control_type(batch) if batch.is_control else -1
    except (ProtocolError, CorruptRecordsError):
        return -1


def _finding(path: str, position: int | None, why: str, affects: str) -> Finding:
    return Finding(DAMAGE, "snapshot", path, position, None, why, affects)


def before_the_log(folder: str, base: int, whole: Sequence[str]) -> list[Finding]:
    """Whether a snapshot that is whole reaches the first segment of the metadata log, which begins at ``base``."""
    if base <= 0 or any(int(name[:20]) >= base for name in whole):
        return []
    why = f"the log begins at offset {base}, and no snapshot that is whole reaches it"
    lost = "what the controllers knew before is lost in this folder; another controller's may have it"
    return [_finding(folder, None, why, lost)]
