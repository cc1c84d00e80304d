"""What is written to stderr while the screen has the terminal: to a file with -v and --debug, else after the screen."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kcli.core.errors import KcliError
from kcli.files.atomic import make_private_folder
from kcli.files.xdg import state_home
from kcli.output.talk import Talk

_HELD = 50


class HeldBack(io.StringIO):
    """Keeps the first different lines, and counts the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, None] = {}
        self.more = 0

    def write(self, text: str) -> int:
        """Whole lines, as ``Talk`` writes them."""
        line = text.rstrip("\n")
        if line in self.lines or len(self.lines) < _HELD:
            self.lines[line] = None
        else:
            self.more += 1
        return len(text)


@contextmanager
def stderr_kept(talk: Talk, *, to_file: bool) -> Iterator[None]:
    """Messages of the block do not reach the terminal before its end."""
    held = HeldBack()
    path = _log_path() if to_file else None
    try:
        if path is None:
            with talk.sent_to(held):
                yield
        else:
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file, talk.sent_to(file):
                yield
    finally:
        for line in held.lines:
            talk.write(line)
        if held.more:
            talk.write(f"({held.more:,} more; -v writes all to a file)")
        if path is not None:
            _name_log(talk, path)


def _log_path() -> Path | None:
    """A new file in kcli's state folder; None where there can be none."""
    folder = state_home() / "top"
    with suppress(KcliError, OSError):
        make_private_folder(folder, KcliError)
        path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return path
    return None


def _name_log(talk: Talk, path: Path) -> None:
    with suppress(OSError):
        if path.stat().st_size:
            talk.plain(f"log: {path}")
        else:
            path.unlink()
