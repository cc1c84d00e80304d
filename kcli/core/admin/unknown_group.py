"""The error for a group that does not exist, and how texts and command lines name a group. Pure."""

from shlex import quote

from kcli.core.errors import NotFoundError

THERE_ARE = "`kcli groups list` lists the groups"


def group_argument(group: str) -> str:
    """The group as an argument of ``kcli groups describe``, ``lag`` and ``rewind``."""
    return quote(group) if group else "--empty-group"


def group_shown(group: str) -> str:
    """The group in a text: two quotes where its name is empty."""
    return group or "''"


def unknown_group(group: str, do: str = THERE_ARE) -> NotFoundError:
    """``do``: a better remedy, where the other groups are known."""
    why = "no group of that name has a member or a committed offset"
    return NotFoundError(f"group {group_shown(group)} does not exist", why=why, do=do)
