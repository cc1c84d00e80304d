"""What a document of a file describes, and what is read of a cluster, in one form. Pure.

``Resource.spec`` is what stands below ``spec:`` in a document, in canonical form, so that two specs are equal exactly
where the resources are:

- Topic: ``partitions`` (int), ``replication_factor`` (int), ``config`` (key to text); ``assignment`` (partition to list
  of broker ids, the preferred leader first), only where a file has it or ``export --all`` asks for it.
- AclBinding: ``principal``, ``host``, ``permission``, ``operation``, ``resource_type``, ``resource_name``, ``pattern``,
  in the words of ``acls list``. A document with a list of ``operations`` describes one resource for each.
- User: ``mechanisms`` (such as ``SCRAM-SHA-512`` to ``{iterations: int}``, or to ``{}`` where a file has no number), and
  in files one of ``password_file``, ``password_command``, ``password_env``.
- Quota: ``entity`` (``user``, ``client-id``, ``ip`` to a name, or to null for the default), ``limits`` (key to number).
- BrokerConfig: ``config``; the name is a broker id, or ``default`` for all brokers. GroupConfig: ``config``.
- GroupOffsets: ``offsets`` (topic to partition to offset).

What a spec does not have is not asked for, so it is left as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.flows.quotas.values import spelling

if TYPE_CHECKING:
    from kcli.core.admin.configs import ConfigEntry

API_VERSION = "kcli/v1"

_WORD = re.compile(r'[^\s"\\]+')
_PART = re.compile(r'[^\s"\\,]+')


class Kind(StrEnum):
    """The kinds of documents, in the order in which they are written and applied."""

    TOPIC = "Topic"
    ACL_BINDING = "AclBinding"
    USER = "User"
    QUOTA = "Quota"
    BROKER_CONFIG = "BrokerConfig"
    GROUP_CONFIG = "GroupConfig"
    GROUP_OFFSETS = "GroupOffsets"


class Ref(NamedTuple):
    """What identifies a resource in a cluster. The name of an ACL is made of its whole binding, that of a quota of its
    entity, so documents of them need no ``metadata.name``.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def acl_name(spec: Mapping[str, Any]) -> str:
    """The name of an ACL, as ``AclBinding`` is written: ``allow User:ops read topic orders (literal) from *``."""
    said = {key: _quoted(str(value), _WORD) for key, value in spec.items()}
    what = f"{said['principal']} {said['operation']} {said['resource_type']} {said['resource_name']}"
    return f"{said['permission']} {what} ({said['pattern']}) from {said['host']}"


def quota_name(entity: Mapping[str, str | None]) -> str:
    """The name of a quota: ``user=ops,client-id=<default>``."""
    return ",".join(
        f"{kind}={_quoted(spelling(entity[kind]), _PART)}" for kind in sorted(entity, reverse=True)
    )


def _quoted(text: str, plain: re.Pattern[str]) -> str:
    """The text, in quotation marks where it is not plain: two names are equal only where all their words are."""
    return text if plain.fullmatch(text) else json.dumps(text, ensure_ascii=False)


class Place(NamedTuple):
    """Where in a file something stands, counted from one; no file where it was read of a cluster."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.file else "the cluster"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as a file or a cluster has it. ``places`` has those of parts of the spec by their path, such as
    ``("config", "retention.ms")``; that of the document is the one of the empty path. ``profile``: the profile of the
    cluster that a document names in ``metadata.profile``, else None. ``ignored``: what of a foreign document has no
    meaning here, by path, with the reason. ``entries``: of one that was read of a cluster, its configuration as brokers
    report it, also what is set elsewhere, by key: at least the keys that were asked for.
    """

    ref: Ref
    spec: Mapping[str, Any]
    places: Mapping[tuple[str, ...], Place] = field(default_factory=dict, compare=False)
    profile: str | None = field(default=None, compare=False)
    ignored: Mapping[str, str] = field(default_factory=dict, compare=False)
    entries: Mapping[str, ConfigEntry] = field(default_factory=dict, compare=False)

    @property
    def place(self) -> Place:
        """Of the document."""
        return self.places.get((), Place())


def nearest_place(resource: Resource, path: tuple[str, ...]) -> Place:
    """Of a part of the spec: its own, or that of what it is in."""
    ends = (path[:end] for end in range(len(path), 0, -1))
    return next((resource.places[end] for end in ends if end in resource.places), resource.place)
