"""The throttle of a reassignment, set where ``kafka-reassign-partitions.sh`` sets it, and removed again.

A rate on every broker that sends or receives, and on the topics which replicas it applies to. What was set already is
kept: only what was set here, which the journal of the reassignment holds, is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.core.clock import monotonic
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.configs.values import list_words
from kcli.flows.read_back import VISIBLE_WITHIN, ReadBackError
from kcli.flows.reassign.moves import Move

LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
_RATES = (LEADER_RATE, FOLLOWER_RATE)
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
"""Of moves between the log directories of a broker."""
_EVERY = "*"
_REMOVES = "`kcli reassign status` removes what is left of it when nothing is being moved"
_PAUSE = 0.05


class ThrottleError(KcliError):
    """A throttle could not be set or removed."""


class Throttle(msgspec.Struct):
    """What is set: ``rate`` in bytes a second by broker and key, ``partition:broker`` by topic and key."""

    rate: int
    brokers: dict[int, list[str]] = {}
    topics: dict[str, dict[str, list[str]]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is set."""
        return not any(self.brokers.values()) and not any(
            words for keys in self.topics.values() for words in keys.values()
        )


def planned_throttle(moves: Iterable[Move], rate: int) -> Throttle:
    """The throttle of these moves: on leaders among the present replicas, on followers among the new ones."""
    throttle = Throttle(rate)
    for move in moves:
        if not move.adding:
            continue
        keys = throttle.topics.setdefault(move.tp.topic, {LEADER_REPLICAS: [], FOLLOWER_REPLICAS: []})
        keys[LEADER_REPLICAS] += [f"{move.tp.partition}:{number}" for number in move.old]
        keys[FOLLOWER_REPLICAS] += [f"{move.tp.partition}:{number}" for number in move.adding]
        for number in (*move.old, *move.adding):
            throttle.brokers[number] = list(_RATES)
    return throttle


def without_existing(admin: Admin, throttle: Throttle, live: Collection[int]) -> tuple[Throttle, list[str]]:
    """The part of the throttle that is not set already, and what is kept, in words. Dead brokers have none."""
    own, kept = Throttle(throttle.rate), []
    found = _described(admin, [*_brokers(set(throttle.brokers) & set(live)), *_topics(throttle.topics)])
    for number, keys in throttle.brokers.items():
        values = found.get(_broker(number), {})
        for key in keys:
            if key in values:
                kept.append(f"broker {number} has {key}={values[key]} already")
            elif number in live:
                own.brokers.setdefault(number, []).append(key)
    for name, by_key in throttle.topics.items():
        values = found.get(_topic(name), {})
        for key, words in by_key.items():
            there = list_words(values.get(key))
            missing = [] if _EVERY in there else [word for word in words if word not in there]
            if len(missing) < len(words):
                kept.append(f"topic {name} has {key}={values.get(key)} already")
            if missing:
                own.topics.setdefault(name, {})[key] = missing
    return own, kept


def set_throttle(admin: Admin, throttle: Throttle) -> None:
    """Sets it; the first error is raised, and what was set then has to be removed."""
    changes: dict[ConfigResource, list[ConfigChange]] = {
        _broker(number): [ConfigChange(key, str(throttle.rate)) for key in keys]
        for number, keys in throttle.brokers.items()
    }
    for name, by_key in throttle.topics.items():
        changes[_topic(name)] = [
            ConfigChange(key, ",".join(words), ConfigOp.APPEND) for key, words in by_key.items()
        ]
    for error in (admin.alter_configs(changes) if changes else {}).values():
        if error is not None:
            raise error
    _wait(admin, lambda found: _all_set(throttle, found), throttle)


def remove_throttle(admin: Admin, throttle: Throttle, *, rates: bool) -> tuple[list[str], bool]:
    """Removes what is set; ``rates``: from the brokers, too. Returns what is kept, in words, and whether nothing is left.

    Kept are values that others have changed since; brokers that are not alive keep theirs. ThrottleError if something
    could not be removed.
    """
    brokers = throttle.brokers if rates else {}
    live = set(admin.connect().nodes)
    found = _described(admin, [*_brokers(set(brokers) & live), *_topics(throttle.topics)])
    dead = sorted(set(brokers) - live)
    kept = [f"broker {number} is not alive, its throttle is removed when it is" for number in dead]
    changes: dict[ConfigResource, list[ConfigChange]] = {}
    for number, keys in brokers.items():
        values = found.get(_broker(number), {})
        for key in keys:
            if values.get(key) == str(throttle.rate):
                changes.setdefault(_broker(number), []).append(ConfigChange(key, None, ConfigOp.DELETE))
            elif key in values:
                kept.append(
                    f"broker {number} has {key}={values[key]}, which was not set by this reassignment"
                )
    for name, by_key in throttle.topics.items():
        values = found.get(_topic(name), {})
        for key, words in by_key.items():
            there = list_words(values.get(key))
            left = [word for word in there if word not in words]
            if there and not left:
                changes.setdefault(_topic(name), []).append(ConfigChange(key, None, ConfigOp.DELETE))
            elif len(left) < len(there):
                gone = ConfigChange(key, ",".join(words), ConfigOp.SUBTRACT)
                changes.setdefault(_topic(name), []).append(gone)
    for resource, error in (admin.alter_configs(changes) if changes else {}).items():
        if error is not None:
            raise ThrottleError(
                f"the throttle of {resource} was not removed",
                why=str(error),
                do=error.do or _REMOVES,
            )
    _wait(admin, lambda found: _none_set(throttle, found, rates=rates), throttle)
    return kept, rates and not dead


Values = Mapping[ConfigResource, Mapping[str, str]]


def _wait(admin: Admin, visible: Callable[[Values], bool], throttle: Throttle) -> None:
    """Reads back until brokers show the change."""
    until = monotonic() + VISIBLE_WITHIN
    live = set(admin.connect().nodes)
    resources = [*_brokers(set(throttle.brokers) & live), *_topics(throttle.topics)]
    while resources and not visible(_described(admin, resources)):
        if monotonic() >= until:
            raise ReadBackError(
                "the throttle was changed, but brokers do not show it",
                why=f"it was waited for {VISIBLE_WITHIN:.0f} s",
                do=_REMOVES,
            )
        admin.cluster.sleep(_PAUSE)


def _all_set(throttle: Throttle, found: Values) -> bool:
    return all(
        key in found.get(_broker(number), {}) for number, keys in throttle.brokers.items() for key in keys
    ) and all(
        set(words) <= set(list_words(found.get(_topic(name), {}).get(key)))
        for name, by_key in throttle.topics.items()
        for key, words in by_key.items()
    )


def _none_set(throttle: Throttle, found: Values, *, rates: bool) -> bool:
    return not any(
        rates and found.get(_broker(number), {}).get(key) == str(throttle.rate)
        for number, keys in throttle.brokers.items()
        for key in keys
    ) and not any(
        set(words) & set(list_words(found.get(_topic(name), {}).get(key)))
        for name, by_key in throttle.topics.items()
        for key, words in by_key.items()
    )


def _described(admin: Admin, resources: Sequence[ConfigResource]) -> dict[ConfigResource, dict[str, str]]:
    """The values that are set on the resources themselves. A topic or broker that is gone has none."""
    found: dict[ConfigResource, dict[str, str]] = {}
    for resource, entries in (admin.describe_configs(resources) if resources else {}).items():
        if isinstance(entries, NotFoundError):
            continue
        if isinstance(entries, KcliError):
            raise entries
        found[resource] = {entry.name: entry.value or "" for entry in entries if _is_own(resource, entry)}
    return found


def _is_own(resource: ConfigResource, entry: ConfigEntry) -> bool:
    if resource.kind is ConfigKind.BROKER:
        if entry.name == LOG_DIRS_RATE:
            return not entry.is_default
        return entry.name in _RATES and entry.value is not None
    return entry.name in (LEADER_REPLICAS, FOLLOWER_REPLICAS) and not entry.is_default


def _broker(number: int) -> ConfigResource:
    return ConfigResource(ConfigKind.BROKER, str(number))


def _topic(name: str) -> ConfigResource:
    return ConfigResource(ConfigKind.TOPIC, name)


def _brokers(numbers: Iterable[int]) -> list[ConfigResource]:
    return [_broker(number) for number in sorted(numbers)]


def _topics(names: Iterable[str]) -> list[ConfigResource]:
    return [_topic(name) for name in sorted(names)]
