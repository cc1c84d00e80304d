"""The ``sticky`` assignor: as even as possible, and members keep what they had (KIP-54). Pure.

Its members revoke everything before they join (EAGER), so what they had is sent in the user data, with its generation
(KIP-341), in the Java client's format, so that either client may lead the group. Racks are ignored.

Claims may be old (the member missed a generation), false, or made twice: of two the one of the newer generation counts,
of two in the same generation neither. Partitions that do not exist have no owner.
"""

from collections.abc import Iterable, Mapping, Sequence

from kcli.core.classes import dataclass
from kcli.core.errors import ProtocolError
from kcli.core.group.assignors.assignor import RebalanceProtocol, in_order, takers
from kcli.core.group.assignors.balance import balance
from kcli.core.group.consumer_protocol import Subscription, by_topic
from kcli.core.protocol import compiler
from kcli.core.protocol.messages.consumer_protocol import TopicPartitions
from kcli.core.protocol.schema import INT32, Array, Struct, field
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


class StickyUserData(Struct):
    """The user data of a member; it has no version prefix, so readers try the newest version first."""

    previous_assignment: list[TopicPartitions] = field(Array(TopicPartitions))
    generation: int = field(INT32, "1+", default=-1)


class StickyAssignor:
    """Balances first, then keeps partitions where they were."""

    name = "sticky"
    protocol: RebalanceProtocol = "EAGER"

    def user_data(self, last: Sequence[TopicPartition], generation: int) -> bytes | None:
        """What the member had; None if it never had an assignment."""
        if generation < 0:
            return None
        data = StickyUserData(previous_assignment=by_topic(last), generation=generation)
        return bytes(compiler.encode(data, 1, flexible=False)[0])

    def assign(
        self, members: Mapping[str, Subscription], partitions: Mapping[str, int]
    ) -> dict[str, list[TopicPartition]]:
        """The most even assignment that is nearest to the previous one."""
        claims = {member: read_claim(members[member]) for member in members}
        owned = owners(claims, partitions)
        return balance(in_order(members), takers(members, partitions), partitions, owned)


def read_claim(subscription: Subscription) -> Claim:
    """Reads the user data, or without it the fields that KIP-429 added for this. Unreadable data claims nothing."""
    data = subscription.user_data
    if not data:
        return Claim(subscription.owned_partitions, subscription.generation)
    for version in (1, 0):
        try:
            said, _ = compiler.decode(StickyUserData, memoryview(data), 0, version, flexible=False)
        except ProtocolError:
            continue
        partitions = (
            TopicPartition(group.topic, n) for group in said.previous_assignment for n in group.partitions
        )
        return Claim(tuple(partitions), said.generation)
    return Claim(())
