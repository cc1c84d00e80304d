"""The leader's work between JoinGroup and SyncGroup: read what the members sent, assign, check, encode. Pure.

Done in two steps, because the leader needs metadata of all members' topics before it can assign. A member whose
subscription cannot be read gets nothing and is reported; the other members are assigned partitions.
"""

from collections.abc import Iterable, Mapping

from kcli.core.classes import dataclass, replace
from kcli.core.errors import ConfigError, ProtocolError
from kcli.core.group.assignors.assignor import Assigned, Assignor
from kcli.core.group.assignors.sticky import Claim, existing
from kcli.core.group.consumer_protocol import (
    Assignment,
    Subscription,
    decode_subscription,
    encode_assignment,
)
from kcli.core.protocol.messages.join_group import JoinGroupResponseMember
from kcli.core.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a generation as their leader sees them.

    Members that could not be read are in ``subscriptions`` with no topics, and in ``unreadable`` with the reason.
    """

    subscriptions: Mapping[str, Subscription]
    unreadable: Mapping[str, ProtocolError]

    @property
    def topics(self) -> frozenset[str]:
        """Every subscribed topic: those whose partitions the leader has to know."""
        return frozenset(topic for one in self.subscriptions.values() for topic in one.topics)


def read_members(joined: Iterable[JoinGroupResponseMember]) -> Members:
    """The members of a JoinGroup response. Of two rows with the same id the first counts."""
    subscriptions: dict[str, Subscription] = {}
    unreadable: dict[str, ProtocolError] = {}
    for row in joined:
        if row.member_id in subscriptions:
            continue
        said = Subscription()
        try:
            said = decode_subscription(row.metadata, row.member_id)
        except ProtocolError as error:
            unreadable[row.member_id] = error
        subscriptions[row.member_id] = replace(said, group_instance_id=row.group_instance_id)
    return Members(subscriptions, unreadable)


def assignments(
    assignor: Assignor, members: Mapping[str, Subscription], partitions: Mapping[str, int]
) -> dict[str, bytes]:
    """Member id → its encoded assignment for SyncGroup; every member is included.

    ``partitions``: the partition count of each topic that exists. ConfigError when an application's own assignor breaks
    the rules.
    """
    wanted = {topic for one in members.values() for topic in one.topics}
    sizes = {topic: count for topic, count in sorted(partitions.items()) if topic in wanted and count > 0}
    given = assignor.assign(members, sizes)
    _check(assignor, given, members, sizes)
    return {member: encode_assignment(Assignment(tuple(given.get(member, ())))) for member in members}


def _check(
    assignor: Assignor, given: Assigned, members: Mapping[str, Subscription], sizes: Mapping[str, int]
) -> None:
    """An application's own assignor may be faulty; records must not be read twice because of that."""
    holder: dict[TopicPartition, str] = {}
    claimants = _claimants(members, sizes) if assignor.protocol == "COOPERATIVE" else {}
    topics = {member: set(one.topics) for member, one in members.items()}
    for member, partitions in given.items():
        if member not in members:
            raise _fault(assignor, f"assigns to {member!r}", "there is no such member")
        for tp in partitions:
            if not 0 <= tp.partition < sizes.get(tp.topic, 0):
                raise _fault(assignor, f"assigns {tp}", "there is no such partition")
            if tp.topic not in topics[member]:
                raise _fault(assignor, f"assigns {tp} to {member!r}", "it did not subscribe to the topic")
            if tp in holder:
                raise _fault(assignor, f"assigns {tp} twice", f"to {holder[tp]!r} and to {member!r}")
            if member not in claimants.get(tp, {member}):
                raise _fault(assignor, f"assigns {tp} to {member!r}", "its owner has to revoke it first")
            holder[tp] = member


def _claimants(
    members: Mapping[str, Subscription], sizes: Mapping[str, int]
) -> dict[TopicPartition, set[str]]:
    found: dict[TopicPartition, set[str]] = {}
    for member, one in members.items():
        for tp in existing(Claim(one.owned_partitions), sizes):
            found.setdefault(tp, set()).add(member)
    return found


def _fault(assignor: Assignor, what: str, why: str) -> ConfigError:
    return ConfigError(
        f"the assignor {assignor.name!r} {what}", why=why, do="correct it, or choose another one"
    )
