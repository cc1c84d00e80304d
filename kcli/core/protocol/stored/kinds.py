"""The record types of coordinators' topics: from the number in a key's first two bytes to tables. Pure.

Kafka calls the number the key's version; since 4.0 also the record's type. An unknown type is from a newer broker.
"""

from collections.abc import Mapping

from kcli.core.classes import dataclass
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import group_records, share_records, transaction_records


@dataclass(frozen=True, slots=True)
class RecordKind:
    """One kind of record."""

    number: int
    key: type[Struct]
    value: type[Struct]

    @property
    def name(self) -> str:
        """Kafka's name, without Key and Value."""
        return self.value.__name__.removesuffix("Value")


def _kinds(tables: Mapping[int, tuple[type[Struct], type[Struct]]]) -> dict[int, RecordKind]:
    return {number: RecordKind(number, *classes) for number, classes in tables.items()}


KINDS: dict[str, dict[int, RecordKind]] = {
    # Key version 0 predates 0.8.2.2; its values went through the same versions as those of key version 1.
    "consumer_offsets": _kinds({0: group_records.KINDS[1], **group_records.KINDS}),
    "transaction_state": _kinds(transaction_records.KINDS),
    "share_group_state": _kinds(share_records.KINDS),
}
"""By topic, without the underscores, then by number."""

TRANSACTION_STATES = {
    0: "Empty",
    1: "Ongoing",
    2: "PrepareCommit",
    3: "PrepareAbort",
    4: "CompleteCommit",
    5: "CompleteAbort",
    6: "Dead",
    7: "PrepareEpochFence",
}
"""Kafka's names for ``transaction_status``."""
