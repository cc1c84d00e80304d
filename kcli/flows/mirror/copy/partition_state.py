"""The state of a partition of a mirror: what it is doing, since when, and why; and how that follows from facts. Pure.

``decide`` is called again and again with what is known at the moment. Short obstacles are part of normal operation (an
election, a transaction that is about to end): each kind has its time until it counts.
"""

from enum import StrEnum

from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicPartition
from kcli.output.progress import counted, duration_text


class State(StrEnum):
    """What a partition of a job is doing."""

    COPYING = "copying"
    CAUGHT_UP = "caught_up"
    WAITING = "waiting"
    ENDED = "ended"
    NOT_SELECTED = "not_selected"
    PROMOTED = "promoted"


class PartitionState(NamedTuple):
    """``since_ms``: milliseconds since the epoch. ``why``: for what it waits, or the error that ended it."""

    state: State
    since_ms: int
    why: str = ""


class Cause(StrEnum):
    """What keeps a partition waiting."""

    SOURCE = "source"
    TARGET = "target"
    TRANSACTION = "transaction"
    END = "end"


GRACE = {Cause.SOURCE: 2.0, Cause.TARGET: 5.0, Cause.TRANSACTION: 10.0, Cause.END: 2.0}
"""Seconds until an obstacle counts."""


class Obstacle(NamedTuple):
    """What keeps a partition from being copied, and for how many seconds it has."""

    cause: Cause
    why: str
    seconds: float = 0.0


class Facts(NamedTuple):
    """A partition at one moment. ``position``: the next offset to be copied. ``end``: the high watermark of the source,
    −1 where it is not known now. ``stop``: where the copy ends, None without an end.
    """

    position: int
    end: int
    stop: int | None
    obstacle: Obstacle | None


def decide(facts: Facts, limit: float | None) -> tuple[State, str]:
    """The state of a partition that has not ended, and why. ``limit``: seconds that a partition may wait."""
    obstacle = facts.obstacle
    if obstacle is not None:
        grace = GRACE[obstacle.cause]
        is_long = obstacle.seconds >= (grace if limit is None else min(grace, limit))
        return (State.WAITING, obstacle.why) if is_long else (State.COPYING, "")
    end = facts.end if facts.stop is None else facts.stop
    return (State.CAUGHT_UP if 0 <= end <= facts.position else State.COPYING), ""


class NotCompleteError(KcliError):
    """Records that were there at the start are not copied: an open transaction holds them back."""

    exit_code = ExitCode.CHECK


class WaitedError(TimedOutError):
    """A partition has waited for as long as it may."""


def waited(tp: TopicPartition, position: int, stop: int | None, obstacle: Obstacle) -> KcliError:
    """The error that ends a partition which has waited too long for ``obstacle``."""
    seconds = duration_text(obstacle.seconds)
    if obstacle.cause is not Cause.TRANSACTION:
        return WaitedError(
            f"{tp} of the source is copied up to offset {position} only",
            why=f"waited for {seconds}: {obstacle.why}",
            do="the same command continues there; --max-wait DUR waits longer",
        )
    held = "what follows" if stop is None else f"{counted(stop - position, 'offset')} up to {stop - 1}"
    return NotCompleteError(
        f"{tp} of the source is copied up to offset {position} only: an open transaction holds back {held}",
        why=f"waited for {seconds}: {obstacle.why}",
        do="run the same command when the transaction has ended, or wait longer with --max-wait DUR",
    )
