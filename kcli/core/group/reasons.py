"""The errors for a member that has lost its membership, or cannot join."""

from kcli.core.error_codes import (
    FENCED_INSTANCE_ID,
    GROUP_MAX_SIZE_REACHED,
    INCONSISTENT_GROUP_PROTOCOL,
    INVALID_SESSION_TIMEOUT,
    UNRELEASED_INSTANCE_ID,
    UNSUPPORTED_ASSIGNOR,
    UNSUPPORTED_VERSION,
)
from kcli.core.errors import BrokerError, KcliError, MembershipError, UnsupportedError

_REMEDIES = {
    GROUP_MAX_SIZE_REACHED: "the brokers' group.max.size allows no more: stop another member, or raise it",
    INCONSISTENT_GROUP_PROTOCOL: "`kcli groups list` shows the type of the group: members of a share group have "
    "--group-type share; else they have no assignor in common: compare partition.assignment.strategy and group.protocol, "
    "or use another group.id",
    INVALID_SESSION_TIMEOUT: "choose session.timeout.ms between the brokers' group.min.session.timeout.ms "
    "and group.max.session.timeout.ms",
    UNRELEASED_INSTANCE_ID: "another member has this group.instance.id: stop it, or choose another id",
    UNSUPPORTED_ASSIGNOR: "choose a group.remote.assignor that the brokers have (group.consumer.assignors)",
}


def refused(group_id: str, error: BrokerError, instance_id: str | None = None) -> KcliError:
    """The coordinator refuses this member; a MembershipError where the code says so, else the broker's error."""
    if error.code == UNSUPPORTED_VERSION and instance_id is not None:
        return UnsupportedError(
            f"cannot join group {group_id} as static member {instance_id}",
            why=error.why,
            do="the brokers' inter.broker.protocol.version is older than 2.3: raise it, or set no group.instance.id",
        )
    if error.code == FENCED_INSTANCE_ID:
        return MembershipError(
            f"group {group_id}: another member has taken over group.instance.id {instance_id}",
            why=error.why,
            do="give every running member an instance id of its own",
        )
    if error.code in _REMEDIES:
        return MembershipError(f"cannot join group {group_id}", why=error.why, do=_REMEDIES[error.code])
    return error


_CLASSIC = "group.protocol=classic works with all brokers; group.protocol=consumer is on from Kafka 4.0"


def switched_off(group_id: str, error: BrokerError) -> KcliError:
    """Kafka 3.7 to 3.9 know the requests of KIP-848, but refuse them by default."""
    return UnsupportedError(
        f"cannot join group {group_id}: the brokers have switched its protocol off (KIP-848)",
        why=error.why,
        do=_CLASSIC,
    )


def not_offered(group_id: str, error: UnsupportedError) -> KcliError:
    """Brokers before Kafka 3.7 do not know them."""
    return UnsupportedError(f"cannot join group {group_id}: {error.what}", why=error.why, do=_CLASSIC)


def came_too_late(group_id: str, max_poll_interval: float) -> str:
    """Why the heartbeat thread left the group on the caller's behalf."""
    return (
        f"group {group_id}: poll was not called for {max_poll_interval:g} s (max.poll.interval.ms), so this member left; "
        "the next poll joins again"
    )
