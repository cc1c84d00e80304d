"""Reads what a mirror must know of both clusters before it copies: topics, configurations, permissions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import KcliError, NotFoundError
from kcli.flows.mirror.preflight import Finding, Findings, TopicFacts, check_routes
from kcli.flows.mirror.routes import Rename, Route, plan_routes, select_topics
from kcli.flows.mirror.state import JobState


class Survey(NamedTuple):
    """Cluster ids, routes and the facts about their topics; ``targets`` lacks the topics that are to be created.

    ``brokers``: of the target.
    """

    source_cluster: str
    target_cluster: str
    routes: list[Route]
    sources: Mapping[str, TopicFacts]
    targets: Mapping[str, TopicFacts]
    findings: Findings
    brokers: int


def survey(
    source: Admin,
    target: Admin,
    selectors: Sequence[str],
    renames: Sequence[Rename],
    *,
    by_key: bool,
    back: Iterable[JobState] = (),
    marks_origins: bool = False,
) -> Survey:
    """Describes the topics of both clusters and checks all routes.

    ``back`` are jobs that write to the source: what they copied from the target under another name is selected by its
    name only. ``marks_origins``: records say where they are from, so none is copied back.

    NotFoundError if no topic is selected; ConfigError for routes that cannot be; errors of brokers.
    """
    here, there = source.describe_cluster(), target.describe_cluster(include_operations=True)
    same = bool(here.cluster_id) and here.cluster_id == there.cluster_id
    available = {topic.name: topic for topic in source.list_topics() if not topic.internal}
    returns = {
        Route(copied, name): job.job
        for job in back
        if job.source and job.source == there.cluster_id and not same
        for name, copied in job.topics.items()
    }
    chosen = select_topics(available, selectors, {one.source for one in returns if one.source != one.target})
    if not chosen:
        raise NotFoundError(
            "no topic is selected",
            why=f"the source has {len(available)} topics and none matches",
            do="check -t",
        )
    routes = plan_routes(chosen, renames, same_cluster=same)
    existing = {topic.name: topic for topic in target.list_topics()}
    wanted = {route.target: existing[route.target] for route in routes if route.target in existing}
    sources = _facts(source, {name: available[name] for name in chosen})
    targets = _facts(target, wanted)
    findings = check_routes(
        routes,
        sources,
        targets,
        by_key=by_key,
        brokers=len(there.brokers),
        cluster_operations=there.operations,
    )
    if not marks_origins:
        findings.warnings.extend(
            Finding(
                route,
                f"job {returns[route]} copies {route.target} to {route.source}: records go round without --headers",
            )
            for route in routes
            if route in returns
        )
    return Survey(here.cluster_id, there.cluster_id, routes, sources, targets, findings, len(there.brokers))


def _facts(admin: Admin, topics: Mapping[str, TopicInfo]) -> dict[str, TopicFacts]:
    if not topics:
        return {}
    names = list(topics)
    configs = admin.describe_topic_configs(names)
    operations = admin.topic_operations(names)
    return {name: _topic_facts(topics[name], configs[name], operations.get(name)) for name in names}


def _topic_facts(
    topic: TopicInfo, configs: list[ConfigEntry] | KcliError, operations: int | KcliError | None
) -> TopicFacts:
    """Without the permission to describe configurations, nothing is known of them."""
    entries = [] if isinstance(configs, KcliError) else configs
    values = {entry.name: entry.value for entry in entries if entry.value is not None}
    own = {entry.name: entry.value for entry in entries if not entry.is_default and entry.value is not None}
    return TopicFacts(
        topic.topic_id,
        len(topic.partitions),
        max((len(partition.replicas) for partition in topic.partitions), default=1),
        values,
        own,
        None if isinstance(operations, KcliError) else operations,
    )
