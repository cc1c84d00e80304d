"""What ``kcli mirror run --listen`` serves: metrics of the figures that the mirror hands over, and the answers to probes.

Methods are called by the threads of connections. What is not known has no sample; a stand-by has none of partitions, so
that sums over both instances count nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from kcli.core.clock import monotonic
from kcli.core.version import __version__
from kcli.exporter.exposition import Family, Packed, Text, labels_of
from kcli.exporter.metric import COUNTER, Metric
from kcli.exporter.mirror_metrics import (
    AGE,
    GROUP_AGE,
    JOB,
    LEASE,
    OF_PARTITIONS,
    STATE,
    STATES,
    TURN,
)
from kcli.flows.mirror.copy.partition_state import State
from kcli.flows.mirror.figures import Figures, Handover, PartitionFigures, Role
from kcli.output.progress import counted, duration_text

STALLED = 180.0
"""Seconds without a turn after which the mirror is taken for stuck. A call to a cluster that is away takes some."""
_OLDEST = 60.0  # seconds that figures are shown while no new ones come
_PATIENCE = 2.0  # seconds for new ones
_Labels = dict[tuple[str, int], str]


class MirrorSite:
    """A ``server.Site``."""

    title = "kcli mirror"
    targets = ()

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._lock = Lock()
        self._labels: _Labels = {}
        self._made: tuple[Figures, list[Family]] | None = None
        self.checks: Mapping[str, Callable[[], str]] = {"/healthz": self.stuck, "/readyz": self.not_ready}

    def parts(self, form: str, scrapes: int, target: str = "") -> Sequence[Packed]:  # noqa: ARG002
        """See Site; the number of scrapes is of no interest, and there are no targets."""
        figures = self._figures()
        own = [Family(TURN, [_sample(TURN, " ", round(self._handover.idle(), 3))])]
        if figures is not None:
            own.append(Family(AGE, [_sample(AGE, " ", round(monotonic() - figures.at, 3))]))
            own += self._families(figures)
        return Text(own).parts(form)

    @property
    def state(self) -> str:
        """See Site."""
        figures = self._figures()
        if figures is None:
            return self._handover.rests or "There are no figures."
        if figures.role is Role.STAND_BY:
            return f"Stand-by: job {figures.job} is run by {figures.holder or 'another instance'}."
        return f"This instance runs job {figures.job}: {counted(len(figures.partitions), 'partition')}."

    def stuck(self) -> str:
        """For ``/healthz``: whether the process had better be started again. One that waits for a cluster had not."""
        idle = self._handover.idle()
        return "" if self._handover.rests or idle < STALLED else f"no turn for {duration_text(idle)}"

    def not_ready(self) -> str:
        """For ``/readyz``: whether it does its work, or would take over."""
        figures = self._figures()
        if figures is None:
            return self._handover.rests or "there are no figures of the last minute"
        if figures.role is Role.STAND_BY:
            return "" if figures.holder else "no instance is known to run the job"
        ended = [one for one in figures.partitions if one.state is State.ENDED]
        if ended:
            return f"{_named(ended)} not copied any more: see kcli mirror status"
        waiting = [one for one in figures.partitions if one.state is State.WAITING]
        if waiting and len(waiting) == len(figures.partitions):
            return f"{_named(waiting)} waiting: nothing is copied"
        return ""

    def _figures(self) -> Figures | None:
        figures = self._handover.figures(_PATIENCE)
        if figures is None or self._handover.rests:
            return figures
        return figures if monotonic() - figures.at <= _OLDEST else None

    def _families(self, figures: Figures) -> list[Family]:
        """Made once for figures that several ask for."""
        with self._lock:
            if self._made is None or self._made[0] is not figures:
                self._made = figures, families(figures, self._labels)
            return self._made[1]


def families(figures: Figures, known: _Labels) -> list[Family]:
    """The samples of all metrics of these figures. ``known``: the labels of partitions, which are kept."""
    job = labels_of(JOB.labels, (figures.job, figures.source, figures.target, __version__))
    found = [
        Family(JOB, [f"{JOB.name}_info{job}1\n"]),
        Family(LEASE, [_sample(LEASE, " ", int(figures.role is Role.HOLDER))]),
    ]
    labels = []
    for one in figures.partitions:
        made = known.get(one.tp)
        if made is None:
            made = known[one.tp] = labels_of(("topic", "partition"), one.tp)
        labels.append(made)
    for metric in OF_PARTITIONS:
        name = metric.name + ("_total" if metric.kind == COUNTER else "")
        values = zip(labels, map(metric.of, figures.partitions), strict=True)
        found.append(Family(metric, [f"{name}{at}{value}\n" for at, value in values if value is not None]))
    found.append(
        Family(
            STATE, [line for pair in zip(labels, figures.partitions, strict=True) for line in _states(*pair)]
        )
    )
    ages = [(labels_of(GROUP_AGE.labels, (name,)), round(age, 3)) for name, age in figures.groups]
    found.append(Family(GROUP_AGE, [_sample(GROUP_AGE, at, age) for at, age in ages]))
    return found


def _states(labels: str, one: PartitionFigures) -> list[str]:
    begin = f'{STATE.name}{labels[:-2]},{STATE.labels[-1]}="'
    return [f'{begin}{state}"}} {int(state == one.state)}\n' for state in STATES]


def _sample(metric: Metric, labels: str, value: float) -> str:
    return f"{metric.name}{labels}{value}\n"


def _named(partitions: Sequence[PartitionFigures]) -> str:
    first, left = partitions[0].tp, len(partitions) - 1
    return f"{first} and {counted(left, 'more partition')} are" if left else f"{first} is"
