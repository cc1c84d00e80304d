"""What ``kcli cluster check`` does: looks once, until all is well, or all through a rolling restart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from time import monotonic, sleep

from kcli.account.survey import Missing
from kcli.commands.shared.cluster import connect, open_admin
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.exit import orderly_end
from kcli.commands.shared.row_output import print_rows
from kcli.commands.shared.transaction_log import log_reader
from kcli.core.admin.admin import Admin
from kcli.core.classes import replace
from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.flows.doctor.findings import FAILED
from kcli.flows.health import rows as view
from kcli.flows.health.checks import Demand, Verdict, judge, problems
from kcli.flows.health.observed import Observed, observe_health, observe_nodes
from kcli.flows.health.rolling import (
    BACK,
    SAFE,
    STOPPED,
    UNSAFE,
    WAITING,
    Presence,
    Rolling,
    Seen,
    Step,
    about,
    presence,
)
from kcli.output.listing import list_rows
from kcli.output.progress import counted, duration_text
from kcli.output.tables import Rows, time_text

PAUSE = 1.0
"""Seconds between two looks; half of it while a node may be stopped at any moment."""
_FOR_PEOPLE = ("table", "wide", "plain")


class WaitOverError(KcliError):
    """What was waited for has not come about in the time of ``--wait``."""

    exit_code = ExitCode.CHECK


class _Looks:
    """Looks at the cluster again and again, through one client that is made anew where the cluster was away."""

    def __init__(self, inv: Invocation, stack: ExitStack) -> None:
        self._inv, self._stack = inv, stack
        self._read_log = log_reader(inv)
        self._admin: Admin | None = None
        self.cluster = ""

    def judge(self, demand: Demand) -> tuple[Observed, list[Verdict]]:
        """A whole look, and the verdicts about it."""
        admin = self._connected()
        found = observe_health(admin, self._read_log, self._inv.timeout)
        return found, judge(found, demand, wall_ms())

    def nodes(self) -> Observed:
        """A short one."""
        return observe_nodes(self._connected(), self._inv.timeout)

    def _connected(self) -> Admin:
        if self._admin is None:
            self._admin = self._stack.enter_context(open_admin(self._inv))
        if not self.cluster:
            self.cluster = connect(self._inv, self._admin)
        return self._admin


def check(inv: Invocation, demand: Demand, wait: float | None) -> int:
    """Looks once, or until all is well. Returns the exit status."""
    with ExitStack() as stack:
        looks = _Looks(inv, stack)
        verdicts = looks.judge(demand)[1] if wait is None else _awaited(inv, looks, demand, wait)
        _print(inv, looks.cluster, demand, verdicts)
    return _finish(inv, verdicts)


def _awaited(inv: Invocation, looks: _Looks, demand: Demand, wait: float) -> list[Verdict]:
    """The verdicts when all passed, or when the time is over. Raises if the cluster is away to the end."""
    until, said = monotonic() + wait, ""
    while True:
        try:
            _found, verdicts = looks.judge(demand)
            left = problems(verdicts)
            reason = "; ".join(map(_line, left[:2]))
        except KcliError as error:
            if error.exit_code != ExitCode.UNREACHABLE or monotonic() >= until:
                raise
            left, reason = [], str(error)
        else:
            if not left or monotonic() >= until:
                return verdicts
        if about(reason) != about(said):
            inv.talk.note(f"waiting: {reason}")
        said = reason
        sleep(max(0.0, min(PAUSE, until - monotonic())))


def _line(one: Verdict) -> str:
    without = f" without {', '.join(map(str, one.if_stopped))}" if one.if_stopped else ""
    return f"{one.check}{without}: {one.reason}"


def _print(inv: Invocation, cluster: str, demand: Demand, verdicts: Sequence[Verdict]) -> None:
    inv.cluster_id = cluster
    said = set[int]()  # what is foreseen may lack the same as what is so now
    for one in verdicts:
        for error in one.errors:
            if id(error) not in said:
                said.add(id(error))
                inv.lacks(Missing.of(error, one.check))
    if inv.omits_passed and not problems(verdicts):
        return
    columns = (*view.COLUMNS[:1], view.IF_STOPPED, *view.COLUMNS[1:]) if demand.stopped else view.COLUMNS
    rows = map(view.row, verdicts)
    print_rows(inv, "ClusterCheckList", columns, rows, cluster, item="ClusterCheck", head=view.head(verdicts))


def _finish(inv: Invocation, verdicts: Sequence[Verdict]) -> int:
    """A failed check counts before what is unknown."""
    status = inv.finish(done=True)
    failures = sum(one.status == FAILED for one in verdicts)
    if not failures:
        return status
    inv.talk.note(f"{failures} of {counted(len(verdicts), 'check')} failed")
    return ExitCode.CHECK


def watching(inv: Invocation, demand: Demand, wait: float | None) -> int:
    """A rolling restart; returns the exit status when the last node is back, or a wait took too long."""
    with ExitStack() as stack:
        stack.enter_context(orderly_end())  # a document is complete whatever signal ends it
        looks = _Looks(inv, stack)
        found, _verdicts = looks.judge(demand)
        brokers = sorted(broker.number for broker in found.brokers)
        rolling = Rolling(demand.stopped or brokers)
        printed = None
        if inv.out.list_kind() not in _FOR_PEOPLE:
            printed = stack.enter_context(_step_rows(inv, looks.cluster))
        for step in _steps(looks, demand, rolling, brokers, wait):
            _show(inv, step, printed)
            inv.out.flush()
    return inv.finish(done=True)


def _step_rows(inv: Invocation, cluster: str) -> Rows:
    """A signal cuts them: the nodes that are left were not restarted."""
    return list_rows(
        inv.out,
        "RestartStepList",
        "RestartStep",
        view.STEPS,
        cluster=cluster,
        warnings=inv.talk.warnings,
        missing=inv.missing,
    )


def _steps(
    looks: _Looks, demand: Demand, rolling: Rolling, brokers: Collection[int], wait: float | None
) -> Iterator[Step]:
    """What happens, as it is seen; WaitOverError where the cluster is waited for too long."""
    since = monotonic()
    while (node := rolling.node) is not None:
        steps = rolling.look(_seen(looks, demand, rolling, brokers))
        yield from steps
        if not rolling.waits or any(step.state != WAITING for step in steps):
            since = monotonic()
        elif wait is not None and monotonic() - since >= wait:
            shown = (
                f"kcli cluster check --if-stopped {node}" if rolling.demands_stop else "kcli cluster check"
            )
            raise WaitOverError(
                f"waited for node {node} for {duration_text(wait)}, the time of --wait",
                why=rolling.reason,
                do=f"`{shown}` shows what is not well; the same line, with those that are left, goes on",
            )
        if rolling.node is not None:
            sleep(PAUSE / 2)


def _seen(looks: _Looks, demand: Demand, rolling: Rolling, brokers: Collection[int]) -> Seen:
    """While a node may be stopped, a short look has to see that it is down, before it is back."""
    node = rolling.node
    assert node is not None
    try:
        if rolling.is_offered:
            found = looks.nodes()
            numbers = {broker.number for broker in found.brokers}
            return Seen(
                presence(found, node, is_broker=node in brokers), (), sorted(numbers - found.live - {node})
            )
        asked = replace(demand, stopped=(node,) if rolling.demands_stop else ())
        found, verdicts = looks.judge(asked)
    except KcliError as error:
        if error.exit_code != ExitCode.UNREACHABLE:
            raise
        return Seen(Presence.UNKNOWN, (str(error),))
    return Seen(
        presence(found, node, is_broker=node in brokers), [_line(one) for one in problems(verdicts)[:2]]
    )


def _show(inv: Invocation, step: Step, printed: Rows | None) -> None:
    if printed is not None:
        printed.add(view.step_row(step, time_text(wall_ms())))
    elif step.state == SAFE:
        inv.out.text(f"safe to stop {step.node}\n")
    else:
        inv.talk.note(_words(step))


def _words(step: Step) -> str:
    text = {
        WAITING: "waiting for node {}",
        UNSAFE: "not safe to stop {} any more",
        STOPPED: "{} is down",
        BACK: "{} is back and in sync",
    }[step.state].format(step.node)
    return f"{text}: {step.reason}" if step.reason else text
