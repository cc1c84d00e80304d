"""Reads that any broker accepts and passes on to the active controller, whose silence is not that broker's."""

from typing import Any

from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.errors import TimedOutError
from kcli.core.future import Future


def patience(cluster: Cluster, deadline: float) -> float:
    """Until when the controller is waited for, where reads share a deadline."""
    if cluster.silence is None:
        return deadline
    return cluster.silence.patience(CONTROLLER, cluster.loop.now(), deadline)


def unanswered(cluster: Cluster, error: TimedOutError, sent: Future[Any], what: str) -> TimedOutError:
    """The error to be raised for ``error`` where a broker has the request, and the controller owes the answer."""
    if cluster.silence is not None:
        cluster.silence.add(CONTROLLER, sent)
    return TimedOutError(
        f"{what}: no answer in time",
        why="brokers pass the request on to the active controller, which has not answered",
        do=error.do,
    )
