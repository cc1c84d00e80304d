"""``kcli topics copy``: what a copy of a topic within its cluster is like, and whether a topic that exists can become it.

The records are copied by a mirror job of their own, from the cluster to itself; see ``flows.mirror``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.types import TopicSpec
from kcli.flows.configs.units import with_unit
from kcli.flows.configs.values import list_words
from kcli.flows.mirror.job.state import JobId, SavedJob
from kcli.flows.mirror.plan.plan import CopyPlan
from kcli.flows.mirror.topics.configs import CLEANUP
from kcli.flows.mirror.topics.preflight import Finding
from kcli.flows.mirror.topics.routes import Route, is_internal
from kcli.flows.topics.create import Model, differences, further_settings, model
from kcli.output.progress import counted

_OF_TIMES = "message.timestamp."
"""Begins the keys that could replace the times of copied records, or refuse old ones."""


class Pair(NamedTuple):
    """A topic and its copy. ``given`` are the values of ``--config``; ``copy`` and ``entries`` are the topic that has the
    name of the copy and its configuration, None where there is none.
    """

    source: str
    target: str
    like: Model
    given: Mapping[str, str]
    copy: TopicInfo | None = None
    entries: list[ConfigEntry] | None = None

    @property
    def settings(self) -> dict[str, str]:
        """What is set on the copy: all that the topic has, but what replaces times of records, or refuses old ones."""
        kept = {key: value for key, value in self.like.own.items() if not key.startswith(_OF_TIMES)}
        return kept | dict(self.given)

    @property
    def written(self) -> dict[str, str]:
        """What is set before the copy begins: on a topic that exists, what was given."""
        return self.settings if self.copy is None else dict(self.given)


def look(admin: Admin, source: str, target: str, given: Mapping[str, str]) -> Pair:
    """Reads the two topics. NotFoundError without the first; ConfigError where one has state of brokers or of kcli."""
    for name, what in ((source, "is not copied"), (target, "does not become a copy")):
        if is_internal(name):
            raise ConfigError(
                f"topic {name} {what}",
                why="it has the state of brokers, or of kcli, which means nothing in another topic",
                do="choose another topic; `kcli topics list` lists them",
            )
    pair = Pair(source, target, model(admin, source), given)
    copy = admin.describe_topics([target])[target]
    if isinstance(copy, NotFoundError):
        return pair
    if isinstance(copy, KcliError):
        raise copy
    entries = admin.describe_topic_configs([target])[target]
    if isinstance(entries, KcliError):
        raise entries
    return pair._replace(copy=copy, entries=entries)


def job_name(pair: Pair, cluster: str, jobs: Mapping[JobId, SavedJob]) -> str:
    """The name of the mirror job that copies the pair: the one that has begun with these two topics, or a new one where
    either was deleted or created again since. A colon is in no topic's name. Pure.
    """
    first = f"copy:{pair.source}:{pair.target}"
    for name in chain([first], (f"{first}:{number}" for number in count(2))):
        saved = jobs.get(JobId(cluster, name))
        if saved is None or (pair.copy is not None and _is_of(saved, pair.like.topic, pair.copy)):
            return name
    raise AssertionError


def _is_of(saved: SavedJob, topic: TopicInfo, copy: TopicInfo) -> bool:
    """Whether the job copies these very topics; brokers before 2.8 have no ids."""
    return all(
        one.progress.topic_id in ("", topic.topic_id) and one.progress.target_topic_id in ("", copy.topic_id)
        for one in saved.partitions.values()
    )


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
    wanted = TopicSpec(pair.target, len(pair.like.topic.partitions), -1, settings)
    differs = [
        *differences(wanted, pair.copy, entries),
        *further_settings(settings, pair.like.in_force, entries),
    ]
    if differs:
        found.append(Finding(route, f"the target differs: {'; '.join(differs)}", do))
    return found


def remarks(pair: Pair, plan: CopyPlan) -> Iterator[str]:
    """What the plan says beside its topics: the settings of the copy, and which records it gets."""
    values, replicas = dict(pair.written), []
    for spec in plan.found.findings.create:
        values |= spec.configs or {}
        if spec.replication_factor > 0:
            replicas.append(counted(spec.replication_factor, "replica"))
    if parts := [*replicas, *(f"{key}={with_unit(key, value)}" for key, value in values.items())]:
        yield f"  {pair.target}: {', '.join(parts)}"
    left = [key for key in pair.like.own if key.startswith(_OF_TIMES) and key not in pair.given]
    if left:
        yield (
            f"  not set on {pair.target}: {', '.join(left)}, which could replace the times of records, or refuse old ones"
        )
    in_force = plan.found.sources[pair.source].configs
    if "compact" in list_words(in_force.get(CLEANUP)):
        yield (
            f"  {pair.source} is compacted: what its log has now is copied, without the records that were removed "
            "because a later one has their key"
        )
    yield "  offsets are others in the copy: it has no aborted transactions, and those of the copy itself take offsets"


def rephrased(remedy: str, pair: Pair, job: str, cluster: str, options: Sequence[str]) -> str:
    """A remedy of the mirror for the user of ``topics copy``: which job, and the line that has the options which
    ``topics copy`` lacks (all but ``options``). ``cluster``: as ``--from`` names it.
    """
    both = f"--from {cluster} --to {cluster} --job {job}"
    named = remedy.replace("--from HOST:PORT --to HOST:PORT", both)
    words = {word.strip("`,.;:()") for word in remedy.split()}
    lacks = {word for word in words if word.startswith("--") and word not in options}
    if named != remedy or not lacks or "kcli" in words:
        return named
    line = f"kcli mirror {both} -t {pair.source} --map-topic {pair.source}={pair.target} --exactly-once"
    return f"{named}; `{line}` takes {', '.join(sorted(lacks))}, and continues this copy"
