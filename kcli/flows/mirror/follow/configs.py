"""Changes of the source's topic configurations while a job runs: they are made on the target, or only said.

A change that the target refuses is reported once; one that may succeed later is tried again at the next look.
"""

from collections.abc import Callable, Mapping

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigOp, ConfigResource
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError
from kcli.flows.mirror.copy.errors import may_pass
from kcli.flows.mirror.topics.configs import ConfigSync, Values, differences, followed_changes
from kcli.flows.mirror.topics.survey import Survey, configs_of

_AT_ONCE = 100
"""Topics of a look: all settings of one are 33 values, and nothing is copied meanwhile."""


class ConfigsLook(NamedTuple):
    """What a look found: lines about what was ``made`` on the target, what was ``left`` there, as the mode says or since
    a new topic began with it, and errors of what was refused, or may be made later.
    """

    made: list[str]
    left: list[str]
    refused: list[KcliError]
    delayed: list[KcliError]


class FollowedConfigs:
    """``topics``: what is copied now, from source to target; those that are new are followed from their first look on.
    Many topics are looked at in turn.
    """

    def __init__(
        self,
        source: Admin,
        target: Admin,
        sync: ConfigSync,
        found: Survey,
        topics: Callable[[], Mapping[str, str]],
    ) -> None:
        self._source = source
        self._target = target
        self._sync = sync
        self._topics = topics
        self._next = 0
        self._replicas = {  # of each partition of the target
            source: found.targets[target].replicas
            if target in found.targets
            else min(found.sources[source].replicas, found.brokers)
            for source, target in found.routes
        }
        self._known: dict[str, tuple[Values, Values]] = {
            name: (facts.configs, facts.own) for name, facts in found.sources.items() if facts.configs
        }

    def look(self) -> ConfigsLook:
        """What has changed since the last call. Raises errors that concern all topics."""
        found = ConfigsLook([], [], [], [])
        topics = self._in_turn()
        described = self._source.describe_topic_configs(list(topics)) if topics else {}
        now = {name: configs_of(one) for name, one in described.items() if not isinstance(one, KcliError)}
        changed = [name for name, values in now.items() if self._known.get(name) != values]
        targets = self._target.describe_topic_configs([topics[name] for name in changed]) if changed else {}
        for name in changed:
            there = targets[topics[name]]
            values: Values = {} if isinstance(there, KcliError) else configs_of(there)[0]
            if name not in self._known:
                self._known[name] = now[name]
                found.left.extend(_losses(name, topics[name], now[name][0], values))
                continue
            changes = followed_changes(
                self._sync, self._known[name], now[name], values, self._replicas.get(name, 0)
            )
            if not changes or self._follow(name, topics[name], changes, found):
                self._known[name] = now[name]
        return found

    def _in_turn(self) -> dict[str, str]:
        """The topics of this look."""
        topics = sorted(self._topics().items())
        start = self._next if self._next < len(topics) else 0
        self._next = start + _AT_ONCE
        return dict(topics[start : self._next])

    def _follow(
        self, source: str, target: str, changes: Mapping[str, str | None], found: ConfigsLook
    ) -> bool:
        """Whether that is all: False where it may be done later."""
        words = ", ".join(
            f"{key} is not set any more" if value is None else f"{key}={value}"
            for key, value in changes.items()
        )
        if self._sync.mode == "off":
            found.left.append(
                f"{source} of the source has changed, {target} has not (--sync-configs off): {words}"
            )
            return True
        resource = ConfigResource(ConfigKind.TOPIC, target)
        wanted = [
            ConfigChange(key, value, ConfigOp.DELETE if value is None else ConfigOp.SET)
            for key, value in changes.items()
        ]
        error = self._target.alter_configs({resource: wanted})[resource]
        if error is None:
            found.made.append(f"{source} → {target}: changed as on the source: {words}")
        elif may_pass(error):
            found.delayed.append(error)
            return False
        else:
            what = f"topic {target} of the target cannot be changed as {source} was: {words}"
            found.refused.append(KcliError(what, why=error.why, do=error.do))
        return True


def _losses(source: str, target: str, here: Values, there: Values) -> list[str]:
    """What a topic that was found while the job runs loses: the plan could not say it."""
    return [
        f"{source} → {target}: {one.effect} ({one.key}={one.target_value}, on the source {one.source_value})"
        for one in differences((source, target), here, there, {})
        if one.loses
    ]
