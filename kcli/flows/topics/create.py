"""``kcli topics create``: creates topics, and compares those that exist with the request."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.account.change import Change, Found, Item, Question, is_lost
from kcli.account.outcomes import Outcome
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry
from kcli.core.admin.new_partitions import NotKnownError
from kcli.core.admin.topic_changes import CreatedTopic
from kcli.core.admin.topics import TopicInfo
from kcli.core.classes import NamedTuple
from kcli.core.cluster.metadata import unknown_topic
from kcli.core.error_codes import (
    INVALID_CONFIG,
    INVALID_REPLICATION_FACTOR,
    INVALID_TOPIC_EXCEPTION,
    TOPIC_ALREADY_EXISTS,
)
from kcli.core.errors import BrokerError, ConfigError, KcliError, NotFoundError, NotValidatedError
from kcli.core.exit_codes import ExitCode
from kcli.core.types import TopicSpec
from kcli.flows.configs.units import with_unit
from kcli.flows.configs.values import is_valid, own_values, same_value
from kcli.flows.permitted import creation_failed, denied_creations, not_checked
from kcli.flows.topics.partitions import many_partitions
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column

_TOO_MANY = "not checked by the broker: a check takes as much of its memory as the creation"


class TopicDiffersError(KcliError):
    """A topic exists, and differs from the request: ``differences`` says in what. ``like``: of the topic it is to equal
    in all settings, None where only what was requested counts.
    """

    exit_code = ExitCode.REFUSED

    def __init__(self, name: str, differences: str, like: str | None = None) -> None:
        super().__init__(
            f"topic {name} exists, and differs from {like or 'what was requested'}: {differences}",
            why="a topic that exists is left as it is"
            if like
            else "--if-not-exists leaves a topic that exists as it is",
            do=f"see `kcli topics describe {name}`; or choose another name for the copy"
            if like
            else f"see `kcli topics describe {name}`; or leave out the options that need not match",
        )
        self.differences = differences


class NewTopic(NamedTuple):
    """What a topic has, or will have; None is unknown. ``created``: whether the command has created it."""

    partitions: int | None = None
    replication_factor: int | None = None
    topic_id: str | None = None
    configs: Mapping[str, str | None] | None = None
    created: bool | None = False


NewItem = Item[str, NewTopic]
Errors = dict[str, KcliError | None]


class TopicCreation(Change[str, NewTopic]):
    """The topics of ``specs``. ``may_exist``: one that exists as it is requested is no error. ``dry_run``: the brokers
    will not be asked for the creation, so that what they do not check is compared with what the cluster shows.
    ``like``: the topic that has what the specs leave open; with ``exactly``, one that exists has no other settings.
    """

    kind = "TopicCreate"
    printed_by = "topics create"
    item_meaning = "A topic."
    columns = (
        Column("name", meaning="Name of the topic."),
        Column("partitions", "number", meaning="How many partitions; null where it is unknown."),
        Column("replication_factor", "number", meaning="Replicas of a partition; null where it is unknown."),
        Column("topic_id", spare=1, meaning="Id of the topic; null where the broker has none."),
        Column("configs", spare=2, meaning="What was set on it; null where it is unknown.", values="object?"),
        Column(
            "created",
            meaning="Whether the command has created it; false where it was there already, null where it is unknown.",
            values="boolean?",
        ),
    )
    quiet_report = True

    def __init__(
        self,
        specs: Sequence[TopicSpec],
        *,
        may_exist: bool,
        dry_run: bool,
        like: str | None = None,
        exactly: bool = False,
    ) -> None:
        self.specs = {spec.name: spec for spec in specs}
        self.may_exist, self.dry_run, self.like = may_exist, dry_run, like
        self._exactly = exactly
        self._model: Model | None = None
        self._danger: str | None = None
        self._unchecked = ""
        self._made: dict[str, CreatedTopic] = {}
        self._answers: Errors = {}

    def decide(self, admin: Admin) -> list[NewItem]:
        """Topics that exist, or that brokers would not create, are refused; with ``may_exist`` those that differ."""
        self._unchecked, self._made = "", {}
        if self.like is not None:
            found = model(admin, self.like)
            self.specs = _like(found, self.specs)
            self._model = found if self._exactly else None
        specs = list(self.specs.values())
        many = many_partitions(sum(spec.partitions for spec in specs)) is not None
        errors = _compared(admin, specs, thoroughly=True) if many else {}
        left = [spec for spec in specs if errors.get(spec.name) is None]
        count = sum(spec.partitions for spec in left)
        self._danger = many_partitions(count)
        if self._danger is not None and len(left) > 1:
            raise ConfigError(
                f"topics create: {counted(count, 'partition')} of {counted(len(left), 'topic')}",
                why=f"{self._danger}, so that --confirm has to name the topic; nothing was created",
                do="create the topics one at a time",
            )
        if self._danger is None:
            errors |= self._checked(admin, left)
        elif left:
            self._unchecked = _TOO_MANY
        exist = (
            [self.specs[name] for name, error in errors.items() if _exists(error)] if self.may_exist else []
        )
        same = self._same(admin, exist)
        return [same.get(name) or self._item(name, errors.get(name)) for name in self.specs]

    def _checked(self, admin: Admin, specs: Sequence[TopicSpec]) -> Errors:
        """The brokers' check, where they are known to do no more."""
        try:
            return admin.create_topics(specs, validate_only=True, made=self._made) if specs else {}
        except NotValidatedError as error:
            self._unchecked = not_checked(error) if self.dry_run else ""
            return _compared(admin, specs, thoroughly=self.dry_run)

    def _same(self, admin: Admin, specs: Sequence[TopicSpec]) -> dict[str, NewItem]:
        """The topics that exist: unchanged, or refused where they differ from the request."""
        found = _existing(admin, specs, self._model)
        return {
            name: Item(name, NewTopic(), Outcome.REFUSED, one)
            if isinstance(one, KcliError)
            else Item(name, one, Outcome.UNCHANGED)
            for name, one in found.items()
        }

    def _item(self, name: str, error: KcliError | None) -> NewItem:
        if error is not None:
            return Item(name, NewTopic(), Outcome.REFUSED, _with_remedy(name, error))
        return Item(name, self._planned(name))

    def _planned(self, name: str) -> NewTopic:
        """As brokers have checked it; else what was requested."""
        if name in self._made:
            return _of_created(self._made[name], created=False)._replace(topic_id=None)
        return NewTopic(max(self.specs[name].partitions, 0) or None)

    def text(self, plan: Sequence[NewItem]) -> str:
        """The topics that would be created."""
        lines = [
            _line(item.key, item.facts, self.specs[item.key])
            for item in plan
            if item.outcome is Outcome.PLANNED
        ]
        like = f" like {visible_line(self.like)}" if self.like is not None else ""
        return "\n".join([f"Create topics{like}:", *lines]) if lines else ""

    def settings(self, item: NewItem) -> str:
        """``6 partitions of 3 replicas, retention.ms=604800000 (7 d)``."""
        return _settings(item.facts, self.specs[item.key])

    def questions(self, plan: Sequence[NewItem]) -> list[Question]:
        """By its name, whether a topic with very many partitions is to be created. Others are without a question."""
        if self._danger is None:
            return []
        (name,) = (item.key for item in plan if item.outcome is Outcome.PLANNED)
        return [Question(self.text(plan), f"Create {name}?", name=name, danger=self._danger)]

    def warnings(self, plan: Sequence[NewItem]) -> Iterable[str]:  # noqa: ARG002 - the change's signature
        """That no broker has checked it."""
        return filter(None, [self._unchecked])

    def unchanged(self, plan: Sequence[NewItem]) -> Iterable[str]:
        """A line for each topic that exists as it is requested."""
        return (f"topic {item.key} already exists" for item in plan if item.outcome is Outcome.UNCHANGED)

    def apply(self, admin: Admin, todo: Sequence[NewItem]) -> Errors:
        """Creates the topics. One that has come to exist since is compared as those that existed."""
        self._made, self._answers = {}, {}
        self._answers = admin.create_topics([self.specs[item.key] for item in todo], made=self._made)
        return {
            name: None
            if isinstance(error, NotKnownError) or (self.may_exist and _exists(error))
            else error and _with_remedy(name, error)
            for name, error in self._answers.items()
        }

    def read_back(self, admin: Admin, items: Sequence[NewItem]) -> dict[str, Found[NewTopic] | KcliError]:
        """What brokers reported of topics that they created, and have shown with leaders; others are looked at."""
        found: dict[str, Found[NewTopic] | KcliError] = {}
        for name, answer in self._answers.items():
            if isinstance(answer, NotKnownError):
                found[name] = answer
            elif answer is None:
                found[name] = Found(_of_created(self._made.get(name), created=True))
        looked = [item for item in items if self._is_unsure(item.key)]
        now = _existing(admin, [self.specs[item.key] for item in looked], self._model)
        for item in looked:
            one = now[item.key]
            lost = not _exists(self._answers.get(item.key))
            found[item.key] = (
                Found(self.unread(item), one)
                if isinstance(one, KcliError)
                else Found(one._replace(created=None if lost else False))
            )
        return found

    def _is_unsure(self, name: str) -> bool:
        """Whether only a look says what became of it: the answer was lost, or it says that the topic exists."""
        if name not in self._answers:
            return True
        answer = self._answers[name]
        return is_lost(answer) or (self.may_exist and _exists(answer))

    def unread(self, item: NewItem) -> NewTopic:
        """As it was reported where brokers do not show it yet; whether it was created is unknown after a lost answer."""
        answer = self._answers.get(item.key)
        if isinstance(answer, NotKnownError):
            return _of_created(self._made.get(item.key), created=True)
        lost = item.key not in self._answers or is_lost(answer)
        return item.facts._replace(created=None if lost else False)

    def row(self, item: NewItem) -> dict[str, Any]:
        """The values of the columns."""
        return {"name": item.key, **item.facts._asdict()}

    def reason(self, error: KcliError) -> str:
        """In what a topic differs from the request, or why."""
        return error.differences if isinstance(error, TopicDiffersError) else super().reason(error)

    def summary(self, items: Sequence[NewItem]) -> Iterable[str]:
        """A line for each topic."""
        return (
            f"topic {item.key} already exists"
            if item.facts.created is False
            else f"created topic {item.key}{self._as_like(item)}"
            for item in items
        )

    def _as_like(self, item: NewItem) -> str:
        """What it has in common with the topic that it is like: people have seen no plan."""
        if self.like is None:
            return ""
        return f" like {self.like}: {self.settings(item)}"


def _like(like: Model, specs: Mapping[str, TopicSpec]) -> dict[str, TopicSpec]:
    """The specs with the partitions, the replication factor, and what is set on the topic, where they leave it open."""
    topic = like.topic
    return {
        name: spec._replace(
            partitions=len(topic.partitions) if spec.partitions == -1 else spec.partitions,
            replication_factor=(topic.replication_factor or -1)
            if spec.replication_factor == -1
            else spec.replication_factor,
            configs={**like.own, **spec.configs},
        )
        for name, spec in specs.items()
    }


class Model(NamedTuple):
    """A topic that others are made like, with what is set on itself, and all values in force; without secrets."""

    topic: TopicInfo
    own: Mapping[str, str]
    in_force: Mapping[str, str]


def model(admin: Admin, name: str) -> Model:
    """The topic. Which of its replicas are throttled is not among its settings: that names partitions and brokers of it.

    NotFoundError for a topic that does not exist; errors of brokers.
    """
    topic = admin.describe_topics([name])[name]
    if isinstance(topic, NotFoundError):
        raise unknown_topic(name, [one.name for one in admin.list_topics()])
    if isinstance(topic, KcliError):
        raise topic
    if topic.error is not None:
        raise topic.error
    entries = admin.describe_topic_configs([name])[name]
    if isinstance(entries, KcliError):
        raise entries
    return Model(topic, _set_on(entries), {one.name: one.value for one in entries if one.value is not None})


def further_settings(
    wanted: Mapping[str, str], in_force: Mapping[str, str], entries: list[ConfigEntry]
) -> list[str]:
    """What is set on a topic beside what is wanted, unless it is what is ``in_force`` on the topic that it is to be
    like: ``retention.ms=5 is set``.
    """
    return [
        f"{key}={with_unit(key, value)} is set"
        for key, value in _set_on(entries).items()
        if key not in wanted and in_force.get(key) != value
    ]


def _set_on(entries: list[ConfigEntry]) -> dict[str, str]:
    return {
        key: value
        for key, value in (own_values(entries) or {}).items()
        if value is not None and not key.endswith(".throttled.replicas")
    }


def _line(name: str, topic: NewTopic, spec: TopicSpec) -> str:
    return visible_line(f"  {name}: {_settings(topic, spec)}")


def _settings(topic: NewTopic, spec: TopicSpec) -> str:
    count = (
        "the broker's number of partitions"
        if topic.partitions is None
        else counted(topic.partitions, "partition")
    )
    copies = topic.replication_factor or max(spec.replication_factor, 0)
    replicas = f" of {counted(copies, 'replica')}" if copies else ""
    placed = f" on {_placed(spec.assignment)}" if spec.assignment else ""
    configs = "".join(f", {key}={with_unit(key, value)}" for key, value in spec.configs.items())
    return f"{count}{replicas}{placed}{configs}"


def _placed(assignment: Iterable[Iterable[int]]) -> str:
    """As it is typed: ``1:2,2:3``."""
    return ",".join(":".join(map(str, replicas)) for replicas in assignment)


def _of_created(made: CreatedTopic | None, *, created: bool) -> NewTopic:
    """As the broker has reported it; what an old one does not report is unknown."""
    if made is None:
        return NewTopic(created=created)
    return NewTopic(made.partitions, made.replication_factor, made.topic_id or None, made.configs, created)


def _compared(admin: Admin, specs: Sequence[TopicSpec], *, thoroughly: bool) -> Errors:
    """What is known without asking for the creation: which topics exist, and which the client may not create;
    ``thoroughly`` also what the cluster, as it is, cannot have.
    """
    found = admin.describe_topics([spec.name for spec in specs])
    exist = [name for name, topic in found.items() if isinstance(topic, TopicInfo)]
    errors: Errors = {name: BrokerError(TOPIC_ALREADY_EXISTS, creation_failed(name)) for name in exist}
    new = [spec for spec in specs if spec.name not in exist]
    errors |= denied_creations(admin, [spec.name for spec in new])
    if thoroughly:
        errors |= _impossible(admin, [spec for spec in new if spec.name not in errors])
    return errors


def _existing(
    admin: Admin, specs: Sequence[TopicSpec], equal: Model | None
) -> dict[str, NewTopic | KcliError]:
    """Topics as they are, or the error: TopicDiffersError where one is not as it is requested, or has settings that the
    topic ``equal`` does not have.
    """
    names = [spec.name for spec in specs]
    topics = admin.describe_topics(names) if names else {}
    configs = admin.describe_topic_configs(names) if names else {}
    return {spec.name: _as_requested(spec, topics[spec.name], configs[spec.name], equal) for spec in specs}


def _as_requested(
    spec: TopicSpec, topic: TopicInfo | KcliError, entries: list[ConfigEntry] | KcliError, equal: Model | None
) -> NewTopic | KcliError:
    if isinstance(topic, KcliError):
        return topic
    if isinstance(entries, KcliError) and (spec.configs or equal):
        return entries
    known = None if isinstance(entries, KcliError) else entries
    differs = differences(spec, topic, known or [])
    if equal:
        differs += further_settings(spec.configs, equal.in_force, known or [])
    if differs:
        return TopicDiffersError(spec.name, "; ".join(differs), equal and equal.topic.name)
    return NewTopic(
        len(topic.partitions), topic.replication_factor, topic.topic_id or None, own_values(known)
    )


def differences(spec: TopicSpec, topic: TopicInfo, entries: Sequence[ConfigEntry]) -> list[str]:
    """The differences: ``partitions 3, not 6``. Values of secrets cannot be compared."""
    copies = topic.replication_factor
    found = []
    if spec.partitions not in (-1, len(topic.partitions)):
        found.append(f"partitions {len(topic.partitions)}, not {spec.partitions}")
    if spec.replication_factor not in (-1, copies):
        found.append(f"replication factor {copies}, not {spec.replication_factor}")
    has = tuple(tuple(partition.replicas) for partition in topic.partitions)
    if spec.assignment and not found and has != spec.assignment:
        found.append(f"replicas {_placed(has)}, not {_placed(spec.assignment)}")
    values = {entry.name: entry for entry in entries}
    for key, wanted in spec.configs.items():
        entry = values.get(key)
        if entry is None:
            found.append(f"no configuration {key}")
        elif not entry.is_sensitive and not same_value(entry.type, entry.value, wanted):
            found.append(f"{key}={with_unit(key, entry.value)}, not {with_unit(key, wanted)}")
    return found


def _impossible(admin: Admin, specs: Sequence[TopicSpec]) -> dict[str, KcliError]:
    """Errors for topics that the cluster, as it is, cannot have: with the broker's codes."""
    if not specs:
        return {}
    topics, brokers = [topic.name for topic in admin.list_topics()], len(admin.cluster.view.nodes)
    keys = _keys_of_topics(admin, topics) if any(spec.configs for spec in specs) else {}
    wrong: dict[str, KcliError] = {}
    for spec in specs:
        clash = next((name for name in topics if _same_metric(name, spec.name)), None)
        if clash is not None:
            code, message = INVALID_TOPIC_EXCEPTION, f"its metrics would be those of topic {clash}"
        elif spec.replication_factor > brokers:
            code, message = INVALID_REPLICATION_FACTOR, f"the cluster has {counted(brokers, 'broker')}"
        elif refused := [text for key, value in spec.configs.items() if (text := _refused(keys, key, value))]:
            code, message = INVALID_CONFIG, "; ".join(refused)
        else:
            continue
        wrong[spec.name] = BrokerError(code, creation_failed(spec.name), message=message)
    return wrong


def _same_metric(one: str, other: str) -> bool:
    """Whether brokers take the names for the same in metrics, where ``.`` is ``_``."""
    return one.replace(".", "_") == other.replace(".", "_")


def _keys_of_topics(admin: Admin, topics: Sequence[str]) -> dict[str, ConfigEntry]:
    """The configuration keys that topics have, as one of them shows; empty where none can be described."""
    for entries in admin.describe_topic_configs(topics[:1]).values():
        if not isinstance(entries, KcliError):
            return {entry.name: entry for entry in entries}
    return {}


def _refused(keys: Mapping[str, ConfigEntry], key: str, value: str) -> str:
    """Why a topic cannot have this configuration; empty if it can, or if the keys are not known."""
    if keys and key not in keys:
        return f"there is no key {key}"
    return "" if not keys or is_valid(keys[key].type, value) else f"{value} is no {keys[key].type} for {key}"


def _exists(error: KcliError | None) -> bool:
    return isinstance(error, BrokerError) and error.code == TOPIC_ALREADY_EXISTS


def _with_remedy(name: str, error: KcliError) -> KcliError:
    if _exists(error) and not error.do:
        error.do = (
            "use --if-not-exists to accept a topic that already exists; "
            f"`kcli topics describe {shlex.quote(name)}` shows it"
        )
    return error
