"""The folders of the XDG specification, and kcli's subfolders: only names, nothing is created here."""

import os
from pathlib import Path


def config_home() -> Path:
    """``$XDG_CONFIG_HOME/kcli``: what a user has written."""
    return xdg_folder("XDG_CONFIG_HOME", ".config") / "kcli"


def state_home() -> Path:
    """``$XDG_STATE_HOME/kcli``: what must survive a restart, such as journals of rewinds and running sandboxes."""
    return xdg_folder("XDG_STATE_HOME", ".local/state") / "kcli"


def cache_home() -> Path:
    """``$XDG_CACHE_HOME/kcli``: what can be fetched again."""
    return xdg_folder("XDG_CACHE_HOME", ".cache") / "kcli"


def xdg_folder(variable: str, fallback: str) -> Path:
    """The folder that ``variable`` names, else ``fallback`` below the home folder."""
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path is invalid and is ignored.
    return Path(value) if value.startswith("/") else Path.home() / fallback
