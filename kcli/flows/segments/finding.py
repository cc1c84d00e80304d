"""What verify found: damage or a note, in which file, at which byte and offset, and what it affects. Pure."""

from collections.abc import Iterable, Sequence

from kcli.core.classes import NamedTuple

DAMAGE, NOTE = "damage", "note"


class Finding(NamedTuple):
    """One finding. ``position`` is a byte of the file, ``offset`` a record's; None where there is none.

    ``rule`` is which one of the rules is broken (``RULES``), ``why`` what was seen, ``affects`` what that means. ``also``
    counts further places of the same file at which the same rule is broken.
    """

    severity: str
    rule: str
    file: str
    position: int | None
    offset: int | None
    why: str
    affects: str
    also: int = 0

    @property
    def where(self) -> str:
        """``FILE at byte 120 (offset 7)``."""
        place = self.file if self.position is None else f"{self.file} at byte {self.position}"
        return place if self.offset is None else f"{place} (offset {self.offset})"


RULES = {
    "checksum": "the checksum of a batch is that of its bytes",
    "header": "the header of a batch agrees with itself",
    "order": "offsets rise from batch to batch",
    "gap": "no offset is missing, unless the topic is or was compacted",
    "missing segment": "a segment begins where the one before ends",
    "overlap": "no two segments have the same offsets",
    "foreign bytes": "a segment has nothing but batches",
    "torn tail": "the last batch is whole; one that is not, at the end of the active segment, is a note",
    "size": "index files have whole entries",
    "offset index": "entries of .index name batches of the log, in order",
    "index entries": "no long stretch of the log is without an entry in .index",
    "time index": "entries of .timeindex have the highest timestamp up to their offset",
    "transaction index": "entries of .txnindex are the abort markers of the log",
    "leader epochs": "leader-epoch-checkpoint has the epochs of the batches, and where they begin",
    "producer snapshot": "the checksum of a .snapshot is that of its bytes",
    "snapshot": "a .checkpoint snapshot has a header and a footer, and one reaches the metadata log's beginning",
    "partition.metadata": "partition.metadata can be read, and the topic id is that of the metadata log",
    "folder": "a partition has one folder on a broker, and its topic has such a partition",
    "checkpoint": "checkpoints name offsets that the log has",
    "live": "no broker has the folder open",
    "policy": "cleanup.policy is known",
}
"""Every rule of verify, with what holds where it is not broken."""


_REFETCH = (
    "if another replica is whole, stop this broker and move the folder away: "
    "it fetches the partition when it starts"
)
_REINDEX = (
    "stop the broker and delete the .index of the segment: when it starts, it builds all its indexes anew"
)
_REMEDIES = {
    **dict.fromkeys(("size", "offset index", "time index", "transaction index"), _REINDEX),
    "index entries": "nothing needs to be done; " + _REINDEX,
    "producer snapshot": "stop the broker and delete it: when it starts, it reads the log in its place",
    "snapshot": "if another controller has it whole, stop this one and move the folder away: it fetches the log anew",
    "checkpoint": "take it from another copy of the disk, or see what Kafka's manual says of a broker without it",
    "folder": "find out which of them has what is needed, and move the other one away while the broker is stopped",
    "partition.metadata": "find out whether the folder was renamed or restored to the wrong place",
}


def remedy(rule: str) -> str:
    """What to do where a rule is broken."""
    return _REMEDIES.get(rule, _REFETCH)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding per rule, file and severity: the first, with the number of the others; in order."""
    first: dict[tuple[str, str, str], Finding] = {}
    for one in findings:
        key = (one.severity, one.rule, one.file)
        known = first.get(key)
        first[key] = one if known is None else known._replace(also=known.also + 1 + one.also)
    return list(first.values())


def worst(findings: Sequence[Finding]) -> str:
    """``whole``, or ``damaged``."""
    return "damaged" if any(one.severity == DAMAGE for one in findings) else "whole"
