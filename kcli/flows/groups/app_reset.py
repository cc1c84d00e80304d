"""``kcli groups reset-app``: a Kafka Streams application starts anew. The offsets of its inputs are set, and its internal
topics deleted, so that nothing is left of what it has made of them.

Offsets come first: what is interrupted is finished by the same line, which finds them set, and the topics that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import join, quote
from typing import Any, cast

from kcli.account.change import Change, Item, Question, planned
from kcli.account.outcomes import GOOD, Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.group_description import GroupDescription
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.exit_codes import ExitCode
from kcli.core.names import THERE_ARE, own_group_danger
from kcli.flows.groups.app_offsets import ResetRequest, app_remedies, offsets_plan
from kcli.flows.groups.description import SHARE
from kcli.flows.groups.internal_topics import InternalTopics, internal_topics, may_be_internal, of_topology
from kcli.flows.groups.nearest import name_nearest
from kcli.flows.permitted import hidden
from kcli.flows.rewind import text
from kcli.flows.rewind.change import CHANGE as OFFSET_CHANGE
from kcli.flows.rewind.change import COLUMNS, FOUND, REASON, UNDO, Offset, OffsetsChange, Place
from kcli.flows.rewind.plan import NotPossibleError, RewindPlan, not_possible
from kcli.flows.topics.delete import Topic, TopicDeletion, TopicItem
from kcli.flows.topics.sizes import topic_sizes
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table

DELETE_TOPIC = "delete_topic"
_LOCAL_STATE = (
    "Local state is not reset: delete state.dir of each instance, or let the application call KafkaStreams.cleanUp()\n"
    "before it starts; else its result will be wrong. Its output topics stay as they are."
)
_SHOWN = 5


class NotResetError(KcliError):
    """A part is left as it is, since another part of the application could not be reset."""

    exit_code = ExitCode.REFUSED


class InternalTopic(NamedTuple):
    """An internal topic that is deleted. ``topic`` is None where it does not exist, ``bytes`` where that is unknown."""

    name: str
    topic: Topic | None
    bytes: int | None = None


Facts = Offset | InternalTopic
ResetItem = Item[Place, Facts]


class AppReset(Change[Place, Facts]):
    """The reset that was requested. ``where`` and ``dry`` are as in ``OffsetsChange``."""

    kind = "AppReset"
    printed_by = "groups reset-app"
    item_meaning = "A partition of an input topic, or an internal topic, which has no partition."
    columns = (
        *COLUMNS[:1],
        Column("topic"),
        Column("partition", "id", meaning="Number of the partition; null for an internal topic."),
        Column("committed", "number", spare=1),
        Column(
            "new",
            "number",
            meaning="The offset to be committed; null for an internal topic, which is deleted.",
        ),
        Column(
            "records",
            "number",
            spare=2,
            meaning="Of a partition: records that will be read again or skipped, at most; of an internal topic: records "
            "that it has, at most; null where it is unknown.",
        ),
        Column(
            "bytes",
            "size",
            spare=3,
            values="count?",
            meaning="Size of an internal topic; null where it is unknown.",
        ),
    )
    plan_columns = (OFFSET_CHANGE,)
    report_columns = (FOUND,)
    plan_keys = (
        Column("action", values=("commit", "keep", "refused", DELETE_TOPIC), meaning="What is to be done."),
    )
    report_keys = (REASON, *plan_keys, UNDO)
    tells_refusals = True
    nothing = ""

    def __init__(self, request: ResetRequest, where: text.Where, *, again: bool, dry: bool) -> None:
        self.request, self._where, self._dry = request, where, dry
        self._offsets = OffsetsChange(self._survey, where, again=again, dry=dry)
        self._deletion = TopicDeletion(())
        self._group: GroupDescription | None = None
        self._plan = RewindPlan("", ())
        self._found = InternalTopics()
        self._is_refused = False
        self._warnings: list[str] = []

    # the plan

    def decide(self, admin: Admin) -> list[ResetItem]:
        """All of it is refused where a part is: a half of a reset gives wrong results."""
        self._group = self._described(admin)
        named = {*self.request.inputs, *self.request.intermediate}
        self._found = internal_topics(admin, self.request.application, self._group, named)
        offsets = cast("list[ResetItem]", self._offsets.decide(admin))
        topics = self._doomed(admin)
        if self._group is None and not topics and not offsets:
            raise self._unknown(admin)
        return [*offsets, *topics]

    def _described(self, admin: Admin) -> GroupDescription | None:
        name = self.request.application
        found = admin.describe_groups([name], include_operations=True, all_types=True)[name]
        if isinstance(found, NotFoundError):
            return None
        if isinstance(found, KcliError):
            raise found
        if found.type == SHARE:
            raise NotPossibleError(
                f"group {name} cannot be reset",
                why="it is a share group, and no application of Kafka Streams",
                do=f"`kcli groups rewind {quote(name)} --to SPEC` sets its start offsets",
            )
        return found

    def _unknown(self, admin: Admin) -> KcliError:
        name = self.request.application
        error = NotFoundError(
            f"application {name} does not exist",
            why=f"there is neither a group of that name, nor a topic that is named as an internal topic of it ({name}-…)",
            do=THERE_ARE,
        )
        name_nearest(admin, {name: error})
        return error

    def _survey(self, admin: Admin) -> RewindPlan:
        self._plan = offsets_plan(admin, self.request, self._group, self._names())
        return self._plan

    def _names(self) -> Sequence[str]:
        """The internal topics that are to be deleted."""
        return tuple(dict.fromkeys(self.request.internal)) or self._found.own

    def _doomed(self, admin: Admin) -> list[ResetItem]:
        names, group = self._names(), self.request.application
        items: list[ResetItem] = []
        if not self.request.internal:
            error = self._unsure(self._found.unsure)
            for name in self._found.unsure:
                items.append(Item(Place(group, name), InternalTopic(name, None), Outcome.REFUSED, error))
        known = () if self._group is None else of_topology(self._group.subtopologies or ())
        fit = [name for name in names if name in known or may_be_internal(name, group)]
        self._deletion = TopicDeletion(fit)
        deleted = {item.key: item for item in self._deletion.decide(admin)} if fit else {}
        self._warnings = [*self._deletion.warnings([]), *self._left_text()]
        self._warnings += hidden(admin, "topics and groups")
        sizes = self._sizes(admin, [name for name, item in deleted.items() if item.facts is not None])
        refusal = self._refusal() or self._unlisted()
        for name in names:
            place, item = Place(group, name), deleted.get(name)
            if item is None:
                items.append(
                    Item(place, InternalTopic(name, None), Outcome.REFUSED, _not_internal(name, group))
                )
            elif isinstance(item.error, NotFoundError):  # the same line has deleted it before
                items.append(Item(place, InternalTopic(name, None), Outcome.UNCHANGED, note="does not exist"))
            else:
                error = refusal or item.error
                outcome = Outcome.PLANNED if error is None else Outcome.REFUSED
                items.append(Item(place, InternalTopic(name, item.facts, sizes.get(name)), outcome, error))
        return items

    def _sizes(self, admin: Admin, names: Sequence[str]) -> dict[str, int | None]:
        topics = (
            [one for one in admin.describe_topics(names).values() if isinstance(one, TopicInfo)]
            if names
            else []
        )
        survey = topic_sizes(admin, topics)
        self._warnings += [
            f"the size of some internal topics is not known: {part.why}" for part in survey.missing[:1]
        ]
        return {name: size.leaders for name, size in survey.items.items()}

    def _unsure(self, topics: Mapping[str, str]) -> KcliError | None:
        if not topics:
            return None
        name, rivals = self.request.application, ", ".join(sorted(set(topics.values())))
        line = ["kcli", "groups", "reset-app", name]
        words = [word for topic in self._found.own for word in ("--internal-topic", topic)]
        return NotPossibleError(
            f"it is not known whether {_some(list(topics))} {'is' if len(topics) == 1 else 'are'} of application {name}",
            why=f"the names would fit {'group' if len(set(topics.values())) == 1 else 'groups'} {rivals}, too",
            do=f"name all internal topics of {name}: `{join([*line, *(words or ['--internal-topic', 'TOPIC'])])}`",
        )

    def _unlisted(self) -> KcliError | None:
        """Names decide only where all groups are known that they could be of."""
        error = self._found.unlisted
        if error is None or self.request.internal:
            return None
        name = self.request.application
        return NotPossibleError(
            f"it is not known whether the internal topics of {name} are its own",
            why=f"not all groups could be listed, whose names may fit, too: {error}",
            do="try again when all coordinators are there, or name its internal topics with --internal-topic",
        )

    def _refusal(self) -> KcliError | None:
        """Why nothing of the application may be reset now."""
        planned_refusal = next((group.refusal for group in self._plan.groups), None)
        if planned_refusal is not None or self._group is None:
            return planned_refusal
        return not_possible(self._group, remedies=app_remedies(self._group.group_id))

    def _left_text(self) -> Iterator[str]:
        """Topics that are named like internal ones, and stay."""
        for name, why in self._found.left.items():
            if name not in self.request.internal:
                yield f"topic {name} stays: {why}"
        if self.request.internal:
            rest = [
                name for name in (*self._found.own, *self._found.unsure) if name not in self.request.internal
            ]
            if rest:
                stay = "stays" if len(rest) == 1 else "stay"
                yield f"{_some(rest)} {stay}: not among the internal topics that were named"
        elif not self._found.own and not self._found.unsure and self._is_unlikely():
            name = self.request.application
            yield f"no topic is named as an internal topic of {name}: is it a Kafka Streams application with state?"

    def _is_unlikely(self) -> bool:
        """Whether the group may be one of other consumers: no topology says that it has no internal topics."""
        return self._group is not None and self._group.subtopologies is None

    def together(self, plan: Sequence[ResetItem]) -> list[ResetItem]:
        """All of it, or none."""
        refused = [item.error for item in plan if item.outcome is Outcome.REFUSED]
        self._is_refused = bool(refused)
        if not refused:
            return list(plan)
        name = self.request.application
        error = NotResetError(
            f"application {name} was not reset",
            why=f"a part of it cannot be: {refused[0]}",
            do="nothing was done; run it again when that is solved",
        )
        whole = next((one for one in refused if one is not None and one.exit_code == ExitCode.REFUSED), None)
        return [
            item._replace(outcome=Outcome.REFUSED, error=whole or error)
            if item.outcome is not Outcome.REFUSED
            else item
            for item in plan
        ]

    def text(self, plan: Sequence[ResetItem]) -> str:
        """The offsets, the topics that go, and what cannot be undone."""
        name = self.request.application
        doomed = [
            item.facts
            for item in plan
            if isinstance(item.facts, InternalTopic) and item.facts.topic is not None
        ]
        shown = text.plan_text(self._plan, self._where, dry=self._dry)
        if not self._plan.groups:
            why = "" if self._group is not None else ", its group does not exist"
            shown = f"Reset application {visible_line(name)}: no offsets are to be set{why}."
        lines = [shown]
        if doomed:
            rows = [
                {
                    "internal_topic": one.name,
                    "partitions": one.topic and one.topic.partitions,
                    "records": one.topic and one.topic.records,
                    "bytes": one.bytes,
                }
                for one in doomed
            ]
            records = counted(
                sum(one.topic.records or 0 for one in doomed if one.topic is not None), "record"
            )
            lines += indented_table(_TOPICS, rows)
            would = "will" if planned(plan) else "would"
            lines.append(
                f"{counted(len(doomed), 'internal topic')} {would} be deleted, with up to {records}. "
                "That cannot be undone; the offsets can."
            )
        if planned(plan):
            lines.append(_LOCAL_STATE)
        return "\n".join(lines)

    def questions(self, plan: Sequence[ResetItem]) -> list[Question]:
        """The name of the application has to be typed."""
        name = self.request.application
        sentence = f"Reset application {name}?"
        return [Question(self.text(plan), sentence, name=name, danger=own_group_danger(name))]

    def warnings(self, plan: Sequence[ResetItem]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """What is named alike and stays, and what is not known of what goes."""
        return self._warnings

    def unchanged(self, plan: Sequence[ResetItem]) -> Iterable[str]:
        """Where nothing is to be done."""
        if not self._plan.groups and all(item.outcome is Outcome.UNCHANGED for item in plan):
            yield f"nothing is to be done: application {self.request.application} is reset"

    # the act

    def decided_again(self, admin: Admin, plan: Sequence[ResetItem]) -> list[ResetItem]:
        """The offsets are looked at again when they are set; the topics have to be the same ones."""
        topics = {item.key: item for item in _topic_items(plan)}
        again = self._deletion.decided_again(admin, list(topics.values()))
        changed = {item.key: item.error for item in again if item.outcome is Outcome.REFUSED}
        return self.together(
            [
                item._replace(outcome=Outcome.REFUSED, error=changed[item.key.topic])
                if isinstance(item.facts, InternalTopic) and item.key.topic in changed
                else item
                for item in plan
            ]
        )

    def act(self, admin: Admin, plan: Sequence[ResetItem]) -> list[ResetItem]:
        """Sets the offsets; deletes the topics if all are set and nobody has joined."""
        offsets = [_offset_item(item) for item in plan if isinstance(item.facts, Offset)]
        ended = self._offsets.act(admin, offsets) if self._plan.groups else offsets
        after = cast("list[ResetItem]", ended)
        topics = _topic_items(plan)
        error = self._stopped_by(admin, after) if topics else None
        if error is not None:
            deleted = [item._replace(outcome=Outcome.REFUSED, error=error) for item in topics]
        else:
            deleted = self._deletion.act(admin, topics) if topics else []
        ends = {item.key: item for item in deleted}
        done = {item.key: item for item in after}
        return [
            _ended(item, ends[item.facts.name])
            if isinstance(item.facts, InternalTopic) and item.facts.name in ends
            else done.get(item.key, item)
            for item in plan
        ]

    def _stopped_by(self, admin: Admin, offsets: Sequence[ResetItem]) -> KcliError | None:
        """Why no topic is to be deleted."""
        name = self.request.application
        wrong = next((item.error for item in offsets if item.outcome not in GOOD), None)
        if wrong is not None:
            return NotResetError(
                f"the internal topics of {name} were not deleted",
                why=f"not all offsets are set: {wrong}",
                do="run the same line again: it finishes what is left",
            )
        try:
            group = self._described(admin)
        except KcliError as error:
            return error
        return None if group is None else not_possible(group, remedies=app_remedies(name))

    def stopped(self, plan: Sequence[ResetItem]) -> Iterable[str]:
        """How to finish, and how to undo what may have been done."""
        yield from self._offsets.stopped([])
        if _topic_items(plan):
            name = self.request.application
            yield f"some internal topics of {name} may have been deleted; the same line finishes what is left"

    # the report

    def noticed(self, items: Sequence[ResetItem]) -> Iterable[str]:
        """Of the offsets."""
        return self._offsets.noticed([]) if any(isinstance(item.facts, Offset) for item in items) else ()

    def summary(self, items: Sequence[ResetItem]) -> Iterable[str]:
        """The offsets of the group, then the topics."""
        if self._plan.groups and not self._is_refused:
            yield from self._offsets.summary([])
        gone = [item.facts.name for item in items if isinstance(item.facts, InternalTopic)]
        if gone:
            yield f"deleted {counted(len(gone), 'internal topic')} of application {self.request.application}"

    def row(self, item: ResetItem) -> dict[str, Any]:
        """The values of the columns."""
        if isinstance(item.facts, Offset):
            return _offset_row(item, self._offsets.row(_offset_item(item)))
        return _topic_row(item, item.facts) | {"change": None}

    def report_row(self, item: ResetItem) -> dict[str, Any]:
        """Those of a report."""
        if isinstance(item.facts, Offset):
            of = _offset_item(item)
            return _offset_row(
                item, {"records": self._offsets.row(of)["records"], **self._offsets.report_row(of)}
            )
        return _topic_row(item, item.facts) | {"found": None, "reason": None, "undo": None}


_TOPICS = (
    Column("internal_topic"),
    Column("partitions", "number"),
    Column("records", "number"),
    Column("bytes", "size"),
)


def _topic_items(plan: Sequence[ResetItem]) -> list[TopicItem]:
    """The topics that are to be deleted, as the deletion of topics has them."""
    return [
        Item(item.facts.name, item.facts.topic)
        for item in plan
        if isinstance(item.facts, InternalTopic) and item.outcome is Outcome.PLANNED
    ]


def _offset_item(item: ResetItem) -> Item[Place, Offset]:
    return cast("Item[Place, Offset]", item)


def _offset_row(item: ResetItem, row: dict[str, Any]) -> dict[str, Any]:
    row.pop("span_seconds", None)
    action = "refused" if item.outcome is Outcome.REFUSED else row["action"]
    return {**row, "bytes": None, "action": action}


def _topic_row(item: ResetItem, facts: InternalTopic) -> dict[str, Any]:
    refused = item.outcome is Outcome.REFUSED
    return {
        "group": item.key.group,
        "topic": facts.name,
        "partition": None,
        "committed": None,
        "new": None,
        "records": facts.topic and facts.topic.records,
        "bytes": facts.bytes,
        "action": "refused" if refused else DELETE_TOPIC if facts.topic is not None else "keep",
    }


def _ended(item: ResetItem, end: TopicItem) -> ResetItem:
    return item._replace(outcome=end.outcome, error=end.error, note=end.note)


def _not_internal(topic: str, application: str) -> KcliError:
    return NotPossibleError(
        f"{topic} is no internal topic of {application}",
        why=f"these are named {application}-…-changelog or {application}-…-repartition",
        do=f"`kcli topics delete {quote(topic)}` deletes any topic",
    )


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
