"""ConsumerGroupHeartbeat: join, continue, leave; new targets when the group changed, and a step towards them."""

import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from dataclasses import replace

from kcli.core.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.groups.assignors import ASSIGNORS, Seat
from tests.fake.groups.by_topic import by_topic
from tests.fake.groups.caller import Caller
from tests.fake.groups.consumer_checks import is_full, owned_places
from tests.fake.groups.consumer_group import STATIC_LEFT, ConsumerGroup, ConsumerMember, Progress
from tests.fake.groups.deadlines import Deadlines
from tests.fake.groups.reconcile import next_step
from tests.fake.groups.settings import Settings
from tests.fake.groups.topics import Place, Topics


class ConsumerHeartbeats:
    """All steps of all KIP-848 groups. Requests were checked by ``consumer_checks``."""

    def __init__(
        self, topics: Topics, deadlines: Deadlines, now: Callable[[], float], settings: Settings
    ) -> None:
        self._topics = topics
        self._deadlines = deadlines
        self._now = now
        self._settings = settings

    def heartbeat(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, caller: Caller
    ) -> ConsumerGroupHeartbeatResponse:
        """Epoch 0 joins."""
        owned = owned_places(request)
        member = self._join(group, request) if request.member_epoch == 0 else _known(group, request)
        member.check_epoch(request.member_epoch, owned)
        self._update(group, member, request, caller)
        self._refresh_epoch(group)
        self._refresh_targets(group)
        before = dict(member.assigned)
        self._step(group, member, owned)
        self._set_session(group, member)
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=Code.NONE,
            member_id=member.id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=round(self._settings.consumer_heartbeat_interval * 1000),
            assignment=_assignment(member)
            if is_full(request) or before.keys() != member.assigned.keys()
            else None,
        )

    def leave(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """−1: gone. −2: a static member that will be back, and keeps its partitions until its session ends."""
        member = _known(group, request)
        if request.member_epoch == STATIC_LEFT:
            member.epoch, member.revoking = STATIC_LEFT, {}
        else:
            self.remove(group, [member.id])
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=Code.NONE,
            member_id=request.member_id,
            member_epoch=request.member_epoch,
            heartbeat_interval_ms=0,
        )

    def remove(self, group: ConsumerGroup, member_ids: Iterable[str]) -> None:
        """They are gone; one new epoch for all of them."""
        for member_id in member_ids:
            del group.members[member_id]
            group.targets.pop(member_id, None)
            self._deadlines.cancel("session", group.id, member_id)
            self._deadlines.cancel("revocation", group.id, member_id)
        group.epoch += 1

    # Members

    def _join(self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
        member_id = request.member_id or urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        known = group.members.get(member_id)
        if known is None and len(group.members) >= self._settings.max_size:
            raise RefusedError(
                Code.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {self._settings.max_size} members.",
            )
        former = group.bearer(request.instance_id) if request.instance_id is not None else None
        if former:
            return self._replace_static(group, former, member_id)
        if known is None:
            known = group.members[member_id] = ConsumerMember(member_id, request.instance_id)
        return known

    def _replace_static(self, group: ConsumerGroup, former: ConsumerMember, member_id: str) -> ConsumerMember:
        """Who comes back takes over what the former bearer has; only after that one said −2."""
        if former.epoch != STATIC_LEFT:
            raise RefusedError(
                Code.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {former.instance_id} cannot join the group "
                f"because the instance id is owned by {former.id} member.",
            )
        self._deadlines.cancel("session", group.id, former.id)
        self._deadlines.cancel("revocation", group.id, former.id)
        del group.members[former.id]
        member = replace(former, id=member_id, epoch=0, previous_epoch=0, progress=Progress.STABLE)
        group.members[member_id] = member
        group.targets[member_id] = group.targets.pop(former.id, frozenset())
        return member

    def _update(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        request: ConsumerGroupHeartbeatRequest,
        caller: Caller,
    ) -> None:
        """What the request tells anew; another subscription is another epoch."""
        member.client_id, member.client_host = caller.client_id, caller.host
        member.rack_id = request.rack_id or member.rack_id
        member.assignor = request.server_assignor or member.assignor
        if request.rebalance_timeout_ms != -1:
            member.rebalance_timeout = request.rebalance_timeout_ms / 1000
        before = member.names, member.regex
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        member.names = (member.names or frozenset()) if names is None else frozenset(names)
        member.regex = member.regex if regex is None else regex
        if before != (member.names, member.regex):
            group.epoch += 1
        if member.regex and member.regex not in group.resolved:
            self._resolve_later(group, member.regex)

    def _resolve_later(self, group: ConsumerGroup, regex: str) -> None:
        """A broker looks through its topics in the background; the answer to this heartbeat knows nothing of it."""

        def resolve() -> None:
            group.resolved.add(regex)
            self._refresh_epoch(group)

        self._deadlines.set(("regex", group.id, regex), self._now(), resolve)

    # Targets

    def _refresh_epoch(self, group: ConsumerGroup) -> None:
        """A new epoch when the subscribed topics changed; a group's first one with topics is 2 (seen)."""
        names = {name for m in group.members.values() for name in group.topics_of(m, self._topics)}
        sizes = self._topics.sizes(names)
        if sizes != group.sizes:
            first, group.sizes = group.epoch <= 1, sizes
            group.epoch = 2 if first else group.epoch + (group.epoch == group.assignment_epoch)

    def _refresh_targets(self, group: ConsumerGroup) -> None:
        """New targets for a new epoch, but not too often. Targets without partitions do not count."""
        last, interval = group.assigned_at, self._settings.assignment_interval
        rested = last is None or self._now() - last >= interval
        if group.epoch > group.assignment_epoch and rested:
            group.targets = ASSIGNORS[group.assignor](self._seats(group), group.sizes)
            group.assignment_epoch = group.epoch
            group.assigned_at = self._now() if group.sizes else None

    def _seats(self, group: ConsumerGroup) -> dict[str, Seat]:
        return {
            name: Seat(member.instance_id, self._wanted(group, member), group.targets.get(name, frozenset()))
            for name, member in group.members.items()
        }

    def _wanted(self, group: ConsumerGroup, member: ConsumerMember) -> frozenset[bytes]:
        return frozenset(self._topics.sizes(group.topics_of(member, self._topics)))

    def _step(self, group: ConsumerGroup, member: ConsumerMember, owned: frozenset[Place] | None) -> None:
        """Brings the member nearer to its target, less what it is no longer subscribed to."""
        wanted = self._wanted(group, member)
        target = frozenset(p for p in group.targets.get(member.id, frozenset()) if p[0] in wanted)
        if group.is_reconciled(member) and member.assigned.keys() <= target:
            return
        step = next_step(
            member, target, group.assignment_epoch, owned, lambda place: group.is_free(place, member)
        )
        now = (member.progress, member.epoch, member.assigned, member.revoking)
        if now == (step.progress, step.epoch, step.assigned, step.revoking):
            return
        member.previous_epoch = member.epoch
        member.progress, member.epoch = step.progress, step.epoch
        member.assigned, member.revoking = step.assigned, step.revoking
        self._set_revocation(group, member)

    # Deadlines

    def _set_session(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        at = self._now() + self._settings.consumer_session_timeout
        key = ("session", group.id, member.id)
        self._deadlines.set(key, at, lambda: self.remove(group, [member.id]))

    def _set_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Who does not give up its partitions within its rebalance timeout is put out of the group."""
        key, epoch = ("revocation", group.id, member.id), member.epoch
        if member.progress is not Progress.UNREVOKED:
            self._deadlines.cancel(*key)
            return

        def over() -> None:
            if member.epoch == epoch:
                self.remove(group, [member.id])

        self._deadlines.set(key, self._now() + member.rebalance_timeout, over)


def _known(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
    if request.instance_id is None:
        return group.member(request.member_id)
    return group.static_member(request.member_id, request.instance_id)


def _assignment(member: ConsumerMember) -> Assignment:
    rows = by_topic(sorted(member.assigned))
    return Assignment(topic_partitions=[TopicPartitions(topic_id=t, partitions=p) for t, p in rows])
