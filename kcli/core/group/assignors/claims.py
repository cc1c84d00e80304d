"""Which of the members' claims to own partitions count. Pure.

Claims may be old (the member missed a generation), false, or made twice: of two the one of the newer generation counts,
of two in the same generation neither. Partitions that do not exist have no owner.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kcli.core.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Claim:
    """Partitions that a member claims to have owned in ``generation``; −1 means "not given", and is older than any."""

    partitions: Iterable[TopicPartition]
    generation: int = -1


def existing(claim: Claim, partitions: Mapping[str, int]) -> list[TopicPartition]:
    """The claimed partitions that exist, each once, in order."""
    return sorted({tp for tp in claim.partitions if 0 <= tp.partition < partitions.get(tp.topic, 0)})


def owners(claims: Mapping[str, Claim], partitions: Mapping[str, int]) -> dict[TopicPartition, str]:
    """Partition → the member whose claim counts; partitions without an owner are missing."""
    newest: dict[TopicPartition, tuple[int, str]] = {}
    disputed: set[TopicPartition] = set()
    for member in sorted(claims):
        generation = claims[member].generation
        for tp in existing(claims[member], partitions):
            rival = newest.get(tp)
            if rival is None or rival[0] < generation:
                newest[tp] = generation, member
                disputed.discard(tp)
            elif rival[0] == generation:
                disputed.add(tp)
    return {tp: member for tp, (_, member) in newest.items() if tp not in disputed}
