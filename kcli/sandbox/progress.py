"""How far a download of Kafka is, for the caller that shows it."""

from collections.abc import Callable

from kcli.core.classes import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the jars are. ``stage``: ``wait`` (another process downloads), ``resolve``, ``download``, ``done``.

    Totals are 0 until known; while resolving, only ``jars_done`` counts (dependency descriptions read).
    """

    stage: str
    jars_done: int = 0
    jars_total: int = 0
    bytes_done: int = 0
    bytes_total: int = 0


OnProgress = Callable[[Progress], None]


def ignore_progress(_progress: Progress) -> None:
    """The default listener."""
