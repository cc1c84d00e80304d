"""Which members subscribe to which topic, in the order that all assignors share; drops unknown topics. Pure."""

from collections.abc import Mapping

from kcli.core.group.consumer_protocol import Subscription


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
