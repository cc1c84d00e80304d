"""What a mirror is given: its settings, the two clusters, and an observer, which shows it to somebody and answers.

Small, so that a command can be parsed without the clients.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kcli.core.classes import NamedTuple, dataclass
from kcli.core.positions import RangeSpec

if TYPE_CHECKING:
    from kcli.core.errors import KcliError
    from kcli.core.options import ClientOptions
    from kcli.flows.mirror.plan.plan import CopyPlan
    from kcli.output.progress import Progress

O = TypeVar("O", bound="ClientOptions")  # noqa: E741


class Pace(NamedTuple):
    """Limits and intervals. ``interval``: seconds between two saved positions, or the length of a transaction."""

    interval: float = 1.0
    records_per_second: float | None = None
    bytes_per_second: float | None = None


STEADY = Pace()
LEAST_WAIT = 1.0
"""Seconds: a broker that is there has time to answer, however short ``--max-wait`` is."""

MAX_WAIT = 60.0
"""Seconds that a run with an end waits for a partition, if nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorSettings:
    """What is copied, how, and when it ends; in the words of ``kcli mirror``.

    ``topics`` are selectors, ``excludes`` those of topics that patterns leave out, ``renames`` rules of ``--map-topic``,
    ``groups`` selectors of those whose offsets are translated, ``groups_excluded`` what patterns among them do not
    select, ``principals`` the rules of ``--map-principal``.
    ``span``: where a new job begins, and may end. ``job``: its name, None for the default one. ``checkpoint``: a file
    that keeps the position, None for the topic of the target. ``configs``: keys and values of ``--config``. ``max_wait``:
    seconds that a partition may wait. ``stand_by``: wait while another instance runs the job. ``replicas``: of topics
    that are created, None for those of the source, as far as the target has brokers.
    """

    topics: tuple[str, ...]
    excludes: tuple[str, ...] = ()
    renames: tuple[str, ...] = ()
    by_key: bool = False
    span: RangeSpec | None = None
    exactly_once: bool = False
    pace: Pace = STEADY
    headers: bool = False
    groups: tuple[str, ...] = ()
    sync_acls: bool = False
    prune_acls: bool = False
    principals: tuple[str, ...] = ()
    groups_excluded: tuple[str, ...] = ()
    until_caught_up: bool = False
    verify: bool = False
    job: str | None = None
    checkpoint: str | None = None
    on_gap: str = "fail"
    on_recreate: str = "fail"
    sync_configs: str = "topic"
    configs: tuple[tuple[str, str], ...] = ()
    timestamps: str = "keep"
    on_delete: str = "keep"
    max_wait: float | None = None
    stand_by: bool = True
    replicas: int | None = None

    @property
    def patience(self) -> float | None:
        """Seconds that a partition may wait: without an end for ever, unless ``max_wait`` says otherwise. Never less than
        ``LEAST_WAIT``.
        """
        if self.max_wait is None:
            return MAX_WAIT if self.bounded else None
        return max(LEAST_WAIT, self.max_wait)

    @property
    def bounded(self) -> bool:
        """Whether it ends by itself: with what was there at its start."""
        return self.until_caught_up or self.verify


class Cluster(Protocol):
    """One side of a mirror. ``options`` makes those of a client of it; ``own`` are further ones by field name."""

    @property
    def servers(self) -> str:
        """Its brokers, as they are named to people."""

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client."""


class Observer(Protocol):
    """Who runs a mirror: sees what it does, and decides whether it begins.

    ``dry_run``: it does not; the plan is made and checked. ``may_fill``: target topics that have records already are
    written without a question, where they are found during the copy.
    """

    @property
    def dry_run(self) -> bool:
        """See above."""

    @property
    def may_fill(self) -> bool:
        """See above."""

    def may_begin(self, plan: CopyPlan) -> bool:
        """Shows the plan, raises ``plan.refusal``, asks about ``plan.filled``; False where nothing is to be done."""

    def contact(self, servers: str) -> AbstractContextManager[None]:
        """Around a first contact, which may take long."""

    def progress(self, title: str) -> Progress:
        """Shows how far it is: ``title`` is "copied" or "compared"."""

    def note(self, text: str) -> None:
        """Something that is good to know."""

    def warn(self, text: str) -> None:
        """Something that is easily overlooked."""

    def detail(self, text: str) -> None:
        """Something that only explains what follows."""

    def failed(self, error: KcliError, *, partly: bool = False) -> None:
        """A part failed, and the rest continues; ``partly``: whatever its own exit code is."""
