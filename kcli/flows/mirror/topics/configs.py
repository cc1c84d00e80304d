"""The configuration of a copy beside that of its source: what is written to the target, and what the values that are in
force on both sides do to the records where they differ. Pure.

In force is what brokers act on, wherever it is set: on the topic, for all brokers, in a broker's file, or nowhere (the
default of its version). A topic that nobody configured differs as soon as its brokers do.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kcli.core.classes import NamedTuple
from kcli.output.progress import size_text, time_span_text

Values = Mapping[str, str]

CLEANUP, RETENTION_MS, RETENTION_BYTES = "cleanup.policy", "retention.ms", "retention.bytes"
BATCH_BYTES, TIMESTAMPS, IN_SYNC = "max.message.bytes", "message.timestamp.type", "min.insync.replicas"
AHEAD, BEHIND = "message.timestamp.after.max.ms", "message.timestamp.before.max.ms"
EITHER_WAY = "message.timestamp.difference.max.ms"
"""The limit of brokers before 3.6 (KIP-937), to both sides."""
APPENDED = "LogAppendTime"

_NOT_COPIED = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.downconversion.enable",
        "message.format.version",
        TIMESTAMPS,
        EITHER_WAY,
        AHEAD,
        BEHIND,
        IN_SYNC,
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "local.retention.bytes",
        "local.retention.ms",
        "max.decompressed.message.bytes",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
        "unclean.leader.election.enable",
    }
)
"""Settings of one cluster, those that only old brokers have, and limits that could refuse what the source accepted."""

_NEWER = {
    "compression.gzip.level": ("compression.gzip.level", ""),
    "compression.lz4.level": ("compression.lz4.level", ""),
    "compression.zstd.level": ("compression.zstd.level", ""),
    "errors.deadletterqueue.group.enable": ("errors.deadletterqueue.topic.name.prefix", "false"),
}
"""Settings that older brokers lack (since 3.8, KIP-390, and 4.4, KIP-1191): the key of a broker's configuration that came
with each, and the default where that key has not its value.
"""

_ALWAYS_COPIED = (CLEANUP, BATCH_BYTES)
_AHEAD_DEFAULT = 3_600_000
_LIMITS = (AHEAD, BEHIND)
_NEVER = 1 << 62  # ms, bytes: as good as no limit

_OF_BROKERS: Mapping[str, tuple[tuple[str, int], ...]] = {
    CLEANUP: (("log.cleanup.policy", 0),),
    RETENTION_MS: (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    RETENTION_BYTES: (("log.retention.bytes", 0),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 0),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 0),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 0),),
    BATCH_BYTES: (("message.max.bytes", 0),),
    TIMESTAMPS: (("log.message.timestamp.type", 0),),
    BEHIND: (("log.message.timestamp.before.max.ms", 0),),
    AHEAD: (("log.message.timestamp.after.max.ms", 0),),
    EITHER_WAY: (("log.message.timestamp.difference.max.ms", 0),),
    IN_SYNC: ((IN_SYNC, 0),),
    "compression.type": (("compression.type", 0),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", 3_600_000)),
    "segment.bytes": (("log.segment.bytes", 0),),
}  # fmt: skip
"""Where brokers have the value of a topic that does not set it: the first key that is set, and its unit in ms."""


class ConfigSync(NamedTuple):
    """``mode``: what of the source's configuration is written (``--sync-configs``); ``given`` are the values of
    ``--config``, which go before it.
    """

    mode: str = "topic"
    given: Values = MappingProxyType({})


class Difference(NamedTuple):
    """A setting whose value in force is another one on the target. ``loses``: the target removes or refuses what the
    source keeps. ``is_set``: the source's value, or that of ``--config``, is written to the target before the copy.
    """

    source: str
    target: str
    key: str
    source_value: str
    target_value: str
    effect: str
    loses: bool = False
    is_set: bool = False


def values_of_new_topics(broker: Values) -> dict[str, str]:
    """The values in force of a topic that sets nothing, by its keys. ``broker``: the configuration of a broker."""
    found = {}
    for key, places in _OF_BROKERS.items():
        for name, unit in places:
            if name in broker:
                value = broker[name]
                found[key] = str(int(value) * unit) if unit > 1 and int(value) > 0 else value
                break
    for key, (name, default) in _NEWER.items():
        if name in broker:
            found[key] = default or broker[name]
    return found


def written_to_new(
    sync: ConfigSync, source: Values, own: Values, defaults: Values, replicas: int
) -> dict[str, str]:
    """The configuration of a topic that is created as a copy. ``own``: what is set on the source topic itself;
    ``defaults``: see ``values_of_new_topics``; ``replicas``: of each partition.
    """
    copied = {} if sync.mode == "off" else _carried(own, defaults)
    copied |= {key: source[key] for key in _ALWAYS_COPIED if key in source}
    if AHEAD in own and limit(own, AHEAD) > _AHEAD_DEFAULT and (AHEAD in defaults or not defaults):
        copied[AHEAD] = own[AHEAD]  # its records may be further in the future than others accept
    if defaults.get(TIMESTAMPS) == APPENDED:
        copied[TIMESTAMPS] = "CreateTime"  # readers of the copy see the times of the source
    if sync.mode == "effective":
        copied |= _effective(source, {**defaults, **copied}, replicas)
    return copied | dict(sync.given)


def written_to_existing(
    sync: ConfigSync, source: Values, own: Values, target: Values, replicas: int
) -> dict[str, str]:
    """What is changed on a target topic before the copy; ``target``: the values in force there."""
    wanted: dict[str, str] = {}
    if sync.mode == "effective":
        wanted = _carried(own, target) | _effective(source, target, replicas)
    wanted |= dict(sync.given)
    return {key: value for key, value in wanted.items() if not _same(target.get(key), value)}


def followed_changes(
    sync: ConfigSync, before: tuple[Values, Values], now: tuple[Values, Values], target: Values, replicas: int
) -> dict[str, str | None]:
    """What is changed on the target because the source was: ``before`` and ``now`` are its values in force, and those
    set on the topic itself. None: the key was unset there, and is unset on the target.

    With the mode ``off`` these are the changes that are not followed.
    """
    (old, old_own), (new, own) = before, now
    found: dict[str, str | None] = {
        key: own.get(key)
        for key in sorted(old_own.keys() | own.keys())
        if not _is_left(key, target) and old_own.get(key) != own.get(key)
    }
    if sync.mode == "effective":
        changed = {key for key in _EFFECTS if old.get(key) != new.get(key)}
        found |= {key: new[key] for key, value in found.items() if value is None and key in new}
        found |= {key: value for key, value in _effective(new, target, replicas).items() if key in changed}
    return {key: value for key, value in found.items() if key not in sync.given}


def _carried(own: Values, target: Values) -> dict[str, str]:
    return {key: value for key, value in own.items() if not _is_left(key, target)}


def _is_left(key: str, target: Values) -> bool:
    """Whether a setting is not carried over; ``target``: the values in force there, empty where they are not known."""
    return key in _NOT_COPIED or (key in _NEWER and bool(target) and key not in target)


def _effective(source: Values, target: Values, replicas: int) -> dict[str, str]:
    """The source's values of what differs. Not a limit that refuses more than the target's does, nor one that the target
    cannot fulfil: more replicas in sync than there are; and times are always those of the source.
    """
    found = {}
    for key in _EFFECTS:
        here, there = _value(source, key), target.get(key)
        if key == TIMESTAMPS or here is None or there is None or _same(there, here):
            continue
        if (key == IN_SYNC and _parsed(here, 0) > replicas) or (
            key in _LIMITS and limit(source, key) <= limit(target, key)
        ):
            continue
        found[key] = here
    return found


def own_settings_left(own: Values, target: Values) -> list[str]:
    """Keys set on the source topic itself that are not carried over, and have another value on the target."""
    return sorted(key for key in own if _is_left(key, target) and not _same(target.get(key), own[key]))


def differences(route: tuple[str, str], source: Values, target: Values, written: Values) -> list[Difference]:
    """What differs of the values in force. ``written`` are those that the target gets before the copy."""
    found = []
    for key, effect_of in _EFFECTS.items():
        here, there, new = _value(source, key), target.get(key), written.get(key)
        if here is None or there is None:
            continue
        after = there if new is None else new
        what, loses = (None if _same(here, after) else effect_of(source, {**target, **written})) or (
            "",
            False,
        )
        if new is not None:
            from kcli.flows.configs.units import with_unit  # with decimals: only where settings are written

            text = f"{key} is set to {with_unit(key, new)}" + (f": {what}" if what else "")
            found.append(Difference(*route, key, here, there, text, loses, is_set=True))
        elif what:
            found.append(Difference(*route, key, here, there, what, loses))
    return found


# --- what a difference does to the records ---------------------------------------------------------------

Effect = tuple[str, bool] | None


def policies(values: Values) -> frozenset[str]:
    """The ways in which records are removed; empty where they are not known."""
    return frozenset(filter(None, values.get(CLEANUP, "").split(",")))


def kept(values: Values, key: str) -> float:
    """How long records are kept (``retention.ms``, in ms), or how much of a partition (``retention.bytes``); inf without
    a limit, as where the policy is compaction alone.
    """
    if "delete" not in policies(values):
        return math.inf
    most = number(values, key, -1)
    return math.inf if most < 0 or most >= _NEVER else most


def limit(values: Values, key: str) -> float:
    """How far a timestamp may be from the time of the broker (``AHEAD``, ``BEHIND``), in ms."""
    most = _parsed(_value(values, key), _NEVER)
    return math.inf if most >= _NEVER else most


def number(values: Values, key: str, unknown: int) -> int:
    """The value of a key, ``unknown`` where it is none or no number."""
    return _parsed(values.get(key), unknown)


def time_text(ms: float) -> str:
    """``7d``, ``3m20s``; ``ever`` without a limit."""
    return "ever" if math.isinf(ms) else time_span_text(int(ms))


def _retention(source: Values, target: Values) -> Effect:
    here, there = kept(source, RETENTION_MS), kept(target, RETENTION_MS)
    if here == there:
        return None
    if there < here:
        what = f"the target deletes records older than {time_text(there)}, the source keeps them for {time_text(here)}"
        return what, True
    return f"the target keeps records for {time_text(there)}, the source for {time_text(here)}", False


def _retained_bytes(source: Values, target: Values) -> Effect:
    here, there = kept(source, RETENTION_BYTES), kept(target, RETENTION_BYTES)
    if here == there:
        return None
    texts = ["all" if math.isinf(one) else size_text(one) for one in (there, here)]
    return f"the target keeps {texts[0]} of a partition, the source {texts[1]}", there < here


def _policy(source: Values, target: Values) -> Effect:
    more = bool(policies(target) - policies(source))
    word = "removes records that the source keeps" if more else "keeps records that the source removes"
    return f"the target {word}", more


def _largest(source: Values, target: Values) -> Effect:
    here, there = (number(one, BATCH_BYTES, 0) for one in (source, target))
    if there < here:
        return "the target refuses batches that the source accepts", True
    return "the target accepts larger batches than the source", False


def _times(_source: Values, target: Values) -> Effect:
    if target[TIMESTAMPS] == APPENDED:
        return "the target replaces timestamps", True
    return "the copy keeps the times that readers of the source see", False


def _too_far(key: str, word: str) -> Callable[[Values, Values], Effect]:
    def effect(source: Values, target: Values) -> Effect:
        here, there = limit(source, key), limit(target, key)
        what = f"the target accepts times of up to {time_text(there)} {word} its own, the source {time_text(here)}"
        return what, there < here

    return effect


def _compression(_source: Values, target: Values) -> Effect:
    codec = target["compression.type"]
    if codec == "producer":
        return "the copy keeps the compression of the source's batches", False
    return f"the target's brokers compress again, with {codec}", False


def _in_words(key: str, text: str, show: Callable[[float], str]) -> Callable[[Values, Values], Effect]:
    def effect(source: Values, target: Values) -> Effect:
        here, there = (number(one, key, -1) for one in (source, target))
        if min(here, there) < 0:  # a value that the target will refuse
            return None
        return text.format(
            show(math.inf if there >= _NEVER else there), show(math.inf if here >= _NEVER else here)
        ), False

    return effect


def _of_compaction(effect: Callable[[Values, Values], Effect]) -> Callable[[Values, Values], Effect]:
    return lambda source, target: effect(source, target) if "compact" in policies(target) else None


_EFFECTS: Mapping[str, Callable[[Values, Values], Effect]] = {
    CLEANUP: _policy,
    RETENTION_MS: _retention,
    RETENTION_BYTES: _retained_bytes,
    BATCH_BYTES: _largest,
    TIMESTAMPS: _times,
    BEHIND: _too_far(BEHIND, "before"),
    AHEAD: _too_far(AHEAD, "after"),
    EITHER_WAY: _too_far(EITHER_WAY, "from"),
    "delete.retention.ms": _of_compaction(
        _in_words("delete.retention.ms", "tombstones stay for {} on the target, for {} on the source", time_text)
    ),
    "min.compaction.lag.ms": _of_compaction(
        _in_words("min.compaction.lag.ms", "records are compacted after {} at the earliest, on the source {}", time_text)
    ),
    "max.compaction.lag.ms": _of_compaction(
        _in_words("max.compaction.lag.ms", "records are compacted after {} at the latest, on the source {}", time_text)
    ),
    IN_SYNC: _in_words(IN_SYNC, "writes to the target need {} replicas in sync, to the source {}", "{:.0f}".format),
    "compression.type": _compression,
    "segment.ms": _in_words(
        "segment.ms", "segments, which are deleted as a whole, last {} on the target, {} on the source", time_text
    ),
    "segment.bytes": _in_words(
        "segment.bytes", "segments, which are deleted as a whole, have {} on the target, {} on the source", size_text
    ),
}  # fmt: skip
"""What is compared, in the order of the plan."""


def _value(values: Values, key: str) -> str | None:
    """Brokers before 3.6 have one limit of timestamps for both."""
    return values.get(key) or (values.get(EITHER_WAY) if key in _LIMITS else None)


def _same(one: str | None, two: str | None) -> bool:
    """Whether two values mean the same: the order of a list says nothing."""
    return one == two or (
        one is not None and two is not None and sorted(one.split(",")) == sorted(two.split(","))
    )


def _parsed(value: str | None, unknown: int) -> int:
    return int(value) if value is not None and value.removeprefix("-").isdecimal() else unknown
