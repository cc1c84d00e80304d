"""The verdicts of ``kcli cluster check``, and the steps of a rolling restart, as rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.flows.doctor.findings import FAILED, WARNING
from kcli.flows.health.checks import STATUSES, UNKNOWN, Verdict
from kcli.flows.health.rolling import STATES, Step
from kcli.output.tables import Column

IF_STOPPED = Column(
    "if_stopped",
    values="integers",
    meaning="The nodes without which this would be so (--if-stopped); empty for what is so now.",
)
COLUMNS = (
    Column("check", values="string", meaning="Name of the check."),
    Column(
        "status",
        values=STATUSES,
        meaning="Its result; unknown: something that is there did not answer. With --strict no warning: failed instead.",
    ),
    Column("reason", "prose", values="string", meaning="What was found."),
)
DETAILS = (
    IF_STOPPED,
    Column(
        "count",
        "number",
        values="count?",
        meaning="How many things are concerned; null where nothing is counted.",
    ),
    Column("brokers", values="integers", meaning="Numbers of the brokers or voters that are concerned."),
    Column(
        "partitions",
        values="objects",
        inner=(Column("topic", values="string"), Column("partition", "id", values="integer")),
        meaning="The partitions that are concerned.",
    ),
    Column("groups", values="strings", meaning="Names of the groups that are concerned."),
    Column("transactional_ids", values="strings", meaning="The transactional ids that are concerned."),
)
HEAD = (
    Column("ok", values="boolean", meaning="Whether all checks have passed, if need be with warnings."),
    Column("failed", values="count", meaning="How many have failed."),
    Column("warned", values="count", meaning="How many have a warning."),
    Column("unknown", values="count", meaning="How many could not be made."),
)
STEPS = (
    Column("at", values="time", meaning="When it was seen."),
    Column("node", "id", values="integer", meaning="Number of the broker or controller."),
    Column(
        "state",
        values=STATES,
        meaning="waiting: it may not be stopped, or is not yet back in sync; safe: it may be stopped now; unsafe: it may "
        "not any more; stopped: it is down; back: it is there again and in sync.",
    ),
    Column("reason", "prose", values="string?", meaning="What is waited for; null where nothing is."),
)


def row(one: Verdict) -> dict[str, Any]:
    """The values of all columns."""
    return {
        "check": one.check,
        "if_stopped": list(one.if_stopped),
        "status": one.status,
        "reason": one.reason,
        "count": one.count,
        "brokers": list(one.brokers),
        "partitions": [{"topic": tp.topic, "partition": tp.partition} for tp in one.partitions],
        "groups": list(one.groups),
        "transactional_ids": list(one.transactional_ids),
    }


def head(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The values of ``HEAD``."""
    return {
        "ok": all(one.passed for one in verdicts),
        "failed": sum(one.status == FAILED for one in verdicts),
        "warned": sum(one.status == WARNING for one in verdicts),
        "unknown": sum(one.status == UNKNOWN for one in verdicts),
    }


def step_row(step: Step, at: str) -> dict[str, Any]:
    """The values of ``STEPS``."""
    return {"at": at, "node": step.node, "state": step.state, "reason": step.reason or None}
