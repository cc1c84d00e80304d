"""``kcli cluster check``: judges what was observed of a cluster, a verdict for each check. Pure.

A broker that is down fails the check of the brokers; what only it could have reported is no gap of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kcli.core.classes import dataclass, replace
from kcli.core.cluster.metadata import PartitionView
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.flows.cluster_state import ONLINE, is_offline, is_under_replicated, leader_is_preferred
from kcli.flows.doctor import transaction_checks
from kcli.flows.doctor.findings import FAILED, OK, SKIPPED, WARNING
from kcli.flows.health import observed as parts
from kcli.flows.health.observed import Coordinated, Observed
from kcli.flows.health.outlook import Outlook, TopicRules, coordinated_by, outlook, remaining
from kcli.flows.partition_failures import partition_names
from kcli.flows.quorum.rows import words as majority_words
from kcli.output.progress import counted

UNKNOWN = "unknown"
STATUSES = (OK, WARNING, FAILED, UNKNOWN)
_MOST_NAMED = 5
_NOT_LISTED = "brokers list transactional ids since Kafka 3.0"


@dataclass(frozen=True, slots=True)
class Demand:
    """``brokers``: how many there have to be, None for those that are known. ``topics``: whose partitions are checked;
    empty for all. ``stopped``: nodes that are to be stopped together. ``strict``: warnings are failures.
    """

    brokers: int | None = None
    max_under_replicated: int = 0
    topics: tuple[str, ...] = ()
    stopped: tuple[int, ...] = ()
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check, and what it is about. ``if_stopped``: it foresees what would be without these nodes.

    ``count`` is how many are concerned, None where nothing is counted; ``errors``: why it is unknown.
    """

    check: str
    status: str
    reason: str
    if_stopped: tuple[int, ...] = ()
    count: int | None = None
    brokers: tuple[int, ...] = ()
    partitions: tuple[TopicPartition, ...] = ()
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    errors: tuple[KcliError, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing stands against going on."""
        return self.status in (OK, WARNING)


class NotThereError(NotFoundError):
    """A node that is to be stopped, or a topic, is not in the cluster."""


def judge(found: Observed, demand: Demand, now: int) -> list[Verdict]:
    """A verdict for each check, in the order of the report. ``now``: ms since the epoch.

    NotThereError for a topic or a node that does not exist.
    """
    _check_known(found, demand)
    verdicts = [check(found, demand, now) for check in CHECKS]
    verdicts += foreseen(found, demand)
    if not demand.strict:
        return verdicts
    return [replace(one, status=FAILED) if one.status == WARNING else one for one in verdicts]


def problems(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Those that did not pass."""
    return [one for one in verdicts if not one.passed]


def _check_known(found: Observed, demand: Demand) -> None:
    for name in demand.topics:
        if name not in found.topics:
            raise NotThereError(
                f"topic {name} does not exist",
                why="the cluster has no topic of that name, or this client may not describe it",
                do="`kcli topics list` lists the topics",
            )
    known = known_nodes(found)
    for number in demand.stopped:
        if number not in known:
            raise NotThereError(
                f"the cluster has no node {number}",
                why=f"it has {', '.join(map(str, sorted(known)))}",
                do="`kcli brokers list` lists the brokers, `kcli quorum describe` the controllers",
            )


def known_nodes(found: Observed) -> set[int]:
    """The brokers, and the replicas of the metadata log."""
    of_quorum = () if found.quorum is None else found.quorum.replicas
    return {one.number for one in found.brokers} | {one.node for one in of_quorum}


# --- the nodes


def _quorum(found: Observed, _demand: Demand, _now: int) -> Verdict:
    check = "quorum"
    if found.no_quorum is not None:
        return _quorum_unread(found.no_quorum)
    majority = found.majority
    if found.quorum is None or majority is None:
        number = found.description.controller
        there = number >= 0
        return Verdict(
            check,
            OK if there else FAILED,
            f"broker {number} is the controller" if there else "there is no controller",
        )
    leader = found.quorum.leader
    if leader < 0:
        return Verdict(check, FAILED, "there is no leader: an election is under way, or too few voters run")
    behind = tuple(sorted(majority.voters - majority.caught_up))
    if majority.spare < 0:
        return Verdict(check, FAILED, majority_words(majority), count=len(behind), brokers=behind)
    if behind:
        why = f"voter {_numbers(behind)} is behind, or does not run; {majority_words(majority)}"
        return Verdict(check, FAILED, why, count=len(behind), brokers=behind)
    reason = f"leader {leader}, {counted(len(majority.voters), 'voter')}, all caught up"
    return Verdict(check, OK, reason, count=0)


def _quorum_unread(error: KcliError) -> Verdict:
    if error.exit_code == ExitCode.UNREACHABLE:
        return Verdict("quorum", FAILED, f"no active controller answers: {error}")
    return _unread("quorum", [error])


def _brokers(found: Observed, demand: Demand, _now: int) -> Verdict:
    check = "brokers"
    away = {one.number: one.state for one in found.brokers if one.state != ONLINE}
    away |= {number: "unreachable" for number in found.unreachable if number not in away}
    live, wanted = len(found.live), demand.brokers
    if away:
        named = _named([f"{number} ({state})" for number, state in sorted(away.items())])
        reason = f"{len(away)} of {len(found.brokers)} not online: {named}"
        return Verdict(check, FAILED, reason, count=len(away), brokers=tuple(sorted(away)))
    if wanted is not None and live + len(found.silent) < wanted:
        return Verdict(check, FAILED, f"{live} online, {wanted} expected", count=wanted - live)
    if unread := found.unread.get(parts.BROKERS):
        return replace(_unread(check, unread), brokers=tuple(sorted(found.silent)))
    return Verdict(check, OK, f"{live} online", count=0)


def _log_dirs(found: Observed, _demand: Demand, _now: int) -> Verdict:
    check = "log-directories"
    broken = [
        (number, directory)
        for number in sorted(found.log_dirs)
        for directory in found.log_dirs[number]
        if directory.error is not None
    ]
    if broken:
        named = _named([f"{directory.path} of broker {number}" for number, directory in broken])
        numbers = tuple(dict.fromkeys(number for number, _directory in broken))
        return Verdict(check, FAILED, f"{len(broken)} offline: {named}", count=len(broken), brokers=numbers)
    if unread := found.unread.get(parts.LOG_DIRS):
        return _unread(check, unread)
    return Verdict(check, OK, f"{sum(map(len, found.log_dirs.values())):,} online", count=0)


# --- partitions


def _partitions(found: Observed, topics: Sequence[str]) -> Iterator[tuple[TopicPartition, PartitionView]]:
    for name in topics or found.topics:
        for part in found.topics[name].partitions:
            yield TopicPartition(name, part.partition), part


def _offline(found: Observed, demand: Demand, _now: int) -> Verdict:
    every = list(_partitions(found, demand.topics))
    offline = [tp for tp, part in every if is_offline(part) or part.leader in found.unreachable]
    ok = f"none of {counted(len(every), 'partition')}"
    verdict = _of_partitions(
        "offline-partitions", FAILED, offline, "{} without a leader that can be reached", ok
    )
    return _unless_unread(verdict, _unseen(found, demand))


def _unseen(found: Observed, demand: Demand) -> Sequence[KcliError]:
    """Why partitions are not known: of topics with an error, and, unless some are named, of those that are hidden."""
    hidden = () if demand.topics else found.unread.get(parts.HIDDEN, ())
    return [*found.unread.get(parts.TOPICS, ()), *hidden]


def _unless_unread(verdict: Verdict, unread: Sequence[KcliError]) -> Verdict:
    """Unknown where all that was seen is well, and not all was seen."""
    return _unread(verdict.check, unread) if verdict.status == OK and unread else verdict


def _under_replicated(found: Observed, demand: Demand, _now: int) -> Verdict:
    check = "under-replicated"
    lagging = [
        tp
        for tp, part in _partitions(found, demand.topics)
        if not is_offline(part) and is_under_replicated(part, _adding(found, tp))
    ]
    most = demand.max_under_replicated
    status = OK if len(lagging) <= most else FAILED
    allowed = f", at most {most:,} allowed" if most else ""
    verdict = _of_partitions(
        check, status, lagging, "{} with replicas that are not in sync" + allowed, "none"
    )
    return _unless_unread(verdict, _unseen(found, demand))


def _adding(found: Observed, tp: TopicPartition) -> Collection[int]:
    moving = found.reassignments.get(tp)
    return () if moving is None else moving.adding


def _by_rules(
    found: Observed, demand: Demand, holds: Callable[[TopicRules, PartitionView], bool]
) -> tuple[list[TopicPartition], Sequence[KcliError]]:
    """The partitions with a leader for which this holds; and why that is not known of others."""
    unread = [*_unseen(found, demand), *found.unread.get(parts.CONFIGS, ())]
    chosen = [
        tp
        for tp, part in _partitions(found, demand.topics)
        if not is_offline(part) and tp.topic in found.rules and holds(found.rules[tp.topic], part)
    ]
    return chosen, unread


def _under_min_isr(found: Observed, demand: Demand, _now: int) -> Verdict:
    live, elects = found.live, found.elects

    def refuses(rules: TopicRules, part: PartitionView) -> bool:
        """Without a controller what is gone stays in the ISR, and is waited for."""
        return rules.refuses(part) or (not elects and remaining(part, live, rules, elects=False).stuck)

    below, unread = _by_rules(found, demand, refuses)
    verdict = _of_partitions("under-min-isr", FAILED, below, "{} that refuse records with acks=all", "none")
    return _unless_unread(verdict, unread)


def _at_min_isr(found: Observed, demand: Demand, _now: int) -> Verdict:
    tight, unread = _by_rules(found, demand, TopicRules.is_tight)
    text = "{} with no more replicas in sync than min.insync.replicas"
    return _unless_unread(_of_partitions("at-min-isr", WARNING, tight, text, "none"), unread)


def _preferred(found: Observed, demand: Demand, _now: int) -> Verdict:
    others = [
        tp
        for tp, part in _partitions(found, demand.topics)
        if not is_offline(part) and not leader_is_preferred(part)
    ]
    text = "{} led by another replica than the preferred one"
    verdict = _of_partitions("preferred-leaders", WARNING, others, text, "all partitions have theirs")
    return _unless_unread(verdict, _unseen(found, demand))


def _reassignments(found: Observed, demand: Demand, _now: int) -> Verdict:
    if unread := found.unread.get(parts.REASSIGNMENTS):
        return _unread("reassignments", unread)
    moving = sorted(tp for tp in found.reassignments if not demand.topics or tp.topic in demand.topics)
    return _of_partitions("reassignments", WARNING, moving, "{} being moved", "none in progress")


def _of_partitions(
    check: str, status: str, concerned: Sequence[TopicPartition], text: str, ok: str
) -> Verdict:
    """``status`` where partitions are concerned, else ok. ``text`` has ``{}`` for their number."""
    if not concerned:
        return Verdict(check, OK, ok, count=0)
    reason = f"{text.format(counted(len(concerned), 'partition'))}: {partition_names(concerned)}"
    return Verdict(check, status, reason, count=len(concerned), partitions=tuple(concerned))


# --- coordinators and transactions


def _group_coordinators(found: Observed, _demand: Demand, _now: int) -> Verdict:
    verdict = _coordinators("group-coordinators", "group", found.groups, found.unread.get(parts.GROUPS, ()))
    return replace(verdict, groups=tuple(found.groups.failed))


def _transaction_coordinators(found: Observed, _demand: Demand, _now: int) -> Verdict:
    ids, unread = found.transactional_ids, found.unread.get(parts.IDS, ())
    verdict = _coordinators("transaction-coordinators", "transactional id", ids, unread)
    return replace(verdict, transactional_ids=tuple(ids.failed))


def _coordinators(check: str, noun: str, of: Coordinated, unread: Sequence[KcliError]) -> Verdict:
    if of.topic is None:
        return _unread(check, unread) if unread else Verdict(check, OK, f"no {noun} yet", count=0)
    offline = [
        TopicPartition(of.topic.name, part.partition) for part in of.topic.partitions if is_offline(part)
    ]
    if offline:
        reason = (
            f"{len(offline):,} of {len(of.topic.partitions):,} partitions of {of.topic.name} without a leader"
        )
        return Verdict(check, FAILED, reason, count=len(offline), partitions=tuple(offline))
    if of.failed:
        name, error = next(iter(of.failed.items()))
        reason = f"{counted(len(of.failed), noun)} not served: {_named(of.failed)}; {name}: {error}"
        return Verdict(check, FAILED, reason, count=len(of.failed))
    if unread:
        return _unread(check, unread)
    if not of.listed:
        return Verdict(check, OK, f"all partitions of {of.topic.name} have leaders; {_NOT_LISTED}", count=0)
    return Verdict(check, OK, f"{counted(len(of.names), noun)} answered for", count=0)


def _transactions(found: Observed, demand: Demand, now: int) -> Verdict:
    check = "hanging-transactions"
    if found.transactions is None:
        return _unread(check, found.unread.get(parts.TRANSACTIONS, ()))
    findings = list(transaction_checks.judge(found.transactions, now))
    errors = [*found.transactions.coordinated.errors, *(error for _tps, error in found.transactions.unread)]
    errors += _unseen(found, demand)
    for status in (FAILED, WARNING):
        some = [one for one in findings if one.status == status and one.check != "coordinators"]
        if some:
            more = f" and {len(some) - 1} more" if len(some) > 1 else ""
            return Verdict(check, status, f"{some[0].check}: {some[0].detail}{more}", count=len(some))
    if errors:
        return _unread(check, errors)
    return Verdict(check, OK, next(one.detail for one in findings if one.status not in (SKIPPED,)), count=0)


CHECKS: tuple[Callable[[Observed, Demand, int], Verdict], ...] = (
    _quorum,
    _brokers,
    _offline,
    _under_replicated,
    _under_min_isr,
    _at_min_isr,
    _group_coordinators,
    _transaction_coordinators,
    _log_dirs,
    _transactions,
    _preferred,
    _reassignments,
)
"""The table, in the order of the report."""


# --- what would be without some nodes


def foreseen(found: Observed, demand: Demand) -> list[Verdict]:
    """What the stop of the nodes would do; nothing without any."""
    if not demand.stopped:
        return []
    ahead = outlook(found.situation, demand.stopped)
    verdicts = [
        _majority_ahead(found, ahead, demand.stopped),
        _ahead("offline-partitions", "{} would have no leader", ahead.offline, ahead, demand),
        _ahead("under-min-isr", "{} would refuse records with acks=all", ahead.refusing, ahead, demand),
        _ahead(
            "unclean-leaders",
            "{} would be led by a replica that may lack records",
            ahead.losing,
            ahead,
            demand,
        ),
        _clients_ahead("group-coordinators", "group", found.groups, ahead),
        _clients_ahead("transaction-coordinators", "transactional id", found.transactional_ids, ahead),
    ]
    unseen = _unseen(found, demand)
    configs = [*unseen, *found.unread.get(parts.CONFIGS, ())]
    gaps: dict[str, Sequence[KcliError]] = {
        "offline-partitions": unseen,
        "under-min-isr": configs,
        "unclean-leaders": configs,
        "group-coordinators": found.unread.get(parts.GROUPS, ()),
        "transaction-coordinators": found.unread.get(parts.IDS, ()),
    }
    return [
        replace(_unless_unread(one, gaps.get(one.check, ())), if_stopped=demand.stopped) for one in verdicts
    ]


def _majority_ahead(found: Observed, ahead: Outlook, stopped: Collection[int]) -> Verdict:
    if found.no_quorum is not None:
        return _quorum_unread(found.no_quorum)
    if ahead.majority is None:
        return Verdict("quorum", OK, "it is not a quorum that elects")
    if not ahead.majority.voters.intersection(stopped):
        return Verdict("quorum", OK, f"{_numbers(stopped)} is no voter")
    status = OK if ahead.majority.spare >= 0 else FAILED
    return Verdict("quorum", status, majority_words(ahead.majority))


def _ahead(
    check: str, text: str, concerned: Iterable[TopicPartition], ahead: Outlook, demand: Demand
) -> Verdict:
    """Says of how many it only holds until other replicas have caught up."""
    shown = [tp for tp in concerned if not demand.topics or tp.topic in demand.topics]
    verdict = _of_partitions(check, FAILED, shown, text, "none more")
    if not (waiting := ahead.catching_up.intersection(shown)):
        return verdict
    some = "" if len(waiting) == len(shown) else f"{len(waiting):,} of them "
    return replace(
        verdict, reason=f"{verdict.reason}; {some}only until replicas that are catching up are in sync"
    )


def _clients_ahead(check: str, noun: str, of: Coordinated, ahead: Outlook) -> Verdict:
    """Those whose coordinator's partition would have no leader, or would take no commits."""
    if of.topic is None:
        return Verdict(check, OK, f"no {noun} yet", count=0)
    topic, count = of.topic.name, len(of.topic.partitions)
    alone, mute = ({tp for tp in some if tp.topic == topic} for some in (ahead.offline, ahead.refusing))
    if not of.listed and (concerned := sorted(alone | mute)):
        reason = f"coordinators would be lost, or could write nothing, of {partition_names(concerned)}; {_NOT_LISTED}"
        return Verdict(check, FAILED, reason, partitions=tuple(concerned))
    orphans, deaf = (coordinated_by(of.names, some, count) for some in (alone, mute))
    texts = []
    if orphans:
        texts.append(f"{counted(len(orphans), noun)} would have no coordinator: {_named(orphans)}")
    if deaf:
        texts.append(f"{counted(len(deaf), noun)} could not commit: {_named(deaf)}")
    names = (*orphans, *deaf)
    found = Verdict(check, FAILED if names else OK, "; ".join(texts) or "none without one", count=len(names))
    return replace(found, groups=names) if noun == "group" else replace(found, transactional_ids=names)


# --- words


def _unread(check: str, errors: Sequence[KcliError]) -> Verdict:
    """Not known: something that is there did not answer."""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    reason = f"{errors[0]}{more}" if errors else "not known"
    return Verdict(check, UNKNOWN, reason, errors=tuple(errors))


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _named(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - _MOST_NAMED} more" if len(shown) > _MOST_NAMED else ""
    return ", ".join(shown[:_MOST_NAMED]) + more
