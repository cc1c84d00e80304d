"""A change that is made of the changes of other verbs, one stage after the other: ``kcli apply``, and the undo of it.

Each stage decides, acts and reads back as its verb does, and looks at the cluster again right before it acts. Whatever
becomes of a stage, the next ones go on, unless the cluster cannot be reached any more, or the run is stopped. The items
of the stages are told as steps: parts of resources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from kcli.account.change import Change, Item, Question, planned
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import ConfigError, ConnectError, KcliError, TimedOutError
from kcli.core.exit_codes import ExitCode
from kcli.flows.journal import CreatedTopicEntry, Draft, Entry
from kcli.flows.resources.resource import Kind, Ref
from kcli.output.progress import counted
from kcli.output.tables import Column

CREATE, CHANGE, DELETE = "create", "change", "delete"


class NotBegunError(KcliError):
    """A step that was not reached: the run ended before."""

    exit_code = ExitCode.PARTLY


class NotPlannedError(KcliError):
    """A resource that is to be changed, and that no stage has anything of."""

    exit_code = ExitCode.REFUSED

    def __init__(self, ref: Ref) -> None:
        super().__init__(
            f"no step of the plan is about {ref}",
            why="it was to be changed, and there was nothing of it to change: it may have changed meanwhile; nothing was "
            "done to it",
            do="run it again for a new plan",
        )


class Step(NamedTuple):
    """A resource, or a part of it that can end differently from the others: a path such as ``config.retention.ms``."""

    ref: Ref
    part: str = ""

    def __str__(self) -> str:
        return f"{self.part} of {self.ref}" if self.part else str(self.ref)


class Told(NamedTuple):
    """What is done: create, change or delete, empty for nothing; and the values before and after, in words."""

    act: str = ""
    old: str | None = None
    new: str | None = None


StepItem = Item[Step, Told]
SubItem = Item[Any, Any]


@dataclass
class Stage:
    """``step`` and ``told`` say which step an item of the change is part of, and what is done. ``entries``: what it takes
    to make undone what is planned. ``destroys``: the plan shows it apart, after all others. ``scope``: the steps, where
    they are known before; all of them are refused where nothing can be decided. ``error``: that of an item. ``warns``:
    whether the warnings of the change say more than these errors.
    """

    change: Change[Any, Any]
    step: Callable[[SubItem], Step]
    told: Callable[[SubItem], Told]
    entries: Callable[[Admin, Sequence[SubItem]], Iterable[Entry]]
    destroys: bool = False
    scope: Sequence[Step] = ()
    error: Callable[[SubItem], KcliError | None] = lambda item: item.error
    warns: bool = True
    plan: list[SubItem] = field(default_factory=list)
    refusal: KcliError | None = None
    acted: bool = False

    def decide(self, admin: Admin) -> None:
        """Makes the plan of the stage; raises what stands against all stages."""
        try:
            self.change.begin(admin)
            self.plan = self.change.together(self.change.decide(admin))
        except (ConfigError, ConnectError, TimedOutError):
            raise
        except KcliError as error:
            if not self.scope:
                raise
            self.refusal = error

    def act(self, admin: Admin) -> None:
        """Looks at the cluster again, and changes what has stayed as it was."""
        if planned(self.plan):
            self.plan = list(self.change.decided_again(admin, self.plan))
        if planned(self.plan):
            self.acted = True
            self.plan = list(self.change.act(admin, self.plan))

    def end(self, outcome: Outcome, error: KcliError) -> None:
        """What is planned ends so."""
        self.plan = [
            item._replace(outcome=outcome, error=error) if item.outcome is Outcome.PLANNED else item
            for item in self.plan
        ]


_NOUNS = {
    Kind.TOPIC: "topic",
    Kind.ACL_BINDING: "ACL",
    Kind.USER: "user",
    Kind.QUOTA: "quota",
    Kind.BROKER_CONFIG: "broker configuration",
    Kind.GROUP_CONFIG: "group configuration",
    Kind.GROUP_OFFSETS: "group",
}
"""How summaries name the kinds."""
_WORST_FIRST = (
    Outcome.FAILED,
    Outcome.UNKNOWN,
    Outcome.REFUSED,
    Outcome.PLANNED,
    Outcome.DONE,
    Outcome.UNCHANGED,
)


class Composed(NamedTuple):
    """``stages`` in their order, none of which has decided yet. ``rest``: the steps for which there is none. ``asked``:
    the resources, each with how it ends where neither stages nor rest have a step of it; so each is in the account.
    """

    stages: list[Stage]
    rest: list[StepItem]
    asked: Mapping[Ref, StepItem]


def as_wanted(ref: Ref) -> StepItem:
    """The item of a resource of which nothing is to be done."""
    return Item(Step(ref), Told(), Outcome.UNCHANGED)


def not_planned(ref: Ref, act: str = "") -> StepItem:
    """The item of a resource of which there should be a step. ``act``: what is done to it, where that is known."""
    return Item(Step(ref), Told(act), Outcome.REFUSED, NotPlannedError(ref))


class StagedChange(Change[Step, Told]):
    """``compose`` says what is done, and of which resources. ``command`` is what its journal names."""

    item_meaning = "A resource, or a part of it."
    columns = (
        Column("resource", values=tuple(map(str, Kind)), meaning="The kind of the resource."),
        Column("name", "prose", values="string", meaning="Its name."),
        Column(
            "part",
            values="string?",
            meaning="The part of it, such as partitions or config.retention.ms; null for the whole.",
        ),
        Column(
            "change", values="string?", meaning="create, change or delete; null where nothing is changed."
        ),
        Column("old", "prose", values="string?", meaning="What was there; null where there was nothing."),
        Column("new", "prose", values="string?", meaning="What is to be there; null for nothing."),
    )
    quiet_report = True
    command: ClassVar[str]

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self._rest: list[StepItem] = []
        self._asked: Mapping[Ref, StepItem] = {}
        self._cluster = ""
        self._draft: Draft | None = None

    def compose(self, admin: Admin) -> Composed:
        """What is to be done."""
        raise NotImplementedError

    # the plan

    def decide(self, admin: Admin) -> list[StepItem]:
        """All steps."""
        self._cluster = admin.cluster_id()
        self.stages, self._rest, self._asked = self.compose(admin)
        for stage in self.stages:
            stage.decide(admin)
        return self._items()

    def _items(self) -> list[StepItem]:
        """The steps, each with the worst outcome of the items that it is made of; at least one of each resource."""
        found: dict[Step, StepItem] = {item.key: item for item in self._rest}
        for stage in self.stages:
            if stage.refusal is not None:
                found |= {key: Item(key, Told(), Outcome.REFUSED, stage.refusal) for key in stage.scope}
            for item in stage.plan:
                error = stage.error(item)
                step = Item(stage.step(item), stage.told(item), item.outcome, error, item.note)
                other = found.setdefault(step.key, step)
                if _WORST_FIRST.index(step.outcome) < _WORST_FIRST.index(other.outcome):
                    found[step.key] = step
        told = {step.ref for step in found}
        found |= {item.key: item for ref, item in self._asked.items() if ref not in told}
        order = list(Kind)
        return sorted(found.values(), key=lambda item: order.index(item.key.ref.kind))

    def text(self, plan: Sequence[StepItem]) -> str:
        """What each stage does; what destroys last."""
        texts = [text for stage in self.stages if not stage.destroys and (text := _text(stage))]
        last = [text for stage in self.stages if stage.destroys and (text := _text(stage))]
        if last:
            texts += ["Last, what removes something:", *last]
        same = {item.key.ref for item in plan if item.outcome is Outcome.UNCHANGED} - {
            item.key.ref for item in plan if item.outcome is not Outcome.UNCHANGED
        }
        if texts and same:
            texts.append(f"{counted(len(same), 'resource')} {'is' if len(same) == 1 else 'are'} as wanted.")
        return "\n".join(texts)

    def questions(self, plan: Sequence[StepItem]) -> list[Question]:
        """One for all, with the plan; then those for which a name has to be typed."""
        typed = [
            (stage, question)
            for stage in self.stages
            if planned(stage.plan)
            for question in stage.change.questions(stage.plan)
            if question.danger is not None or self.needs_name(stage)
        ]
        names = {question.name for _, question in typed}
        subject = names.pop() if len(names) == 1 else None
        first = Question(self.text(plan), f"{self._counts(plan)}?", subject=subject)
        return [first, *(question._replace(plan="") for _, question in typed)]

    def needs_name(self, stage: Stage) -> bool:  # noqa: ARG002
        """Whether the names of what the stage changes have to be typed."""
        return False

    def _counts(self, plan: Sequence[StepItem]) -> str:
        """``Create 3 resources, change 2 and delete 1``."""
        acts = list(self._acts(planned(plan)).values())
        counts = {act: acts.count(act) for act in (CREATE, CHANGE, DELETE) if act in acts}
        first, *others = (
            f"{act} {f'{count:,}' if number else counted(count, 'resource')}"
            for number, (act, count) in enumerate(counts.items())
        )
        head = ", ".join([first, *others[:-1]])
        return (f"{head} and {others[-1]}" if others else head).capitalize()

    def _acts(self, items: Sequence[StepItem]) -> dict[Ref, str]:
        """What is done to each resource: one of which only some parts are new, or go, is changed."""
        parts: dict[Ref, set[str]] = {}
        for item in items:
            parts.setdefault(item.key.ref, set()).add(item.facts.act)
        acts = {ref: self._asked[ref].facts.act if ref in self._asked else "" for ref in parts}
        return {ref: acts[ref] or (parts[ref].pop() if len(parts[ref]) == 1 else CHANGE) for ref in parts}

    def confirmed(self) -> None:
        """What the stages need besides."""
        for stage in self.stages:
            if planned(stage.plan):
                stage.change.confirmed()

    def decided_again(self, admin: Admin, plan: Sequence[StepItem]) -> list[StepItem]:  # noqa: ARG002
        """Each stage looks again when it is its turn."""
        return list(plan)

    def warnings(self, plan: Sequence[StepItem]) -> Iterator[str]:  # noqa: ARG002
        """Those of the stages."""
        for stage in self.stages:
            if stage.warns and planned(stage.plan):
                yield from stage.change.warnings(stage.plan)

    # the act

    def journal(self, admin: Admin, todo: Sequence[StepItem]) -> Draft | None:  # noqa: ARG002
        """What it takes to make the stages undone."""
        entries = [
            entry
            for stage in self.stages
            if planned(stage.plan)
            for entry in stage.entries(admin, planned(stage.plan))
        ]
        self._draft = Draft(self.command, entries) if entries else None
        return self._draft

    def act(self, admin: Admin, plan: Sequence[StepItem]) -> list[StepItem]:  # noqa: ARG002
        """One stage after the other."""
        lost: KcliError | None = None
        for stage in self.stages:
            if self.interruption is not None or self.stopped_by:
                stage.end(Outcome.REFUSED, _not_begun("the run was stopped before it was its turn"))
            elif lost is not None:
                stage.end(Outcome.FAILED, lost)
            else:
                lost = self._act(admin, stage)
        self.may_have_changed = any(stage.acted and stage.change.may_have_changed for stage in self.stages)
        return self._items()

    def _act(self, admin: Admin, stage: Stage) -> KcliError | None:
        """The error where the cluster cannot be reached."""
        try:
            stage.act(admin)
        except (ConnectError, TimedOutError) as error:
            stage.end(Outcome.UNKNOWN if stage.acted else Outcome.FAILED, error)
            return error
        except KcliError as error:
            stage.end(Outcome.UNKNOWN if stage.acted else Outcome.FAILED, error)
        except BaseException as error:  # noqa: BLE001 - Ctrl-C, too: it is raised after the report
            self.interruption = error
            stage.end(Outcome.UNKNOWN, _not_begun("the run was stopped while it was made"))
        self.stopped_by = stage.change.stopped_by
        self.after(stage)
        return None

    def after(self, stage: Stage) -> None:
        """A stage has ended."""

    def keep_ids(self, ids: Mapping[str, str]) -> None:
        """The journal gets the ids of topics that were created."""
        if self._draft is not None:
            self._draft.amend(
                [
                    CreatedTopicEntry(entry.topic, ids[entry.topic])
                    if isinstance(entry, CreatedTopicEntry) and entry.topic in ids
                    else entry
                    for entry in self._draft.entries
                ]
            )

    def clean_up(self, admin: Admin, *, dry_run: bool) -> Iterable[KcliError]:
        """What the stages leave."""
        return [error for stage in self.stages for error in stage.change.clean_up(admin, dry_run=dry_run)]

    # the report

    def noticed(self, items: Sequence[StepItem]) -> Iterator[str]:  # noqa: ARG002
        """What turned up in the stages."""
        for stage in self.stages:
            if stage.acted:
                yield from stage.change.noticed(stage.plan)

    def row(self, item: StepItem) -> dict[str, Any]:
        """The values of the columns."""
        told = item.facts
        return {
            "resource": str(item.key.ref.kind),
            "name": item.key.ref.name,
            "part": item.key.part or None,
            "change": told.act or None,
            "old": told.old,
            "new": told.new,
        }

    def summary(self, items: Sequence[StepItem]) -> Iterator[str]:
        """How many resources were created, changed and deleted."""
        words = {CREATE: "created", CHANGE: "changed", DELETE: "deleted"}
        acts = self._acts(items)
        for kind in dict.fromkeys(ref.kind for ref in acts):
            for act, word in words.items():
                count = sum(ref.kind is kind and one == act for ref, one in acts.items())
                if count:
                    yield f"{word} {counted(count, _NOUNS[kind])}, read back"


def _text(stage: Stage) -> str:
    return stage.change.text(stage.plan).rstrip("\n") if planned(stage.plan) else ""


def _not_begun(why: str) -> NotBegunError:
    return NotBegunError("not everything was done", why=why, do="the same line goes on")
