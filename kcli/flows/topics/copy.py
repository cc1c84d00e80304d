"""``kcli topics copy``: what a copy of a topic within its cluster is like, and whether a topic that exists can become it.

The records are copied by a mirror job of their own, from the cluster to itself; see ``flows.mirror``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.names import is_own_topic
from kcli.core.types import TopicSpec
from kcli.flows.configs.units import with_unit
from kcli.flows.configs.values import list_words
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.topics.configs import CLEANUP
from kcli.flows.mirror.topics.preflight import Finding
from kcli.flows.mirror.topics.routes import Route
from kcli.flows.topics.create import differences, further_settings, model
from kcli.output.progress import counted

_OF_TIMES = "message.timestamp."
"""Begins the keys that could replace the times of copied records, or refuse old ones."""


class Pair(NamedTuple):
    """A topic and its copy. ``own`` is set on the topic itself, ``given`` are the values of ``--config``; ``copy`` and
    ``entries`` are the topic that has the name of the copy and its configuration, None where there is none.
    """

    source: str
    target: str
    topic: TopicInfo
    own: Mapping[str, str]
    given: Mapping[str, str]
    copy: TopicInfo | None
    entries: list[ConfigEntry] | None

    @property
    def job(self) -> str:
        """The name of the mirror job: a colon is in no topic's name."""
        return f"copy:{self.source}:{self.target}"

    @property
    def settings(self) -> dict[str, str]:
        """What is set on the copy: all that the topic has, but what replaces times of records, or refuses old ones."""
        kept = {key: value for key, value in self.own.items() if not key.startswith(_OF_TIMES)}
        return kept | dict(self.given)

    @property
    def written(self) -> dict[str, str]:
        """What is set before the copy begins: on a topic that exists, what was given."""
        return self.settings if self.copy is None else dict(self.given)


def look(admin: Admin, source: str, target: str, given: Mapping[str, str]) -> Pair:
    """Reads the two topics. NotFoundError without the first; ConfigError for one whose records mean nothing elsewhere."""
    topic, own = model(admin, source)
    if topic.internal or is_own_topic(source):
        raise ConfigError(
            f"topic {source} is not copied",
            why="brokers, or kcli, keep their state in it, which has no meaning in another topic",
            do="`kcli topics copy --settings-only` makes an empty topic with its settings",
        )
    copy = admin.describe_topics([target])[target]
    if isinstance(copy, NotFoundError):
        return Pair(source, target, topic, own, given, None, None)
    if isinstance(copy, KcliError):
        raise copy
    entries = admin.describe_topic_configs([target])[target]
    if isinstance(entries, KcliError):
        raise entries
    return Pair(source, target, topic, own, given, copy, entries)


def misfits(pair: Pair, plan: CopyPlan) -> list[Finding]:
    """Why a topic of the copy's name, which is not of this copy, cannot become equal to the source."""
    if pair.copy is None or plan.own.get(pair.source) == pair.target:
        return []
    route = Route(pair.source, pair.target)
    do = f"choose another name for the copy; or delete topic {pair.target}, if nobody needs it"
    found = []
    if plan.ends.has_records(pair.target):
        found.append(Finding(route, "the target has records already, which are not of this copy", do))
    # Keys of times are the mirror's to judge: equal ones may be fit for the source, and not for a copy of it.
    entries = [
        one for one in pair.entries or () if not (one.name in pair.given or one.name.startswith(_OF_TIMES))
    ]
    settings = {key: value for key, value in pair.settings.items() if key not in pair.given}
    wanted = TopicSpec(pair.target, len(pair.topic.partitions), -1, settings)
    differs = [*differences(wanted, pair.copy, entries), *further_settings(settings, entries)]
    return [*found, *(Finding(route, f"the target has other settings: {one}", do) for one in differs)]


def remarks(pair: Pair, plan: CopyPlan) -> Iterator[str]:
    """What the plan says beside its topics: the settings of the copy, and which records it gets."""
    values = pair.settings if pair.copy is None else pair.given
    replicas = [
        counted(spec.replication_factor, "replica")
        for spec in plan.found.findings.create
        if spec.replication_factor > 0
    ]
    if parts := [*replicas, *(f"{key}={with_unit(key, value)}" for key, value in values.items())]:
        yield f"  {pair.target}: {', '.join(parts)}"
    left = [key for key in pair.own if key.startswith(_OF_TIMES) and key not in pair.given]
    if left:
        yield (
            f"  not set on {pair.target}: {', '.join(left)}, which could replace the times of records, or refuse old ones"
        )
    in_force = plan.found.sources[pair.source].configs
    if "compact" in list_words(in_force.get(CLEANUP)):
        yield (
            f"  {pair.source} is compacted: what its log has now is copied; records that were removed, because a later one "
            "has their key, are not"
        )
    yield (
        "  records have other offsets in the copy: transactions that were aborted are left out, and each transaction of "
        "the copy takes an offset"
    )


def rephrased(remedy: str, pair: Pair, cluster: str, options: Sequence[str]) -> str:
    """A remedy of the mirror for the user of ``topics copy``: which job, and the line that has the options which
    ``topics copy`` lacks (all but ``options``). ``cluster``: as ``--from`` names it.
    """
    both = f"--from {cluster} --to {cluster} --job {pair.job}"
    named = remedy.replace("--from HOST:PORT --to HOST:PORT", both)
    words = {word.strip("`,.;:()") for word in remedy.split()}
    lacks = {word for word in words if word.startswith("--") and word not in options}
    if named != remedy or not lacks or "`kcli " in remedy:
        return named
    line = f"kcli mirror {both} -t {pair.source} --map-topic {pair.source}={pair.target} --exactly-once"
    return f"{named}; {', '.join(sorted(lacks))}: with `{line}`, which continues this copy"
