"""Which group somebody meant who named one that does not exist."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kcli.core.errors import KcliError, NotFoundError

if TYPE_CHECKING:
    from kcli.core.admin.admin import Admin

THERE_ARE = "`kcli groups list` shows the groups there are"


def name_nearest(admin: Admin, told: Mapping[str, object]) -> None:
    """Gives the errors of groups that do not exist, by name, the nearest names for a remedy: one question for all."""
    missing = {name: error for name, error in told.items() if isinstance(error, NotFoundError)}
    if not missing:
        return
    try:
        known = [row.group_id for row in admin.list_groups().groups]
    except KcliError:
        known = []  # what is known already is worth telling
    for name, error in missing.items():
        error.do = nearest_text(name, known)


def nearest_text(name: str, known: Collection[str]) -> str:
    """The remedy for a mistyped name."""
    near = get_close_matches(name, [one for one in known if one != name], 3)
    return f"did you mean {', '.join(near)}?" if near else THERE_ARE
