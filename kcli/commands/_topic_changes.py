"""The changes of ``kcli topics alter``: from the flags, compared with what is set, as a plan. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.commands._topic_config_values import list_words, same_value
from kcli.commands.shared.usage import usage
from kcli.core.admin.topics import TopicInfo
from kcli.core.errors import ConfigError, KcliError, NotFoundError
from kcli.core.near_names import near_names
from kcli.output.progress import counted
from kcli.output.sanitise import visible_line
from kcli.output.tables import Column, indented_table

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry

PLAN = (
    Column("topic", wide=True),
    Column("key"),
    Column("change"),
    Column("old"),
    Column("old_source", spare=1),
    Column("new"),
    Column("note", "prose"),
)
REPORT = (*PLAN[:-1], Column("status"), Column("note", "prose"))
SET, UNSET, APPEND, REMOVE, INCREASE = "set", "unset", "append", "remove", "increase"
PARTITIONS = "partitions"
_SECRET = "(secret)"  # noqa: S105 - shown in place of one
_MOVED_KEYS = "Added partitions cannot be removed, and records with the same key may go to another partition than before."


class ChangeRefusedError(KcliError):
    """The state of the topic forbids a change."""

    exit_code = 7


class Requested(NamedTuple):
    """A change of a key as given on the command line; ``value`` is None for UNSET."""

    key: str
    change: str
    value: str | None


class PlannedChange(NamedTuple):
    """A change and its effect. ``needed`` is false where the topic has the value already.

    ``old`` and ``new`` are for display: None is unknown or nothing. ``kind`` is the type of the key.
    """

    topic: str
    key: str
    change: str
    value: str | None
    old: str | None = None
    old_source: str | None = None
    new: str | None = None
    note: str = ""
    needed: bool = True
    kind: str = ""
    is_sensitive: bool = False
    error: KcliError | None = None


def requested_changes(
    set_: Iterable[str], unset: Iterable[str], append: Iterable[str], remove: Iterable[str]
) -> list[Requested]:
    """The changes of the flags; a usage error for one that is malformed, and for two of a key that contradict."""
    found: dict[str, Requested] = {}
    pairs: list[tuple[str, tuple[str, str | None]]] = [(SET, _pair(text, SET)) for text in set_]
    pairs += [(UNSET, (_key(text), None)) for text in unset]
    pairs += [(APPEND, _pair(text, APPEND)) for text in append]
    pairs += [(REMOVE, _pair(text, REMOVE)) for text in remove]
    for change, (key, value) in pairs:
        before = found.get(key)
        if before is None:
            found[key] = Requested(key, change, value)
        elif before.change == change and change in (APPEND, REMOVE):
            found[key] = Requested(key, change, f"{before.value},{value}")
        elif before != (key, change, value):
            raise usage(
                f"topics alter: {key} is changed twice, by --{before.change} and --{change}",
                why="a key can be changed once in a request",
                do=f"leave one of them out; several elements of a list: --{APPEND} {key}=A,B",
            )
    return list(found.values())


def planned_changes(
    topic: str, wanted: Sequence[Requested], entries: Sequence[ConfigEntry]
) -> list[PlannedChange]:
    """The effect of each change on what the topic has."""
    known = {entry.name: entry for entry in entries}
    return [
        _planned(topic, request, known[request.key])
        if request.key in known
        else PlannedChange(
            topic, request.key, request.change, request.value, error=_unknown_key(topic, request.key, known)
        )
        for request in wanted
    ]


def planned_partitions(topic: TopicInfo, count: int) -> PlannedChange:
    """The effect of ``--partitions``."""
    has = len(topic.partitions)
    change = PlannedChange(topic.name, PARTITIONS, INCREASE, str(count), str(has), None, str(count))
    if count < has:
        return change._replace(
            error=ChangeRefusedError(
                f"topic {topic.name} has {counted(has, 'partition')}, it cannot have {count}",
                why="Kafka cannot remove partitions of a topic: their records would be lost",
                do="create another topic with fewer partitions, and copy the records with "
                "`kcli consume -o ndjson` and `kcli produce -i ndjson`",
            ),
            note="Kafka cannot remove partitions",
        )
    if count == has:
        return change._replace(needed=False, note="has as many already")
    return change._replace(note=f"{count - has} added")


def is_applied(change: PlannedChange, entry: ConfigEntry | None) -> bool:
    """Whether what was read back has the change. Values of secrets cannot be compared."""
    if entry is None:
        return False
    if change.change == UNSET:
        return entry.is_default
    if change.is_sensitive:
        return not entry.is_default
    words = set(list_words(entry.value))
    if change.change == APPEND:
        return words >= set(list_words(change.value))
    if change.change == REMOVE:
        return not words & set(list_words(change.value))
    return not entry.is_default and same_value(change.kind, entry.value, change.value or "")


def plan_text(topic: str, changes: Sequence[PlannedChange]) -> str:
    """The plan for people."""
    columns = [column for column in PLAN if column.key != "topic"]
    table = indented_table(columns, [plan_row(change) for change in changes])
    needed = sum(change.needed and change.error is None for change in changes)
    lines = [f"Alter topic {visible_line(topic)}: {counted(needed, 'change')}.", *table]
    if any(change.change == INCREASE and change.needed and change.error is None for change in changes):
        lines.append(_MOVED_KEYS)
    return "\n".join(lines)


def plan_row(change: PlannedChange) -> dict[str, Any]:
    """A row of the plan."""
    return {
        "topic": change.topic,
        "key": change.key,
        "change": change.change,
        "old": _SECRET if change.is_sensitive and change.old_source is not None else change.old,
        "old_source": change.old_source,
        "new": _SECRET if change.is_sensitive and change.value is not None else change.new,
        "note": change.note or (refusal_note(change) if change.error is not None else None),
    }


def refusal_note(change: PlannedChange) -> str:
    """Why a change is refused, in the plan."""
    return "no such key" if isinstance(change.error, NotFoundError) else "refused"


def _planned(topic: str, wanted: Requested, entry: ConfigEntry) -> PlannedChange:
    key, change, value = wanted
    planned = PlannedChange(
        topic,
        key,
        change,
        value,
        old=entry.value,
        old_source=entry.source,
        new=_new_value(wanted, entry),
        kind=entry.type,
        is_sensitive=entry.is_sensitive,
    )
    if entry.read_only:
        return planned._replace(new=None, error=_read_only(topic, key))
    if change in (APPEND, REMOVE) and entry.type not in ("list", ""):
        return planned._replace(new=None, error=_no_list(key, entry.type))
    note = _unneeded(wanted, entry)
    if note:
        return planned._replace(needed=False, new=entry.value, note=note)
    if change == UNSET and planned.new is None:
        return planned._replace(note="the brokers' default applies")
    return planned._replace(note="the value is a secret" if entry.is_sensitive else "")


def _unneeded(wanted: Requested, entry: ConfigEntry) -> str:
    """Why nothing has to be done; empty where something has."""
    if wanted.change == UNSET:
        return "is not set on the topic" if entry.is_default else ""
    if entry.is_sensitive:
        return ""
    words, given = set(list_words(entry.value)), set(list_words(wanted.value))
    if wanted.change == APPEND:
        return "contained already" if words >= given else ""
    if wanted.change == REMOVE:
        return "" if words & given else "not contained"
    same = not entry.is_default and same_value(entry.type, entry.value, wanted.value or "")
    return "has this value already" if same else ""


def _new_value(wanted: Requested, entry: ConfigEntry) -> str | None:
    """The value afterwards: for UNSET the one that applies next, None where the broker does not report it."""
    if wanted.change == SET:
        return wanted.value
    if wanted.change == UNSET:
        return next((value for _, value, source in entry.synonyms if source != entry.own_source), None)
    words, given = list_words(entry.value), list_words(wanted.value)
    if wanted.change == APPEND:
        return ",".join(dict.fromkeys((*words, *given)))
    return ",".join(word for word in words if word not in given)


def _unknown_key(topic: str, key: str, known: Mapping[str, object]) -> NotFoundError:
    near = near_names(key, known, 3)
    return NotFoundError(
        f"topic {topic} has no configuration key {key!r}",
        why="the broker does not know it",
        do=f"did you mean {', '.join(near)}?"
        if near
        else "Kafka's documentation lists the keys of topics (topic configs)",
    )


def _read_only(topic: str, key: str) -> ChangeRefusedError:
    return ChangeRefusedError(
        f"{key} of topic {topic} cannot be changed",
        why="the broker reports it as read-only",
        do="it is set in the configuration of the brokers, if anywhere",
    )


def _no_list(key: str, kind: str) -> ConfigError:
    return ConfigError(
        f"{key} is not a list",
        why=f"--{APPEND} and --{REMOVE} change the elements of a list; it is of type {kind}",
        do=f"set it as a whole: --{SET} {key}=VALUE",
    )


def _pair(text: str, change: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip():
        raise usage(
            f"topics alter: --{change} {text!r} is not KEY=VALUE",
            why="there is no = in it" if not sign else "there is no key before the =",
            do=f"write --{change} "
            + ("retention.ms=3600000" if change == SET else "cleanup.policy=compact")
            + (f"; --{UNSET} {key} restores the default" if change == SET and not sign else ""),
        )
    if change != SET and not list_words(value):
        raise usage(
            f"topics alter: --{change} {text!r} names no element",
            why=f"--{change} changes the elements of a list",
            do=f"write --{change} cleanup.policy=compact",
        )
    return key.strip(), value


def _key(text: str) -> str:
    if "=" in text or not text.strip():
        raise usage(
            f"topics alter: --{UNSET} {text!r} is not a configuration key",
            why=f"--{UNSET} restores the default and needs no value" if text.strip() else "it is empty",
            do=f"write --{UNSET} {text.partition('=')[0].strip() or 'retention.ms'}",
        )
    return text.strip()
