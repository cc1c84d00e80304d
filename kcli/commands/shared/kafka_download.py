"""How far the download of Kafka is, for people: of ``kcli sandbox up`` and ``kcli demo``."""

from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.sandbox.progress import Progress


class Download:
    """Shows a download from its first report on; a start from the cache shows nothing."""

    def __init__(self, inv: Invocation) -> None:
        self._inv = inv
        self._bar: Any = None

    def __enter__(self) -> "Download":
        return self

    def __exit__(self, *_error: object) -> None:
        self._close()

    def show(self, progress: Progress) -> None:
        """Called by one downloading thread at a time."""
        if progress.stage == "wait":
            self._inv.talk.note("another kcli process downloads Kafka; waiting for it")
        elif progress.stage == "done":
            self._close()
        elif progress.stage == "resolve":
            self._open("finding Kafka's jars:", "descriptions").update(progress.jars_done)
        else:
            bar = self._open("downloading Kafka:", "jars")
            bar.total = progress.jars_total
            bar.update(progress.jars_done, progress.bytes_done)

    def _open(self, title: str, unit: str) -> Any:
        if self._bar is not None and self._bar.unit != unit:
            self._close()
        if self._bar is None:
            self._bar = self._inv.progress(title, unit=unit).__enter__()
        return self._bar

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
