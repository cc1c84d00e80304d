"""Whether a file that holds secrets, or commands that are run, is safe from other users. Pure.

A file of somebody else is refused, since its owner can change what kcli does; a file that others can read is used
with a warning. Files of root are trusted: root can do everything anyway.
"""

import os
import shlex
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcli.core.errors import ConfigError
from kcli.files.user_file import FileState
from kcli.profiles.profile import Pair
from kcli.profiles.secret_keys import holds_secret, runs_command

if TYPE_CHECKING:
    pass


_ROOT = 0


def refusal(path: str, state: FileState, user: int, content: str = "secrets") -> ConfigError | None:
    """Why the file must not be used by ``user`` (a uid); None if it may. ``content``: what makes it worth protecting."""
    if not state.is_file:  # a pipe that the shell has opened
        return None
    if state.link_owner not in (None, user, _ROOT):
        return ConfigError(
            f"{path} is not used: it is a symbolic link of another user",
            why=f"it holds {content}, and user {state.link_owner} can let it point anywhere",
            do=f"name the file itself: {os.path.realpath(path)}",
        )
    if state.owner not in (user, _ROOT):
        return ConfigError(
            f"{path} is not used: it belongs to another user",
            why=f"it holds {content}, and user {state.owner} can read and change it",
            do=f"take a copy of your own: cp {shlex.quote(path)} COPY && chmod 600 COPY",
        )
    return changeable(path, state, content)


def check_content(path: str, state: FileState, user: int, pairs: Iterable[Pair]) -> str | None:
    """ConfigError for a file whose options ``user`` (a uid) must not use; what is to be said about one that may be used.
    Only secrets, and commands that are run, are worth that.
    """
    given = list(pairs)
    secret = any(holds_secret(pair.key, pair.text) for pair in given)
    if not secret and not any(runs_command(pair.key) for pair in given):
        return None
    if (error := refusal(path, state, user, "secrets" if secret else "commands that kcli runs")) is not None:
        raise error
    return warning(path, state, user) if secret else None


def changeable(path: str, state: FileState, content: str) -> ConfigError | None:
    """Why the file must not be used: every user can write to it; None if that is not so."""
    if not state.is_file or not state.mode & stat.S_IWOTH:
        return None
    return ConfigError(
        f"{path} is not used: every user can change it",
        why=f"it holds {content}",
        do=f"check its content, then: chmod 600 {shlex.quote(path)}",
    )


def warning(path: str, state: FileState, user: int) -> str | None:
    """What is to be said about a file that may be used."""
    if not state.is_file:
        return None
    shown = shlex.quote(path)
    # A file of root is for whoever may read it: its group is how a Secret of Kubernetes reaches a user.
    of_group = stat.S_IWGRP if state.owner == _ROOT != user else stat.S_IRWXG
    if state.mode & (of_group | stat.S_IRWXO):
        return f"{path} holds secrets, and other users can read it: chmod 600 {shown}"
    if state.link_owner == user and user != _ROOT:
        return (
            f"{path} holds secrets and is a symbolic link to {os.path.realpath(path)}: name that file instead"
        )
    return None
