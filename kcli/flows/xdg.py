"""The folders of the XDG specification in which kcli keeps what it knows: names only, nothing is created here."""

import os
from pathlib import Path


def state_home() -> Path:
    """``$XDG_STATE_HOME/kcli``: what must survive a restart, as journals of rewinds and running sandboxes."""
    return _folder("XDG_STATE_HOME", ".local/state")


def cache_home() -> Path:
    """``$XDG_CACHE_HOME/kcli``: what can be fetched again."""
    return _folder("XDG_CACHE_HOME", ".cache")


def _folder(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path is invalid and is ignored.
    return (Path(value) if value.startswith("/") else Path.home() / fallback) / "kcli"
