"""What can be done from the screen, and what comes of it. The command hands in an object that does it.

All calls of an object from ``Actions`` come from one worker thread, which owns its clients (``errands.py``).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from kcli.core.admin.admin import Admin
from kcli.core.classes import dataclass

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer

TO, TO_GROUP, UNDO = "to", "to-group", "undo"
"""The flags of ``kcli groups rewind`` that name a target."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One rewind, in the words of ``kcli groups rewind``. ``value`` is that of the flag ``by``; an undo may have none.

    ``topic`` None: all topics; ``partition`` None: all of that topic. ``live``: the members are held back meanwhile;
    otherwise a group has to be empty.
    """

    group: str
    by: str = TO
    value: str = ""
    topic: str | None = None
    partition: int | None = None
    live: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        """The values of ``--topic``."""
        if self.topic is None:
            return ()
        return (self.topic if self.partition is None else f"{self.topic}:{self.partition}",)

    @property
    def all_topics(self) -> bool:
        """Whether ``--all-topics`` is needed: another group or a journal names the partitions by itself."""
        return self.topic is None and self.by == TO

    def flags(self) -> tuple[str, ...]:
        """The flags as they are typed. ``--wait`` is for a group with members, and has no effect on others."""
        target: tuple[str, ...] = (f"--{self.by}", self.value)
        if self.by == UNDO:
            target = (f"--undo={self.value}" if self.value else "--undo",)
        scope = (
            ("--all-topics",) if self.all_topics else tuple(w for t in self.topics for w in ("--topic", t))
        )
        return *target, *scope, "--live" if self.live else "--wait"


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error in its three parts, or a warning."""

    what: str
    why: str = ""
    do: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The plan of a wish. ``text`` is what the command prints; ``remarks`` say why some of it will not be done.

    ``wish`` names what an undo restores. ``occupied``: all that prevents it are the members of the group.
    ``caution`` is to be said before the confirmation. ``table``: the lines of ``text`` that are columns.
    """

    wish: Wish
    text: str
    remarks: tuple[Trouble, ...] = ()
    possible: bool = True
    occupied: bool = False
    caution: str = ""
    table: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What was done. ``undo`` would restore what was before; ``event`` is for the list of events.

    ``set_between``: the times, in ms, between which the offsets were set, if they were.
    """

    verdicts: tuple[str, ...]
    troubles: tuple[Trouble, ...] = ()
    undo: Wish | None = None
    event: str | None = None
    set_between: tuple[int, int] | None = None


class CancelledError(BaseException):
    """The user does not want to wait longer."""


class Voice(Protocol):
    """How a rewind reports, and waits."""

    def note(self, text: str) -> None:
        """A line for the user, below those before it."""

    def progress(self, text: str) -> None:
        """A line that takes the place of the last one of these."""

    def sleep(self, seconds: float) -> None:
        """CancelledError if the user does not want to wait longer."""


class Rewinding(Protocol):
    """Rewinds of groups with the clients of this object."""

    def propose(self, wish: Wish, *, wait: bool = False) -> Proposal:
        """Plans. ``wait``: until the group has no members, and no transaction with its offsets is open."""

    def execute(self) -> Result:
        """Does what was proposed last."""


class Actions(Protocol):
    """What the application may do. ``open_`` anything is called by the thread that uses it."""

    timeout: float

    def rewinding(self, voice: Voice) -> AbstractContextManager[Rewinding]:
        """Clients for rewinds."""

    def open_admin(self) -> Admin:
        """A client; a context manager."""

    def open_consumer(self) -> Consumer:
        """A consumer of no group; a context manager."""

    def trouble(self, error: BaseException) -> Trouble:
        """An error in its three parts."""
