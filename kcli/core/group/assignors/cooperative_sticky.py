"""The ``cooperative-sticky`` assignor: like ``sticky``, but members go on reading what they keep (KIP-429). Pure.

A partition that moves is withheld in the first round: its owner finds it missing, revokes it and joins again; in the
second round it has no owner and goes to the new one. It is withheld for as long as *any* member claims it, even in an
old generation: that member has missed a rebalance, but may still be reading. Racks are ignored.
"""

import struct
from collections.abc import Mapping, Sequence

from kcli.core.group.assignors.assignor import RebalanceProtocol, in_order, takers
from kcli.core.group.assignors.balance import balance
from kcli.core.group.assignors.sticky import Claim, existing, owners
from kcli.core.group.consumer_protocol import NO_GENERATION, Subscription
from kcli.core.types import TopicPartition

_GENERATION = struct.Struct(">i")


class CooperativeStickyAssignor:
    """Balances first, then keeps partitions where they were; a partition has one owner at a time (KIP-429)."""

    name = "cooperative-sticky"
    protocol: RebalanceProtocol = "COOPERATIVE"

    def user_data(self, last: Sequence[TopicPartition], generation: int) -> bytes:  # noqa: ARG002
        """The generation once more, for leaders that do not know its field yet (KIP-792)."""
        return _GENERATION.pack(generation)

    def assign(
        self, members: Mapping[str, Subscription], partitions: Mapping[str, int]
    ) -> dict[str, list[TopicPartition]]:
        """The most even assignment, without what another member must revoke first."""
        claims = {member: read_claim(members[member]) for member in members}
        owned = owners(claims, partitions)
        spread = balance(in_order(members), takers(members, partitions), partitions, owned)
        claimed = {tp for claim in claims.values() for tp in existing(claim, partitions)}
        return {
            member: [tp for tp in given if tp not in claimed or owned.get(tp) == member]
            for member, given in spread.items()
        }


def read_claim(subscription: Subscription) -> Claim:
    """Reads the fields; takes the generation from the user data where the member's version has no field for it."""
    generation, data = subscription.generation, subscription.user_data
    if generation == NO_GENERATION and data is not None and len(data) >= _GENERATION.size:
        (generation,) = _GENERATION.unpack_from(data)
    return Claim(subscription.owned_partitions, generation)
