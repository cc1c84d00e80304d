"""Topics that were asked for and of which no group has anything: a typo, or topics that nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from kcli.core.admin.admin import Admin
    from kcli.core.errors import KcliError


def unread_topics(admin: Admin, topics: Collection[str]) -> tuple[list[str], list[KcliError]]:
    """What is to be said of those that exist, and why the others cannot be looked at, with the nearest names."""
    from kcli.core.errors import KcliError

    told = admin.describe_topics(sorted(topics)) if topics else {}
    notes = [
        f"none of the groups has an offset or a member for topic {name}"
        for name, found in told.items()
        if not isinstance(found, KcliError)
    ]
    return notes, [found for found in told.values() if isinstance(found, KcliError)]
