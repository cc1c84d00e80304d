"""Examines a client, its connections and its cluster, step by step: gathers facts, and passes them to the checks.

A chain of steps ends where it breaks; other brokers, and what does not depend on it, are examined nevertheless.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigKind, ConfigResource
from kcli.core.classes import dataclass, replace
from kcli.core.clock import monotonic, wall_ms
from kcli.core.errors import KcliError, UnsupportedError
from kcli.core.exit_codes import ExitCode
from kcli.core.hooks import Hooks
from kcli.core.options import ClientOptions
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import ClusterState, is_under_replicated, observe
from kcli.flows.doctor import (
    client_checks,
    cluster_checks,
    contact_steps,
    group_checks,
    topic_checks,
    transaction_checks,
)
from kcli.flows.doctor.client_checks import ClientFacts
from kcli.flows.doctor.cluster_checks import ClusterFacts
from kcli.flows.doctor.findings import Finding, failure, skipped
from kcli.flows.doctor.group_checks import GroupFacts
from kcli.flows.doctor.reach import Reach
from kcli.flows.doctor.topic_checks import TopicFacts
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.groups.offsets import positions
from kcli.flows.transactions.coordinated import ReadLog
from kcli.flows.transactions.held import PartitionState, survey

PATIENCE = 3.0
"""Seconds for requests to a cluster with brokers that cannot be reached: each of these costs the whole time."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is examined. ``seconds`` bounds each connection and each request."""

    client: ClientFacts
    options: ClientOptions
    seconds: float
    topic: str | None
    group: str | None
    read_log: ReadLog
    hooks: Hooks


class Examination:
    """``findings`` yields them as they are made."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._reach = Reach(subject.options, subject.seconds, subject.hooks)
        self._held: dict[TopicPartition, PartitionState] = {}

    @property
    def cluster_id(self) -> str | None:
        """Known after the first contact."""
        return self._reach.cluster_id

    def findings(self) -> Iterator[Finding]:
        """All of them, in the order of the report."""
        for check in client_checks.CHECKS:
            yield from check(self._subject.client)
        yield from self._reach.findings()
        if self._reach.cluster_id is not None:
            yield from self._through_admin()

    # --- what needs a connection -------------------------------------------------------------------

    def _through_admin(self) -> Iterator[Finding]:
        subject = self._subject
        seconds = subject.seconds if self._reach.all_reachable else min(subject.seconds, PATIENCE)
        with Admin(subject.options, subject.hooks, timeout=seconds) as admin:
            admin.foresee(topics=True, fenced=True, groups=[subject.group] if subject.group else [])
            state = yield from self._observed(admin)
            if state is None:
                return
            partitions: set[TopicPartition] = set()
            if subject.topic is not None:
                partitions |= yield from self._topic(admin, subject.topic, state)
            group = yield from self._group_of(admin)
            if group is not None and not isinstance(group.positions, KcliError):
                partitions |= set(group.positions)
            if subject.topic is None and subject.group is None:
                partitions = {
                    TopicPartition(topic.name, part.partition)
                    for topic in state.topics
                    for part in topic.partitions
                }
            yield from self._transactions(admin, partitions)
            if group is not None:
                facts = replace(group, held=self._held)
                findings = (finding for check in group_checks.CHECKS for finding in check(facts))
                yield from _timed(findings, group.seconds)

    def _observed(self, admin: Admin) -> Generator[Finding, None, ClusterState | None]:
        began = monotonic()
        try:
            state = observe(admin, list(self._reach.apis))
            facts = self._cluster_facts(admin, state)
        except KcliError as error:
            yield failure(cluster_checks.CLUSTER, "description", error, monotonic() - began)
            return None
        findings = (finding for check in cluster_checks.CHECKS for finding in check(facts))
        yield from _timed(findings, monotonic() - began)
        return state

    def _cluster_facts(self, admin: Admin, state: ClusterState) -> ClusterFacts:
        lagging = [topic.name for topic in state.topics if any(map(is_under_replicated, topic.partitions))]
        min_isr = {name: topic_checks.min_isr_of(found) for name, found in _configs(admin, lagging).items()}
        releases = {
            number: state.features[number].release or contact_steps.release_text(apis)
            if number in state.features
            else contact_steps.release_text(apis)
            for number, apis in self._reach.apis.items()
        }
        return ClusterFacts(state, releases, self._reach.apis, min_isr)

    def _topic(
        self, admin: Admin, name: str, state: ClusterState
    ) -> Generator[Finding, None, set[TopicPartition]]:
        began = monotonic()
        try:
            topics, rights, found = admin.together(
                lambda: admin.describe_topics([name]),
                lambda: admin.topic_operations([name]),
                lambda: _configs(admin, [name]),
            )
            info, operations = topics[name], rights.get(name)
            if isinstance(info, KcliError):
                # Brokers hide a topic from a list of all without DESCRIBE; asked by its name, they say why.
                denied = isinstance(operations, KcliError) and operations.exit_code == ExitCode.DENIED
                raise operations if denied and isinstance(operations, KcliError) else info
            brokers = len(state.description.brokers)
            facts = TopicFacts(name, info, operations, found[name], brokers, state.requires_capped)
        except KcliError as error:
            yield failure(f"topic {name}", "exists", error, monotonic() - began)
            return set()
        findings = (finding for check in topic_checks.CHECKS for finding in check(facts))
        yield from _timed(findings, monotonic() - began)
        return {TopicPartition(name, part.partition) for part in info.partitions}

    def _group_of(self, admin: Admin) -> Generator[Finding, None, GroupFacts | None]:
        name = self._subject.group
        if name is None:
            return None
        began = monotonic()
        try:
            found = admin.describe_groups([name], include_operations=True, all_types=True)
            name_nearest(admin, found)
            description = found[name]
            if isinstance(description, KcliError):
                raise description
            shares = [name] if description.type == SHARE else []
            rows = positions(admin, {name: ()}, shares)[name]
        except KcliError as error:
            yield failure(f"group {name}", "exists", error, monotonic() - began)
            return None
        return GroupFacts(name, description, rows, {}, monotonic() - began)

    def _transactions(self, admin: Admin, partitions: Collection[TopicPartition]) -> Iterator[Finding]:
        if not partitions:
            return
        began = monotonic()
        try:
            found = survey(admin, partitions, self._subject.read_log)
        except UnsupportedError as error:
            why = f"{error}; brokers before Kafka 2.8 do not report which transactions are open"
            yield skipped(transaction_checks.TRANSACTIONS, "hanging", why)
            return
        except KcliError as error:
            yield skipped(transaction_checks.TRANSACTIONS, "hanging", str(error))
            return
        self._held = {state.tp: state for state in found.held}
        yield from _timed(transaction_checks.judge(found, wall_ms()), monotonic() - began)


def _timed(findings: Iterable[Finding], seconds: float) -> Iterator[Finding]:
    """The time of requests that several checks share, with the first of them."""
    for number, finding in enumerate(findings):
        yield finding if number or finding.seconds is not None else replace(finding, seconds=seconds)


def _configs(admin: Admin, names: Sequence[str]) -> dict[str, Mapping[str, str | None] | KcliError]:
    """The values of ``topic_checks.KEYS`` of each topic."""
    resources = [ConfigResource(ConfigKind.TOPIC, name) for name in names]
    found = admin.describe_configs(resources, keys=list(topic_checks.KEYS)) if resources else {}
    return {
        resource.name: entries
        if isinstance(entries, KcliError)
        else {entry.name: entry.value for entry in entries}
        for resource, entries in found.items()
    }
