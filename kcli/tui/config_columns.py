"""The table of what is configured for a group or a topic, and known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kcli.core.classes import NamedTuple
from kcli.output.progress import duration_text, size_text
from kcli.output.tables import Field
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.columns import Column, fields_of

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry
    from kcli.core.admin.group_description import GroupDescription
    from kcli.flows.monitor.cluster_reading import TopicFacts


class ConfigRow(NamedTuple):
    """A key of a configuration, or a fact beside it. ``order`` keeps them in this order."""

    order: int
    name: str
    value: str
    source: str
    style: str = ""


_MOST_MS, _MOST_BYTES = 315_360_000_000, 10**15
"""From ten years and a petabyte on a value means: no limit."""


def _readable(row: ConfigRow) -> str:
    """Milliseconds and bytes in larger units, too."""
    if not row.value.isascii() or not row.value.isdecimal() or int(row.value) < 1000:
        return row.value
    if row.name.endswith(".ms") and int(row.value) < _MOST_MS:
        return f"{row.value} ({duration_text(int(row.value) / 1000)})"
    if row.name.endswith(".bytes") and int(row.value) < _MOST_BYTES:
        return f"{row.value} ({size_text(int(row.value))})"
    return row.value


COLUMNS: tuple[Column[ConfigRow], ...] = (
    Column(
        "NAME",
        36,
        lambda one: Cell(one.name),
        lambda one: one.order,
        grows=True,
        least=16,
        data=(
            Field(
                "name",
                of=lambda one: one.name,
                values="string",
                meaning="A fact about the group or topic, or a key of its configuration.",
            ),
        ),
    ),
    Column(
        "VALUE",
        20,
        lambda one: Cell(_readable(one), one.style),
        lambda one: one.value,
        grows=True,
        about="the value in use; bold where it is set for this group or topic",
        data=(Field("value", of=lambda one: one.value, meaning="The value in use."),),
    ),
    Column(
        "FROM",
        16,
        lambda one: Cell(one.source, "dim"),
        lambda one: one.source,
        drop=1,
        grows=True,
        data=(Field("source", of=lambda one: one.source, meaning="Who says so, or where the key is set."),),
    ),
)
FIELDS = fields_of(COLUMNS)


def topic_rows(topic: TopicFacts) -> list[ConfigRow]:
    """The topic's id, and the keys that differ from Kafka's defaults: bold those that are set on the topic."""
    rows = [ConfigRow(0, "topic id", topic.info.topic_id, "metadata")] if topic.info.topic_id else []
    if topic.configs is None:
        return [*rows, ConfigRow(1, "configuration", "not read", "", "dim")]
    return rows + [
        ConfigRow(
            number,
            one.name,
            "(hidden)" if one.value is None else one.value,
            one.source,
            "title" if one.source == "topic" else "",
        )
        for number, one in enumerate(topic.configs, 1)
    ]


_TYPES = ("consumer", "share", "streams")


def fact_rows(group: GroupDescription) -> list[ConfigRow]:
    """What a coordinator says of a group besides its members. It reports no generation of classic groups."""
    consumer = group.type == "consumer"
    facts = [
        ("type", f"{group.type}{' (KIP-848)' if consumer else ''}"),
        ("state", group.state),
        ("protocol type", group.protocol_type or figures.UNKNOWN),
        ("assignor", group.assignor or figures.UNKNOWN),
        ("coordinator", f"broker {group.coordinator}" if group.coordinator >= 0 else figures.UNKNOWN),
    ]
    if consumer:
        epochs = (("group epoch", group.epoch), ("assignment epoch", group.assignment_epoch))
        facts += [(name, figures.UNKNOWN if epoch < 0 else str(epoch)) for name, epoch in epochs]
    return [ConfigRow(number, name, value, "coordinator") for number, (name, value) in enumerate(facts)]


def entry_rows(entries: Sequence[ConfigEntry], kind: str, first: int) -> list[ConfigRow]:
    """The keys that groups of this type have, and those set on this one, which come first. Where the type is not known,
    those of consumers.

    Brokers describe the keys of all types: ``consumer.session.timeout.ms``, ``share.session.timeout.ms``, ….
    """
    others = tuple(f"{one}." for one in _TYPES if one != (kind or "consumer"))
    own = [one for one in entries if not (one.is_default and one.name.startswith(others))]
    ordered = sorted(own, key=lambda entry: (entry.is_default, entry.name))
    return [
        ConfigRow(
            first + number,
            entry.name,
            "(hidden)" if entry.is_sensitive else entry.value or "",
            entry.source,
            "" if entry.is_default else "title",
        )
        for number, entry in enumerate(ordered)
    ]
