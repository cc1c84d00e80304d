"""What the levels of features mean: releases of Kafka, and what each needs. Tables of Apache Kafka 4.4. Pure."""

from __future__ import annotations

from collections.abc import Mapping

METADATA_VERSION, KRAFT_VERSION = "metadata.version", "kraft.version"

_METADATA_VERSIONS = (
    (1, "3.0-IV1", True), (2, "3.1-IV0", False), (3, "3.2-IV0", True), (4, "3.3-IV0", False), (5, "3.3-IV1", True),
    (6, "3.3-IV2", True), (7, "3.3-IV3", True), (8, "3.4-IV0", True), (9, "3.5-IV0", False), (10, "3.5-IV1", False),
    (11, "3.5-IV2", True), (12, "3.6-IV0", False), (13, "3.6-IV1", True), (14, "3.6-IV2", True), (15, "3.7-IV0", True),
    (16, "3.7-IV1", False), (17, "3.7-IV2", True), (18, "3.7-IV3", False), (19, "3.7-IV4", False),
    (20, "3.8-IV0", False), (21, "3.9-IV0", False), (22, "4.0-IV0", False), (23, "4.0-IV1", True),
    (24, "4.0-IV2", False), (25, "4.0-IV3", False), (26, "4.1-IV0", False), (27, "4.1-IV1", False),
    (28, "4.2-IV0", False), (29, "4.2-IV1", False), (30, "4.3-IV0", True), (31, "4.4-IV0", False),
    (32, "4.4-IV1", True), (33, "4.4-IV2", True),
)  # fmt: skip
"""The levels of metadata.version, with their names, and whether the records of metadata changed with them
(org.apache.kafka.server.common.MetadataVersion): where they did, controllers refuse to go back.
"""
_NAMES = {level: name for level, name, _changed in _METADATA_VERSIONS}
_LEVELS = {name: level for level, name in _NAMES.items()}
_CHANGED = frozenset(level for level, _name, changed in _METADATA_VERSIONS if changed)

_SINCE: Mapping[str, tuple[tuple[int, int], ...]] = {
    "eligible.leader.replicas.version": ((1, 26),),
    "group.version": ((1, 22),),
    KRAFT_VERSION: ((1, 21),),
    "share.version": ((1, 28), (2, 31)),
    "streams.version": ((1, 29),),
    "transaction.version": ((1, 24), (2, 24)),
}
"""Each level of the other features, with the metadata.version of the release in which it is the default
(org.apache.kafka.server.common.Feature).
"""


def release_of(level: int) -> str | None:
    """The release of Kafka with this level of metadata.version, such as ``4.3``; None if it is not known."""
    name = _NAMES.get(level)
    return None if name is None else name.partition("-")[0]


def metadata_name(level: int) -> str | None:
    """``4.3-IV0`` of 30; None for a level that is not known."""
    return _NAMES.get(level)


def metadata_level(text: str) -> int:
    """The level of ``4.3-IV0``, of ``4.3`` (the last one of the release) or of ``30``. ValueError with the reason."""
    if text.isascii() and text.isdecimal():
        return int(text)
    release = text.removeprefix("v")
    found = _LEVELS.get(release) or next(
        (level for level in reversed(_NAMES) if release_of(level) == release), None
    )
    if found is None:
        last = max(_NAMES)
        raise ValueError(
            f"{text!r} is neither a level nor a name such as {_NAMES[last]} or {release_of(last)}"
        )
    return found


def levels_of_release(release: str) -> dict[str, int]:
    """The levels of all features that a cluster formatted by this release has. ValueError as ``metadata_level``."""
    level = metadata_level(release)
    return {METADATA_VERSION: level} | {feature: default_level(feature, level) for feature in _SINCE}


def default_level(feature: str, metadata: int) -> int:
    """The level of a feature that belongs to this level of metadata.version; 0 of one that is not known."""
    return max((level for level, since in _SINCE.get(feature, ()) if since <= metadata), default=0)


def first_release(feature: str, level: int) -> str | None:
    """The release in which a level is the default; older ones may not know it. None if that is not known."""
    if feature == METADATA_VERSION:
        return release_of(level)
    since = dict(_SINCE.get(feature, ())).get(level)
    return None if since is None else release_of(since)


def lowest_return(level: int) -> int:
    """The lowest level of metadata.version that controllers go back to from this one: what is below has other records."""
    while level not in _CHANGED and level - 1 in _NAMES:
        level -= 1
    return level
