"""A change of a cluster, or of a schema registry: what a verb supplies for ``commands/shared/changing.py``. Pure.

A verb decides about each item of its scope, sends the requests, and reads back; it has no skeleton of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from kcli.account.outcomes import Outcome, Settled
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NoLeaderError, OutcomeUnknownError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.output.progress import counted

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin  # noqa: F401 - named by a text below
    from kcli.output.tables import Column

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)
F = TypeVar("F")


class ChangedError(KcliError):
    """Something changed between the plan that was shown and the answer to the question."""

    exit_code = ExitCode.REFUSED

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} has changed since the plan was shown",
            why="another client has changed it, so the plan is out of date; nothing was done to it",
            do="run it again for a new plan",
        )


class Item(NamedTuple, Generic[K, F]):
    """An item of a plan or of a report. ``facts`` are what the verb knows of it: what it is and becomes. ``error`` says
    why it is refused, failed, or unknown; ``note`` is a remark.
    """

    key: K
    facts: F
    outcome: Outcome = Outcome.PLANNED
    error: KcliError | None = None
    note: str = ""


class TimeLimit(NamedTuple):
    """``until`` when an answer is accepted (seconds of the monotonic clock); ``otherwise``: the message after a "no", or
    without an answer.
    """

    until: float
    otherwise: str


class Question(NamedTuple):
    """A question before the change. ``plan`` is shown above it, unless it is empty. Where ``name`` is set, it has to be
    typed; ``--confirm`` may give it, or one of ``among``. ``danger`` says why ``--yes`` is not sufficient; ``subject`` is
    what has to be typed where only a protected profile requires it. ``limit``: how long an answer is waited for.
    """

    plan: str
    sentence: str
    name: str | None = None
    subject: str | None = None
    among: Collection[str] = ()
    danger: str | None = None
    limit: TimeLimit | None = None


class Found(NamedTuple, Generic[F]):
    """What was read back of an item: its facts now, and, where it is not as it should be, the error that says so.

    ``note`` is a remark. ``outcome`` is UNCHANGED for what was so already when it was to be changed.
    """

    facts: F
    error: KcliError | None = None
    note: str = ""
    outcome: Outcome = Outcome.DONE


class Journal(Protocol):
    """What it takes to make again what a change destroys, by ``kcli undo`` and its ``id``."""

    id: str
    can_undo: bool

    def write(self, cluster: str) -> None:
        """Has it on disk on return; an error if that fails."""

    def remove(self) -> None:
        """For a change that has changed nothing."""


class ChangeOf(Generic[A, K, F]):
    """A change of some items, through a client of what is changed: the ``admin`` of its methods.

    ``kind``: that of its documents, without ``Plan`` and ``Report``; ``printed_by``: the commands, ``also_planned_by``
    another one that prints the plan. ``columns``: of a row, without ``status`` and ``note``; ``plan_columns`` and
    ``report_columns`` follow them in only one of the two, and ``plan_keys`` and ``report_keys`` are in its JSON only.
    ``item_meaning`` says what a row is; ``parts``: see ``Account``. ``quiet_report``: people see no table of what was
    done, only its summary. ``tells_refusals``: the plan is shown even where all of it is refused, of which people
    otherwise read the errors only. ``nothing``: the note where nothing is to be done, if any. ``takes_stdout``: the verb
    prints something else there, so neither plan nor report go there.

    What an act leaves: ``interruption`` ended it early, and is raised after the report. ``stopped_by`` is the exit status
    of a signal that ended the waiting for what was changed. ``may_have_changed``: whether anything may have been changed.
    """

    kind: ClassVar[str]
    printed_by: ClassVar[str]
    item_meaning: ClassVar[str]
    columns: Sequence[Column]
    plan_columns: Sequence[Column] = ()
    report_columns: Sequence[Column] = ()
    plan_keys: Sequence[Column] = ()
    report_keys: Sequence[Column] = ()
    also_planned_by: ClassVar[str] = ""
    parts: ClassVar[bool] = False
    quiet_report: ClassVar[bool] = False
    tells_refusals: ClassVar[bool] = False
    nothing: str = "nothing is to be changed"
    takes_stdout: bool = False
    interruption: BaseException | None = None
    stopped_by: int = 0
    may_have_changed: bool = True

    def begin(self, admin: A) -> None:
        """Before the first contact: raises what forbids the change whatever the cluster is like, and has the client ask
        together with it for what ``decide`` needs.
        """

    def decide(self, admin: A) -> Sequence[Item[K, F]]:
        """The whole scope, in the user's order: what is planned, what is as it should be, and what is refused and why,
        authorization included. Nothing is changed. Raises what stands against all of it.
        """
        raise NotImplementedError

    def text(self, plan: Sequence[Item[K, F]]) -> str:
        """The plan for people."""
        raise NotImplementedError

    def questions(self, plan: Sequence[Item[K, F]]) -> Sequence[Question]:
        """What is asked before anything is changed. Where nothing is, people see no plan before the act."""
        raise NotImplementedError

    def confirmed(self) -> None:
        """After the questions: what the act needs besides, such as a password that is typed. Raises without it."""

    def together(self, plan: Sequence[Item[K, F]]) -> list[Item[K, F]]:
        """The plan without what is not to be changed since something else of it is refused; by default all of it."""
        return list(plan)

    def is_idle(self, plan: Sequence[Item[K, F]]) -> bool:
        """Whether nothing is to be sent, so that nothing is asked and the plan is the report."""
        return not planned(plan)

    def decided_again(self, admin: A, plan: Sequence[Item[K, F]]) -> list[Item[K, F]]:
        """The plan right before the act, where what has changed since it was shown is refused."""
        now = {item.key: item for item in self.decide(admin)}
        return self.together(
            [
                self.again(item, now.get(item.key)) if item.outcome is Outcome.PLANNED else item
                for item in plan
            ]
        )

    def again(self, item: Item[K, F], now: Item[K, F] | None) -> Item[K, F]:
        """A planned item, decided again (``now``) right before the act: refused if it has changed since the plan."""
        if now is not None and now.outcome is not Outcome.PLANNED:
            return now
        if now is None or now.facts != item.facts:
            return item._replace(outcome=Outcome.REFUSED, error=ChangedError(str(item.key)))
        return item

    def warnings(self, plan: Sequence[Item[K, F]]) -> Iterable[str]:  # noqa: ARG002
        """What is easily overlooked in the plan. They stand in its document, too."""
        return ()

    def unchanged(self, plan: Sequence[Item[K, F]]) -> Iterable[str]:
        """What is said of what is as it should be already; by default, where that is all of the plan."""
        if self.nothing and all(item.outcome is Outcome.UNCHANGED for item in plan):
            yield self.nothing

    def journal(self, admin: A, todo: Sequence[Item[K, F]]) -> Journal | None:  # noqa: ARG002
        """Of a change that destroys: what is written down before the act. None: nothing can be made again."""
        return None

    def act(self, admin: A, plan: Sequence[Item[K, F]]) -> list[Item[K, F]]:
        """The items of the plan with what became of them: changed, and read back."""
        todo = planned(plan)
        try:
            answers = self.apply(admin, todo) if todo else {}
        except KcliError as error:
            answers = dict.fromkeys((item.key for item in todo), error)
        found: Mapping[K, Found[F] | KcliError] = {}
        self.may_have_changed = any(one is None or is_lost(one) for one in answers.values())
        if self.may_have_changed:
            try:
                found = self.read_back(admin, todo)
            except KcliError as error:
                found = {item.key: self.not_read_back(item, error) for item in todo}
        ended = {item.key: self._ended(item, answers[item.key], found.get(item.key)) for item in todo}
        return [ended.get(item.key, item) for item in plan]

    def _ended(
        self, item: Item[K, F], answer: KcliError | None, found: Found[F] | KcliError | None
    ) -> Item[K, F]:
        end = settled(answer, found)
        item = item._replace(outcome=end.outcome, error=end.error)
        if isinstance(found, Found):
            return item._replace(facts=found.facts, note=found.note or item.note)
        return item._replace(facts=self.unread(item))

    def stopped(self, plan: Sequence[Item[K, F]]) -> Iterable[str]:
        """Warnings where the act was interrupted."""
        return (f"stopped: some of {counted(len(planned(plan)), 'change')} may have been made",)

    def apply(self, admin: A, todo: Sequence[Item[K, F]]) -> Mapping[K, KcliError | None]:
        """Changes the items; an error for each that failed. Raises what stands against all of them."""
        raise NotImplementedError

    def read_back(self, admin: A, items: Sequence[Item[K, F]]) -> Mapping[K, Found[F] | KcliError]:
        """What became of the items: an error for each that cannot be read."""
        raise NotImplementedError

    def not_read_back(self, item: Item[K, F], error: KcliError) -> KcliError:  # noqa: ARG002
        """The error for an item that was changed, where reading back failed with ``error``."""
        return error

    def unread(self, item: Item[K, F]) -> F:
        """The facts of an item that was not read back."""
        return item.facts

    def clean_up(self, admin: A, *, dry_run: bool) -> Iterable[KcliError]:  # noqa: ARG002
        """Removes what this act or an earlier one has left, such as a throttle, also where the act was interrupted.

        The errors count for the exit code.
        """
        return ()

    def whole(self, item: Item[K, F]) -> bool:  # noqa: ARG002
        """Of parts: whether the error of this item counts as it is, although other parts are as they should be."""
        return False

    def row(self, item: Item[K, F]) -> dict[str, Any]:
        """The values of the columns; a ``note`` among them stands for that of the item."""
        raise NotImplementedError

    def report_row(self, item: Item[K, F]) -> dict[str, Any]:
        """Those of a report, where they are others."""
        return self.row(item)

    def failures(self, items: Sequence[Item[K, F]]) -> Iterable[KcliError]:
        """The errors of the items, one for each reason."""
        return distinct(item.error for item in items if item.error is not None)

    def reason(self, error: KcliError) -> str:
        """An error as the note of an item."""
        return error.why or error.what

    def noticed(self, items: Sequence[Item[K, F]]) -> Iterable[str]:  # noqa: ARG002
        """What turned up during the act, as warnings. They stand in the report."""
        return ()

    def summary(self, items: Sequence[Item[K, F]]) -> Iterable[str]:
        """What was done, in sentences."""
        raise NotImplementedError


class Change(ChangeOf["Admin", K, F]):
    """A change of a Kafka cluster."""


def planned(plan: Sequence[Item[K, F]]) -> list[Item[K, F]]:
    """What is to be done of a plan."""
    return [item for item in plan if item.outcome is Outcome.PLANNED]


def distinct(errors: Iterable[KcliError]) -> Iterator[KcliError]:
    """Each error once: one that concerns several items is the same object."""
    seen = set()
    for error in errors:
        if id(error) not in seen:
            seen.add(id(error))
            yield error


def is_lost(error: KcliError | None) -> bool:
    """Whether the answer to a request was lost, so that what it did can only be read back."""
    return isinstance(error, OutcomeUnknownError | TimedOutError) and not isinstance(error, NoLeaderError)


def settled(answer: KcliError | None, found: Found[Any] | KcliError | None) -> Settled:
    """How an item ended, by the broker's answer and by what was read back (None: nothing was).

    What was read decides where the answer was lost. An item that is not as it should be may still become so then.
    """
    if answer is not None and not is_lost(answer):
        return Settled(Outcome.FAILED, answer)
    if isinstance(found, KcliError):
        return Settled(Outcome.UNKNOWN, answer or found)
    if found is None or found.error is not None:
        error = answer or (found.error if found is not None else None)
        assert error is not None, "an item that was changed is read back"
        return Settled(Outcome.UNKNOWN if answer is not None else Outcome.FAILED, error)
    return Settled(found.outcome)
