"""What a change of levels forbids afterwards, and whether there is a way back. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.core.admin.feature_levels import (
    KRAFT_VERSION,
    METADATA_VERSION,
    first_release,
    lowest_return,
    metadata_name,
)

_ALLOWS = {
    (
        "eligible.leader.replicas.version",
        1,
    ): "min.insync.replicas is set for the whole cluster: values of single brokers "
    "are removed, and can no longer be set",
    ("group.version", 1): "consumers may use the new protocol of groups (KIP-848)",
    (
        KRAFT_VERSION,
        1,
    ): "the voters are kept in the metadata log: controller.quorum.voters means nothing any more",
    ("share.version", 1): "share groups can be used (KIP-932)",
    ("streams.version", 1): "streams groups can be used (KIP-1071)",
    ("transaction.version", 2): "each transaction has an epoch of its own (KIP-890)",
}
_TAKEN = {
    "group.version": "groups of the new protocol (KIP-848) can no longer be used: convert or stop them first",
    "share.version": "share groups can no longer be used: stop them first",
    "streams.version": "streams groups can no longer be used: stop them first",
}


def can_return(feature: str, before: int, after: int) -> bool:
    """Whether a change can be taken back later, as far as Kafka 4.4 does so. A downgrade always can."""
    if after <= before:
        return True
    if feature == KRAFT_VERSION:
        return False
    return feature != METADATA_VERSION or lowest_return(after) <= before


def consequences(feature: str, before: int, after: int) -> Iterator[str]:
    """What is said of a change in its plan."""
    if after < before:
        if after == 0 and feature in _TAKEN:
            yield _TAKEN[feature]
        return
    for level in range(before + 1, after + 1):
        if (feature, level) in _ALLOWS:
            yield _ALLOWS[feature, level]
    if (release := first_release(feature, after)) is not None:
        yield f"brokers and controllers before Kafka {release} can no longer join"
    if not can_return(feature, before, after):
        if feature == METADATA_VERSION:
            lowest = lowest_return(after)
            name = metadata_name(lowest)
            yield (
                "there is no way back: the records of the metadata change with it"
                if lowest == after
                else f"there is no way back below {name}, with which the records of the metadata change"
            )
        else:
            yield "there is no way back"
