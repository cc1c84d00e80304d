"""The configuration of groups by which brokers treat them (KIP-848, KIP-932, KIP-1071), with the keys that concern their
type.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.errors import KcliError
from kcli.flows.configs.resources import described
from kcli.flows.groups.description import SHARE, STREAMS, Described

_KEYS = {
    "consumer": ("consumer.",),
    SHARE: ("share.", "errors.deadletterqueue."),
    STREAMS: ("streams.",),
}
"""Beginnings of keys by type. Classic groups have none: their members say how they are to be treated."""


def configurations(admin: Admin, groups: Iterable[Described]) -> dict[str, list[ConfigEntry] | KcliError]:
    """The keys of each group, with those that have a default; or why they cannot be read."""
    types = {group.group_id: group.type for group in groups}
    asked = [ConfigResource(ConfigKind.GROUP, name) for name, kind in types.items() if kind in _KEYS]
    entries = described(admin, asked) if asked else {}
    found: dict[str, list[ConfigEntry] | KcliError] = {name: [] for name in types}
    for resource, of_group in entries.items():
        found[resource.name] = (
            of_group
            if isinstance(of_group, KcliError)
            else [one for one in of_group if one.name.startswith(_KEYS[types[resource.name]])]
        )
    return found
