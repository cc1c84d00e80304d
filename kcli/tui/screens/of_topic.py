"""What the screens of one topic share: what is known of it in a line, and the way from one of them to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from textual.binding import Binding

from kcli.flows.cluster_state import is_offline, is_under_replicated
from kcli.flows.monitor.cluster_reading import Part, TopicFacts, View
from kcli.flows.monitor.opened_topic import opened_topic
from kcli.flows.monitor.snapshot import Snapshot
from kcli.output.progress import counted, size_text
from kcli.tui import figures
from kcli.tui.cells import Cell
from kcli.tui.fitting import Part as Piece
from kcli.tui.look import SIGNS
from kcli.tui.screens.of_part import OfPart
from kcli.tui.shell import command

R = TypeVar("R")
TOPIC_KEYS = (("c", "copy"), ("/", "filter"), ("s", "sort"))
"""The keys of all screens of one topic."""


class OfTopic(OfPart[R]):
    """``topic`` names it; it may be deleted while the screen is open."""

    SUBJECT = "topic"
    SHARED_BY = "a topic"
    BINDINGS = [Binding("tab", "next", "partitions, readers, configuration", priority=True)]

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic

    @property
    def tab(self) -> str:
        return "topics"

    def part(self, snapshot: Snapshot) -> Part[TopicFacts] | None:
        return opened_topic(snapshot.reading, self.topic)

    def view(self) -> tuple[View, str | None]:
        return View(topic=self.topic), None

    def figures(self, snapshot: Snapshot, value: TopicFacts) -> Sequence[Piece]:  # noqa: ARG002
        parts = value.info.partitions
        offline, behind = sum(map(is_offline, parts)), sum(map(is_under_replicated, parts))
        logs = value.ends.values()
        kept = [log.end - log.start for log in logs if log.end is not None and log.start is not None]
        sizes = [value.sizes.get(one.partition) for one in parts]
        known = [size for size in sizes if size is not None]
        whole = size_text(sum(known)) if known and len(known) == len(parts) else figures.UNKNOWN
        found = [
            Piece((Cell(f"topic {self.topic}", "title"),)),
            Piece((Cell(counted(len(parts), "partition")),), 3),
            Piece((Cell(counted(value.info.replication_factor or 0, "replica"), "dim"),), 4),
        ]
        if offline:
            found.append(Piece((Cell(f"{SIGNS['bad']} {offline:,} offline", "bad"),)))
        if behind > offline:
            found.append(Piece((Cell(f"{SIGNS['warn']} {behind - offline:,} under-replicated", "warn"),)))
        return [
            *found,
            Piece((Cell(counted(sum(kept), "record") if kept else figures.UNKNOWN, "dim"),), 2),
            Piece((Cell(whole, "dim"),), 5),
        ]

    def copied(self) -> str:
        return command(("topics", "describe"), (self.topic,), (), self.app.facts.options)

    def action_next(self) -> None:
        """The next screen of this topic."""
        raise NotImplementedError
