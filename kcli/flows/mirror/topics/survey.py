"""Reads what a mirror must know of both clusters before it copies: topics, configurations, permissions."""

from collections.abc import Collection, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.brokers import ClusterDescription
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.cluster.together import together
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED
from kcli.core.errors import BrokerError, KcliError, NotFoundError
from kcli.flows.mirror.topics.configs import ConfigSync, Values, values_of_new_topics
from kcli.flows.mirror.topics.preflight import HIDDEN, NO_TOPICS, Findings, TopicFacts, check_routes
from kcli.flows.mirror.topics.routes import (
    Rename,
    Route,
    idle_excludes,
    idle_renames,
    idle_selectors,
    is_pattern,
    none_selected,
    plan_routes,
    select_topics,
)

_Target = tuple[ClusterDescription, Mapping[str, TopicInfo]]


class Selection(NamedTuple):
    """What a job copies: selectors of topics, rename rules, whether partitions are chosen by key, and what of the
    configuration is written.

    ``copies`` are topics of the source that were copied from the target: patterns do not select them, nor what
    ``excludes`` selects. ``replicas``: of topics that are created; None: see ``check_routes``.
    """

    selectors: Sequence[str]
    renames: Sequence[Rename]
    by_key: bool = False
    copies: Collection[str] = ()
    configs: ConfigSync = ConfigSync()
    excludes: Sequence[str] = ()
    replicas: int | None = None


class Survey(NamedTuple):
    """Cluster ids, routes and the facts about their topics; ``targets`` lacks the topics that are to be created.

    ``brokers``: of the target. ``unknown``: what of the target could not be read, though the copy does not need it.
    ``idle_selectors`` are patterns that select nothing, ``idle_excludes`` leave out nothing, ``idle_renames`` rename
    nothing. ``gone``: the topics that the job copied and that the source does not have any more, from source to target.
    ``creates_state``: the target lacks the topic with the state of jobs.
    """

    source_cluster: str
    target_cluster: str
    routes: list[Route]
    sources: Mapping[str, TopicFacts]
    targets: Mapping[str, TopicFacts]
    findings: Findings
    brokers: int
    unknown: str = ""
    idle_selectors: Sequence[str] = ()
    idle_excludes: Sequence[str] = ()
    idle_renames: Sequence[str] = ()
    gone: Mapping[str, str] = NO_TOPICS
    creates_state: bool = False


def survey(
    source: Admin, target: Admin, selection: Selection, continues: Mapping[str, str] = NO_TOPICS
) -> Survey:
    """Describes the topics of both clusters and checks all routes. ``continues``: see ``check_routes``.

    NotFoundError if no topic is selected; ConfigError for routes that cannot be; errors of brokers.
    """
    here, target_id, listed, of_target = together(
        [source.cluster, target.cluster],
        [source.describe_cluster, target.cluster_id, source.list_topics, lambda: _target_of(target)],
    )
    same = bool(here.cluster_id) and here.cluster_id == target_id
    available = {topic.name: topic for topic in listed if not topic.internal}
    hidden = _hidden(source, [name for name in selection.selectors if name not in available])
    known = [*available, *hidden]
    # A topic that the job copied, and that was deleted since, is no mistake in the list of topics.
    selectors = [one for one in selection.selectors if one not in continues or one in known]
    missing = [name for name in continues if name not in known]
    gone = select_topics(
        missing,
        [one for one in selection.selectors if one in missing or is_pattern(one)],
        selection.copies,
        selection.excludes,
    )
    chosen = select_topics(known, selectors, selection.copies, selection.excludes)
    if gone and not chosen:
        raise NotFoundError(
            f"{'topic' if len(gone) == 1 else 'topics'} {', '.join(gone)} of the source "
            f"{'was' if len(gone) == 1 else 'were'} deleted",
            why="the job copied what was there, and no other topic is selected",
            do="check -t, --exclude and --from; the copies on the target remain",
        )
    if not chosen:
        raise none_selected(len(available))
    routes = plan_routes(chosen, selection.renames, same_cluster=same)
    sources = dict.fromkeys(hidden, HIDDEN)
    sources |= _facts(source, {name: available[name] for name in chosen if name in available})
    found = survey_target(
        here.cluster_id,
        target,
        routes,
        sources,
        continues,
        by_key=selection.by_key,
        sync=selection.configs,
        replicas=selection.replicas,
        of_target=of_target,
    )
    return found._replace(
        idle_selectors=idle_selectors([*chosen, *gone], selectors),
        idle_excludes=idle_excludes(known, selection.excludes),
        idle_renames=idle_renames([*chosen, *gone], selection.renames),
        gone={name: continues[name] for name in gone},
    )


def survey_target(
    source_cluster: str,
    target: Admin,
    routes: list[Route],
    sources: Mapping[str, TopicFacts],
    continues: Mapping[str, str] = NO_TOPICS,
    *,
    by_key: bool,
    sync: ConfigSync = ConfigSync(),  # noqa: B008 - it does not change
    replicas: int | None = None,
    of_target: _Target | None = None,
) -> Survey:
    """Describes the topics of the target and checks all routes, with what is known of the ``sources``. ``of_target``:
    what was just read of it.
    """
    there, existing = _target_of(target) if of_target is None else of_target
    wanted = {route.target: existing[route.target] for route in routes if route.target in existing}
    new = [route.target for route in routes if route.target not in existing]
    targets, defaults, new_operations = target.together(
        lambda: _facts(target, wanted),
        lambda: _defaults(target, there.brokers[0].node.id) if new and there.brokers else {},
        lambda: target.topic_operations(new, missing_too=True),
    )
    findings = check_routes(
        routes,
        sources,
        targets,
        by_key=by_key,
        brokers=len(there.brokers),
        cluster_operations=there.operations,
        new_operations=new_operations,
        continues=continues,
        sync=sync,
        wanted_replicas=replicas,
        defaults=NO_TOPICS if isinstance(defaults, KcliError) else defaults,
    )
    unknown = f"the defaults of new topics of the target are not known: {defaults}"
    return Survey(
        source_cluster,
        there.cluster_id,
        routes,
        sources,
        targets,
        findings,
        len(there.brokers),
        unknown if isinstance(defaults, KcliError) else "",
    )


def _target_of(target: Admin) -> _Target:
    """The cluster, and its topics by name."""
    there, topics = target.together(
        lambda: target.describe_cluster(include_operations=True), target.list_topics
    )
    return there, {topic.name: topic for topic in topics}


def _hidden(source: Admin, names: Sequence[str]) -> list[str]:
    """Those of the names that this client may not describe: lists of topics leave them out."""
    found = source.topic_operations([name for name in names if not is_pattern(name)])
    refused = [(name, error) for name, error in found.items() if isinstance(error, BrokerError)]
    return [name for name, error in refused if error.code == TOPIC_AUTHORIZATION_FAILED]


def _defaults(admin: Admin, broker: int) -> Values | KcliError:
    """The values in force of a new topic that sets nothing, as a broker has them; an error where it does not say."""
    resource = ConfigResource(ConfigKind.BROKER, str(broker))
    entries = admin.describe_configs([resource])[resource]
    if isinstance(entries, KcliError):
        return entries
    return values_of_new_topics({one.name: one.value for one in entries if one.value is not None})


def _facts(admin: Admin, topics: Mapping[str, TopicInfo]) -> dict[str, TopicFacts]:
    if not topics:
        return {}
    names = list(topics)
    configs, operations = admin.together(
        lambda: admin.describe_topic_configs(names), lambda: admin.topic_operations(names)
    )
    return {name: _topic_facts(topics[name], configs[name], operations.get(name)) for name in names}


def _topic_facts(
    topic: TopicInfo, configs: list[ConfigEntry] | KcliError, operations: int | KcliError | None
) -> TopicFacts:
    """Without the permission to describe configurations, nothing is known of them."""
    values, own = ({}, {}) if isinstance(configs, KcliError) else configs_of(configs)
    return TopicFacts(
        topic.topic_id,
        max((one.partition for one in topic.partitions), default=-1) + 1,  # log directories may lack some
        max((len(partition.replicas) for partition in topic.partitions), default=1),
        values,
        own,
        None if isinstance(operations, KcliError) else operations,
    )


def configs_of(entries: list[ConfigEntry]) -> tuple[dict[str, str], dict[str, str]]:
    """The values in force, and those set on the topic itself; without secrets, whose values brokers do not return."""
    values = {entry.name: entry.value for entry in entries if entry.value is not None}
    return values, {one.name: one.value for one in entries if not one.is_default and one.value is not None}
