"""What members of streams groups have and report (KIP-1071): parts of a ``GroupDescription``."""

from __future__ import annotations

from kcli.core.classes import NamedTuple, dataclass


class Task(NamedTuple):
    """A task of a Streams application: a subtopology reads this partition of all its source topics."""

    subtopology: str
    partition: int


class Tasks(NamedTuple):
    """What a member of a streams group has (KIP-1071). Only active tasks read and commit."""

    active: tuple[Task, ...] = ()
    standby: tuple[Task, ...] = ()
    warmup: tuple[Task, ...] = ()


class Subtopology(NamedTuple):
    """A part of a Streams application that has tasks of its own, with the names of its topics.

    ``sources``: topics of others that it reads. The application creates the rest: ``repartition_sinks`` are written,
    ``repartition_sources`` read, and ``changelogs`` have the content of its stores.
    """

    id: str
    sources: tuple[str, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    repartition_sources: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The topics that its tasks read: each task one partition of all that have so many."""
        return (*self.sources, *self.repartition_sources)


@dataclass(frozen=True, slots=True)
class StreamsClient:
    """What a member of a streams group reports of itself. ``process_id`` is that of its instance, which may have several
    members; ``endpoint`` is where it answers interactive queries, ``host:port``.

    ``offsets`` and ``end_offsets``: how far tasks have restored their changelogs, and to where; members report them of
    warm-up tasks.
    """

    process_id: str
    topology_epoch: int
    tags: tuple[tuple[str, str], ...] = ()
    endpoint: str | None = None
    offsets: tuple[tuple[Task, int], ...] = ()
    end_offsets: tuple[tuple[Task, int], ...] = ()
