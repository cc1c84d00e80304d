"""Client quotas: lists those of users, client ids and IP addresses, and changes them (KIP-546, KIP-612)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kcli.core.cluster.cluster import CONTROLLER, Cluster
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, ProtocolError
from kcli.core.permissions import on_cluster
from kcli.core.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    RequestedEntryData,
)
from kcli.core.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

_EXACT, _DEFAULT = 0, 1

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""The types of entities, in Kafka's words."""


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """What a quota is for: (type, name) pairs, sorted by type; the name None is the default of that type."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[str, str | None]]) -> "QuotaEntity":
        """The entity of the pairs, whatever their order."""
        return cls(tuple(sorted(parts, key=lambda part: part[0])))

    def __str__(self) -> str:
        named = [
            f"the default {kind}" if name is None else f"{kind} {name}" for kind, name in reversed(self.parts)
        ]
        return ", ".join(named)


def describe_quotas(
    cluster: Cluster, wanted: Mapping[str, str | None], deadline: float, *, strict: bool
) -> dict[QuotaEntity, dict[str, float]]:
    """The quotas of the entities that have all ``wanted`` parts; with ``strict``, and no others."""
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=_DEFAULT if name is None else _EXACT, match=name)
            for kind, name in wanted.items()
        ],
        strict=strict,
    )
    what = "listing the quotas"

    def check(response: DescribeClientQuotasResponse) -> dict[QuotaEntity, dict[str, float]]:
        _raise(response.error_code, what, response.error_message, "describe_configs")
        return {
            QuotaEntity.of((part.entity_type, part.entity_name) for part in entry.entity): {
                value.key: value.value for value in entry.values
            }
            for entry in response.entries or ()
        }

    return cluster.call(lambda: cluster.send(request), check, deadline, what)


def alter_quotas(
    cluster: Cluster,
    entity: QuotaEntity,
    changes: Mapping[str, float | None],
    deadline: float,
    *,
    validate_only: bool,
) -> None:
    """Sets quotas by key, or removes those whose value is None; or only validates.

    A change repeated because of a lost response has the same effect again.
    """
    request = AlterClientQuotasRequest(
        entries=[
            RequestedEntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
                ops=[
                    OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                    for key, value in changes.items()
                ],
            )
        ],
        validate_only=validate_only,
    )
    what = f"changing the quotas of {entity}"

    def check(response: AlterClientQuotasResponse) -> None:
        if not response.entries:
            raise ProtocolError(what, why="the response does not contain the entity")
        for entry in response.entries:
            _raise(entry.error_code, what, entry.error_message, "alter_configs")

    cluster.call(lambda: cluster.send(request, CONTROLLER), check, deadline, what)


def _raise(code: int, what: str, message: str | None, needed: str) -> None:
    """``needed``: the operation on the cluster that the request requires."""
    if code == NONE:
        return
    raise BrokerError(code, what, message=message or "", needs=[on_cluster(needed.upper())])
