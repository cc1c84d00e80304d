"""What members of a share group have written, and what the share coordinator has stored, compared. Not a test.

A member's log has a line for each record that it wrote: partition, offset, delivery count. The coordinator's records
in ``__share_group_state`` say of each offset in which delivery it was acknowledged. So it is known of each accepted
record whether exactly that delivery had been written.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

ACKNOWLEDGED, ARCHIVED = 2, 4
_CONSOLE = re.compile(rb"Partition:(\d+)\tOffset:(\d+)\tDelivery:(\d+)")
"""The line of Kafka's own console share consumer, with print.partition, print.offset and print.delivery."""


@dataclass
class Account:
    """By partition and offset: a bit for each delivery that was written, and the delivery count that was accepted."""

    ends: Mapping[int, int]
    written: dict[int, array[int]] = field(default_factory=dict)
    accepted: dict[int, array[int]] = field(default_factory=dict)
    archived: int = 0
    lines: int = 0

    def __post_init__(self) -> None:
        for partition, end in self.ends.items():
            self.written[partition] = array("I", bytes(4 * end))
            self.accepted[partition] = array("H", bytes(2 * end))

    def add_log(self, log: Iterable[bytes]) -> None:
        """A member's log; a line that a SIGKILL has cut short was not written."""
        for line in log:
            if not line.endswith(b"\n"):
                continue
            parts = line.split()
            if len(parts) != 3 or not parts[0].isdigit():
                found = _CONSOLE.search(line)
                if found is None:
                    continue
                parts = list(found.groups())
            partition, offset, deliveries = map(int, parts)
            self.written[partition][offset] |= 1 << deliveries
            self.lines += 1

    def add_state(self, document: Mapping[str, object], group: str) -> None:
        """A record of ``__share_group_state``, as ``kcli consume -o ndjson`` prints it."""
        key, value = document["key"], document["value"]
        if not isinstance(key, dict) or key["data"]["group_id"] != group or not isinstance(value, dict):
            return
        accepted = self.accepted[key["data"]["partition"]]
        for batch in value["data"]["state_batches"]:
            if batch["delivery_state"] == ACKNOWLEDGED:
                for offset in range(batch["first_offset"], batch["last_offset"] + 1):
                    accepted[offset] = batch["delivery_count"]
            elif batch["delivery_state"] == ARCHIVED:
                self.archived += batch["last_offset"] - batch["first_offset"] + 1

    @property
    def left(self) -> int:
        """How many records are not accepted yet."""
        return sum(counts.count(0) for counts in self.accepted.values())

    def verdicts(self) -> dict[str, int]:
        """What must not be: each with how often it was found; empty if all is well."""
        found = {"never accepted": self.left, "archived": self.archived, "accepted unwritten": 0}
        for partition, counts in self.accepted.items():
            written = self.written[partition]
            found["accepted unwritten"] += sum(
                1 for offset, count in enumerate(counts) if count and not written[offset] >> count & 1
            )
        return {name: count for name, count in found.items() if count}

    @property
    def redelivered(self) -> tuple[int, int]:
        """Deliveries after the first one: of accepted records by the coordinator, and those that were written twice."""
        by_broker = sum(count - 1 for counts in self.accepted.values() for count in counts if count)
        twice = sum(mask.bit_count() - 1 for masks in self.written.values() for mask in masks if mask)
        return by_broker, twice


def documents(lines: Iterable[bytes]) -> Iterable[Mapping[str, object]]:
    """Whole lines of JSON."""
    for line in lines:
        if line.endswith(b"\n"):
            yield json.loads(line)
