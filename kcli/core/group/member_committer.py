"""The identity under which a member commits, and what refused commits say about the membership."""

from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from kcli.core.errors import BrokerError
from kcli.core.group.commits import Committer
from kcli.core.group.member import Member
from kcli.core.group.membership import MemberEvent, Membership, MemberState
from kcli.core.group.reasons import refused
from kcli.core.types import GroupMetadata, TopicPartition

_NOT_A_MEMBER = frozenset(
    {UNKNOWN_MEMBER_ID, MEMBER_ID_REQUIRED, ILLEGAL_GENERATION, FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND}
)


class MemberCommitter(Committer):
    """Commits carry the membership's identity at the time they are sent."""

    advice = "poll to join the group again; the records will be read again by the members that own their partitions"

    def __init__(self, membership: Membership, member: Member, *, by_epoch: bool) -> None:
        super().__init__(membership.group_id)
        self.by_epoch = by_epoch
        self._membership = membership
        self._member = member

    def metadata(self) -> GroupMetadata | None:
        """None while it is not a member."""
        with self._membership.lock:
            member = self._membership.is_member and self._membership.generation >= 0
            return self._membership.metadata if member else None

    @property
    def joining(self) -> bool:
        """While it joins, it does not know yet what it owns."""
        return self._membership.state is MemberState.JOINING

    def tenure(self, tp: TopicPartition) -> int | None:
        """See ``Member.tenure``."""
        return self._member.tenure(tp)

    def refused(self, error: BrokerError, made_as: GroupMetadata) -> bool:
        """Passes on to the heartbeats what the coordinator's error says about the membership."""
        member = self._membership
        with member.lock:
            if made_as.generation_id != member.generation or made_as.member_id != member.member_id:
                return True  # the membership has changed meanwhile
            if member.state is MemberState.JOINING and error.code != FENCED_INSTANCE_ID:
                return True  # the membership is about to change
            if error.code == REBALANCE_IN_PROGRESS:
                member.happened(MemberEvent.REBALANCE, str(error))
                return True
            # KIP-848: the epoch advanced while the commit was under way. The next heartbeat brings the new one,
            # under which the commit is sent again; the member has lost nothing.
            if error.code == STALE_MEMBER_EPOCH:
                return True
            if error.code in _NOT_A_MEMBER:
                member.happened(MemberEvent.LOST, str(error))
                # A classic member that is unknown gets another id; one of KIP-848 joins again under its own.
                if error.code != ILLEGAL_GENERATION and not self.by_epoch:
                    member.member_id = ""
            elif error.code == FENCED_INSTANCE_ID:
                reason = refused(member.group_id, error, member.instance_id)
                member.happened(MemberEvent.FENCE, str(error), error=reason)
        return False
