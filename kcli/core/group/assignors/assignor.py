"""What an assignor is: the object that a group's leader asks who shall read which partition.

An application brings its own by putting such an object into ``partition.assignment.strategy``, alone or beside
names. All members of a group need one assignor of the same name, and one that all of them have.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from kcli.core.group.consumer_protocol import Subscription
from kcli.core.types import TopicPartition

RebalanceProtocol = Literal["EAGER", "COOPERATIVE"]
"""EAGER: members give up everything before they join. COOPERATIVE: they keep what they have, and give up only what
their new assignment lacks; then they join again, and what was given up finds its new owner (KIP-429)."""

Assigned = Mapping[str, Sequence[TopicPartition]]
"""Member id → its partitions."""


class Assignor(Protocol):
    """Spreads partitions over members. This is all that one needs::

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

    ``assign`` runs on one member, the leader; the same input must give the same answer. It is checked: no partition
    may go to two members, to one who did not subscribe to its topic, or, with COOPERATIVE, to a new owner while
    another member still claims it. What members claim to own may be false: ``claims.owners`` tells what to believe.
    """

    @property
    def name(self) -> str:
        """What members call it among themselves; never one of Kafka's own names."""
        ...

    @property
    def protocol(self) -> RebalanceProtocol:
        """The more demanding of the two that it can do: who can do COOPERATIVE can do EAGER."""
        ...

    def assign(self, members: Mapping[str, Subscription], partitions: Mapping[str, int]) -> Assigned:
        """The partitions of each member.

        ``members``: by member id, in no order that means anything. ``partitions``: how many each topic has that
        somebody subscribed to; one that does not exist, or that the leader does not know yet, is missing. A member
        that is left out gets none.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """An assignor whose members send it bytes of its own when they join; it finds them in ``user_data``."""

    def user_data(self, last: Sequence[TopicPartition], generation: int) -> bytes | None:
        """What the leader shall be told by a member that was last assigned ``last``, in ``generation`` (−1: never)."""
        ...
