"""Where the sandbox keeps its state and its jars: names of folders only, nothing is created here."""

import os
import re
from pathlib import Path

from kcli.files.xdg import cache_home, state_home
from kcli.sandbox.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def state_root() -> Path:
    """The folder with one folder per sandbox (``$XDG_STATE_HOME/kcli/sandboxes``)."""
    return state_home() / "sandboxes"


def cache_root() -> Path:
    """The folder of downloaded jars: ``$KCLI_CACHE``, else ``$XDG_CACHE_HOME/kcli``."""
    override = os.environ.get("KCLI_CACHE")
    return Path(override) if override else cache_home()


def home_of(name: str) -> Path:
    """The folder of the sandbox called ``name``; a name that is no plain file name is refused."""
    if not _NAME.match(name):
        raise UsageError(
            f"{name!r} is not a valid sandbox name",
            why="a name has letters, digits, '.', '_' and '-', at most 64, and starts with a letter or digit",
            do="as in `kcli sandbox up test`",
        )
    return state_root() / name
