"""The error for a group that does not exist. Pure."""

from kcli.core.errors import NotFoundError

THERE_ARE = "`kcli groups list` lists the groups"


def unknown_group(group: str, do: str = THERE_ARE) -> NotFoundError:
    """``do``: a better remedy, where the other groups are known."""
    why = "no group of that name has a member or a committed offset"
    return NotFoundError(f"group {group} does not exist", why=why, do=do)
