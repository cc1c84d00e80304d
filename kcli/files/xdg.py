"""The folders of the XDG specification, and kcli's subfolders: only names, nothing is created here."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def config_file() -> str:
    """``$XDG_CONFIG_HOME/kcli/config.toml``: what a user has written. A text: most commands need no ``pathlib``."""
    return os.path.join(_folder("XDG_CONFIG_HOME", ".config"), "kcli", "config.toml")


def state_home() -> "Path":
    """``$XDG_STATE_HOME/kcli``: what must survive a restart, such as journals of rewinds and running sandboxes."""
    return xdg_folder("XDG_STATE_HOME", ".local/state") / "kcli"


def cache_home() -> "Path":
    """``$XDG_CACHE_HOME/kcli``: what can be fetched again."""
    return xdg_folder("XDG_CACHE_HOME", ".cache") / "kcli"


def xdg_folder(variable: str, fallback: str) -> "Path":
    """The folder that ``variable`` names, else ``fallback`` below the home folder."""
    from pathlib import Path  # few runs need it

    return Path(_folder(variable, fallback))


def _folder(variable: str, fallback: str) -> str:
    value = os.environ.get(variable, "")
    # The XDG specification: a relative path is invalid and is ignored.
    return value if value.startswith("/") else os.path.join(os.path.expanduser("~"), fallback)
