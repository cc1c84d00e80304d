"""Judges a topic: partitions, permissions, configuration. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import dataclass
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.cluster_state import in_sync_required, is_offline, is_under_replicated
from kcli.flows.doctor import rights
from kcli.flows.doctor.findings import Finding, failed, failure, skipped, warning, well
from kcli.output.progress import counted

MIN_ISR, CLEANUP, UNCLEAN = "min.insync.replicas", "cleanup.policy", "unclean.leader.election.enable"
KEYS = (MIN_ISR, CLEANUP, UNCLEAN, "retention.ms")


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """``operations``: bits, None if brokers do not report them. ``configs``: values of KEYS. ``brokers``: how many.
    ``capped``: they require no more replicas in sync than there are.
    """

    name: str
    info: TopicInfo
    operations: int | KcliError | None
    configs: Mapping[str, str | None] | KcliError
    brokers: int
    capped: bool = True

    @property
    def target(self) -> str:
        """``topic orders``."""
        return f"topic {self.name}"

    @property
    def min_isr(self) -> int:
        """As it is set; 0 if it is not known."""
        return min_isr_of(self.configs)

    @property
    def required(self) -> int:
        """How many replicas have to be in sync; 0 if it is not known."""
        return in_sync_required(self.min_isr, self.replicas, capped=self.capped)

    @property
    def replicas(self) -> int:
        """The replication factor: the smallest of its partitions, 0 if there are none."""
        return min((len(part.replicas) for part in self.info.partitions), default=0)


def partitions(facts: TopicFacts) -> Iterator[Finding]:
    """Whether all partitions have leaders, and replicas in sync."""
    parts = facts.info.partitions
    offline = [part.partition for part in parts if is_offline(part)]
    lagging = [part.partition for part in parts if is_under_replicated(part) and not is_offline(part)]
    below = [part.partition for part in parts if not is_offline(part) and len(part.isr) < facts.required]
    if facts.info.error is not None:
        yield failure(facts.target, "partitions", facts.info.error)
    if offline:
        yield failed(
            facts.target,
            "partitions",
            f"{len(offline)} of {len(parts)} without a leader: {_numbers(offline)}",
            why="the brokers that host their replicas are not running, or have failed disks",
            do=f"start them: `kcli topics describe {facts.name} --unavailable` shows which",
            code=ExitCode.UNREACHABLE,
        )
    if below:
        yield failed(
            facts.target,
            MIN_ISR,
            f"fewer than {counted(facts.required, 'replica')} in sync: partition {_numbers(below)}",
            why="records with acks=all are refused there: NOT_ENOUGH_REPLICAS",
            do="start the brokers that host their replicas",
            code=ExitCode.UNREACHABLE,
        )
    if lagging and not below:
        yield warning(
            facts.target,
            "partitions",
            f"{len(lagging)} of {len(parts)} under-replicated: {_numbers(lagging)}",
            why="some of their replicas are not in sync",
            do="start the brokers that host them, and check that they keep up",
        )
    if not (offline or lagging or below or facts.info.error):
        yield well(facts.target, "partitions", f"{len(parts)} with leaders, all replicas in sync")


def permissions(facts: TopicFacts) -> Iterator[Finding]:
    """What this client may do with it."""
    if isinstance(facts.operations, KcliError):
        yield failure(facts.target, rights.CHECK, facts.operations)
    else:
        yield from rights.judge(facts.target, facts.name, "topic", facts.operations, rights.TOPIC_RIGHTS)


def configuration(facts: TopicFacts) -> Iterator[Finding]:
    """Settings that contradict each other, or lose records when a broker fails."""
    if isinstance(facts.configs, KcliError):
        yield skipped(facts.target, "configuration", str(facts.configs))
        return
    odd = False
    if facts.required > facts.replicas > 0:
        odd = True
        yield failed(
            facts.target,
            "configuration",
            f"{MIN_ISR} is {facts.min_isr}, and it has {counted(facts.replicas, 'replica')}",
            why="records with acks=all are always refused",
            do=f"`kcli topics alter {facts.name} --set {MIN_ISR}={max(1, facts.replicas - 1)}`, or add replicas",
            code=ExitCode.REFUSED,
        )
    if facts.replicas == 1 and facts.brokers > 1:
        odd = True
        yield warning(
            facts.target,
            "configuration",
            "a single replica",
            why=f"the partition fails with its broker; the cluster has {counted(facts.brokers, 'broker')}",
            do=f"add replicas: `kcli reassign plan --topic {facts.name} "
            f"--replication-factor {min(3, facts.brokers)} moves.json`",
        )
    elif facts.replicas > 1 and facts.required == facts.replicas:
        odd = True
        yield warning(
            facts.target,
            "configuration",
            f"{MIN_ISR} is {facts.min_isr}, {_as_many(facts)}",
            why="when one broker stops, records with acks=all are refused",
            do=f"`kcli topics alter {facts.name} --set {MIN_ISR}={facts.replicas - 1}`",
        )
    if facts.configs.get(UNCLEAN) == "true":
        odd = True
        yield warning(
            facts.target,
            "configuration",
            f"{UNCLEAN} is true",
            why="a replica that lacks records may become leader: acknowledged records are lost then",
            do=f"`kcli topics alter {facts.name} --set {UNCLEAN}=false`",
        )
    if not odd:
        shown = [key for key in KEYS if facts.configs.get(key) is not None]
        yield well(
            facts.target, "configuration", ", ".join(f"{key}={facts.configs[key]}" for key in shown) or "read"
        )


CHECKS: tuple[Callable[[TopicFacts], Iterator[Finding]], ...] = (partitions, permissions, configuration)
"""The table, in the order of the report."""


def _as_many(facts: TopicFacts) -> str:
    more = facts.min_isr > facts.replicas
    return f"and it has {counted(facts.replicas, 'replica')}" if more else "as many as there are replicas"


def min_isr_of(configs: Mapping[str, str | None] | KcliError) -> int:
    """min.insync.replicas, 0 if it is not known."""
    text = None if isinstance(configs, KcliError) else configs.get(MIN_ISR)
    return int(text) if text is not None and text.isdecimal() else 0


def _numbers(found: list[int], most: int = 10) -> str:
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ",".join(map(str, found[:most])) + more
