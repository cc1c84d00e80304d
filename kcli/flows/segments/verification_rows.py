"""The rows of ``segments verify``: a partition with what was found, two replicas with their first difference. Pure."""

from collections.abc import Sequence
from typing import Any

from kcli.core.logdir.folders import PartitionFolder
from kcli.flows.segments.compare import Comparison, Place
from kcli.flows.segments.finding import DAMAGE, NOTE, RULES, Finding, merged
from kcli.flows.segments.verify import Verdict
from kcli.output.tables import Column

WHOLE, DAMAGED, NOT_READ = "whole", "damaged", "not read"
EQUAL, DIFFERS = "equal", "differs"
_NODE = Column(
    "node",
    "id",
    values="integer?",
    meaning="Id of the broker by meta.properties; null where that is not known.",
)
_FINDING = (
    Column("severity", values=(DAMAGE, NOTE), meaning="damage counts for exit code 5, a note does not."),
    Column("rule", values=tuple(RULES), meaning="Which rule is broken."),
    Column("file", values="string", meaning="The file or folder."),
    Column(
        "position", values="count?", meaning="The byte at which it is; null where it is about the whole file."
    ),
    Column("offset", values="integer?", meaning="The offset that should be, or is, there; null without one."),
    Column("why", values="string", meaning="What was seen."),
    Column("affects", values="string", meaning="What that means."),
    Column("also", values="count", meaning="Further places of this file at which the same rule is broken."),
)
HEAD = (
    Column(
        "findings",
        values="objects",
        inner=_FINDING,
        meaning="Findings about log directories, and folders of partitions.",
    ),
)
VERIFIED = (
    Column("topic"),
    Column("partition", "id"),
    _NODE,
    Column("segments", "number", values="count", meaning="Segments that were read."),
    Column("size_bytes", "size", spare=3, values="count", meaning="Their size."),
    Column("batches", "number", spare=4, values="count", meaning="Batches that are whole."),
    Column("records", "number", values="count", meaning="Their records."),
    Column("first_offset", "number", spare=1, values="count?", meaning="First offset; null without a batch."),
    Column("end_offset", "number", spare=2, values="count?", meaning="Offset behind the last record, or null."),
    Column("damage", "number", values="count", meaning="Places with damage."),
    Column("notes", "number", spare=5, values="count", meaning="Places with a note."),
    Column("verdict", values=(WHOLE, DAMAGED, NOT_READ), meaning="whole: everything was read, and no rule is broken."),
    Column("path", wide=True, values="string", meaning="The folder."),
)  # fmt: skip
FURTHER = (Column("findings", values="objects", inner=_FINDING, meaning="What was found."),)
"""What documents have, too."""
COMPARED = (
    Column("topic"),
    Column("partition", "id"),
    Column("first_offset", "number", values="count?", meaning="First offset that both have; null if not read."),
    Column("end_offset", "number", values="count?", meaning="End of what both have; null if not read."),
    Column("compared", "number", values="count", meaning="Batches, of compacted topics records, that were compared."),
    Column("ahead", "number", values="count", meaning="Offsets that only one of them has at its end."),
    Column("verdict", values=(EQUAL, DIFFERS, NOT_READ), meaning="Of what both have."),
    Column("offset", "number", values="count?", meaning="Offset of the first difference; null without one."),
    Column("why", "prose", values="string?", meaning="What differs; null if nothing."),
    Column("path", wide=True, values="string", meaning="The first replica."),
    Column("position", "number", wide=True, values="count?", meaning="Byte of its segment, or null."),
    Column("file", wide=True, values="string?", meaning="Its segment; null without a difference."),
    Column("other_path", wide=True, values="string", meaning="The other replica."),
    Column("other_position", "number", wide=True, values="count?", meaning="Byte of its segment, or null."),
    Column("other_file", wide=True, values="string?", meaning="Its segment; null without a difference."),
)  # fmt: skip


def verdict_row(verdict: Verdict) -> dict[str, Any]:
    """A partition."""
    folder, facts = verdict.folder, verdict.facts
    damage = verdict.count(DAMAGE)
    return {
        "topic": folder.tp.topic,
        "partition": folder.tp.partition,
        "node": _node(folder),
        "segments": len(facts),
        "size_bytes": sum(one.size for one in facts),
        "batches": sum(one.batches for one in facts),
        "records": sum(one.records for one in facts),
        "first_offset": next((one.first_offset for one in facts if one.batches), None),
        "end_offset": max((one.next_offset for one in facts), default=None),
        "damage": damage,
        "notes": verdict.count(NOTE),
        "verdict": DAMAGED if damage else NOT_READ if verdict.missing else WHOLE,
        "path": folder.path,
        "findings": finding_rows(merged(verdict.findings)),
    }


def finding_rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Findings as objects."""
    return [one._asdict() for one in findings]


def comparison_row(one: PartitionFolder, other: PartitionFolder, found: Comparison | None) -> dict[str, Any]:
    """Two replicas; ``found`` is None where they could not be read."""
    difference = found.difference if found else None
    mine, theirs = (difference.one, difference.other) if difference else (None, None)
    return {
        "topic": one.tp.topic,
        "partition": one.tp.partition,
        "first_offset": found.start if found else None,
        "end_offset": found.stop if found else None,
        "compared": found.compared if found else 0,
        "ahead": found.ahead if found else 0,
        "verdict": NOT_READ if found is None else DIFFERS if difference else EQUAL,
        "offset": difference.offset if difference else None,
        "why": difference.why if difference else None,
        "path": one.path,
        **_place("", mine),
        "other_path": other.path,
        **_place("other_", theirs),
    }


def _place(prefix: str, place: Place | None) -> dict[str, Any]:
    return {
        f"{prefix}position": place.position if place else None,
        f"{prefix}file": place.path if place else None,
    }


def _node(folder: PartitionFolder) -> int | None:
    node = folder.log_dir.node_id if folder.log_dir else -1
    return node if node >= 0 else None
