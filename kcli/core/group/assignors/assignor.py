"""The interface of assignors: a group's leader calls one to assign partitions to the members.

An application uses its own by putting the object into ``partition.assignment.strategy``, alone or beside names. The
members of a group need at least one assignor, by name, that all of them have.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition

RebalanceProtocol = Literal["EAGER", "COOPERATIVE"]
"""EAGER: members revoke everything before they join. COOPERATIVE: they revoke only what their new assignment lacks;
then they join again, and the revoked partitions are assigned anew (KIP-429).
"""

Assigned = Mapping[str, Sequence[TopicPartition]]
"""Member id → its partitions."""


class Assignor(Protocol):
    """Spreads partitions over members. This is a complete assignor::

        class OneReader:
            # the whole of a topic to one member
            name = "one-reader"
            protocol = "EAGER"

            def assign(self, members, partitions):
                given = {member: [] for member in members}
                for topic, count in partitions.items():
                    reader = min(member for member in members if topic in members[member].topics)
                    given[reader] += [TopicPartition(topic, number) for number in range(count)]
                return given

    ``assign`` runs on one member, the leader; the same input must give the same result. It is checked: no partition
    may go to two members, to a member that did not subscribe to its topic, or, with COOPERATIVE, to a new owner while
    another member still claims it. Members' claims may be false: ``claims.owners`` returns the ones to rely on.
    """

    @property
    def name(self) -> str:
        """The name that members exchange; must not be one of Kafka's own."""
        ...

    @property
    def protocol(self) -> RebalanceProtocol:
        """The more demanding of the two that it supports: COOPERATIVE includes EAGER."""
        ...

    def assign(self, members: Mapping[str, Subscription], partitions: Mapping[str, int]) -> Assigned:
        """The partitions of each member.

        ``members``: by member id, in no particular order. ``partitions``: the number of partitions of each subscribed
        topic; a topic that does not exist, or that the leader does not know yet, is missing. A member that is left out
        gets none.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """An assignor whose members send it bytes of its own when they join; it finds them in ``user_data``."""

    def user_data(self, last: Sequence[TopicPartition], generation: int) -> bytes | None:
        """What the leader receives from a member that was last assigned ``last``, in ``generation`` (−1: never)."""
        ...


def in_order(members: Mapping[str, Subscription]) -> list[str]:
    """Static members first, by instance id, so that a restart changes nothing; then by member id (KIP-345)."""

    def key(member: str) -> tuple[bool, str, str]:
        instance = members[member].group_instance_id
        return instance is None, instance or "", member

    return sorted(members, key=key)


def takers(members: Mapping[str, Subscription], partitions: Mapping[str, int]) -> dict[str, list[str]]:
    """Topic → its subscribers, both in order. Topics without subscribers or without partitions are left out."""
    wanted: dict[str, list[str]] = {}
    for member in in_order(members):
        for topic in dict.fromkeys(members[member].topics):
            if partitions.get(topic, 0) > 0:
                wanted.setdefault(topic, []).append(member)
    return dict(sorted(wanted.items()))
