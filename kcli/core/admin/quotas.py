"""Client quotas: lists those of users, client ids and IP addresses, and changes them (KIP-546, KIP-612)."""

from collections.abc import Iterable, Iterator, Mapping

from kcli.core.classes import dataclass
from kcli.core.cluster.cluster import Cluster
from kcli.core.cluster.fanout import Items, Part, fan_out, portions, verdict
from kcli.core.cluster.routes import ToController
from kcli.core.connection.plan import Broker
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, KcliError
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
        if response.error_code != NONE:
            needs = [on_cluster("DESCRIBE_CONFIGS")]
            raise BrokerError(response.error_code, what, message=response.error_message or "", needs=needs)
        return {
            QuotaEntity.of((part.entity_type, part.entity_name) for part in entry.entity): {
                value.key: value.value for value in entry.values
            }
            for entry in response.entries or ()
        }

    return cluster.call(lambda: cluster.send(request), check, deadline, what)


def alter_quotas(
    cluster: Cluster,
    changes: Mapping[QuotaEntity, Mapping[str, float | None]],
    deadline: float,
    *,
    validate_only: bool,
    unsure: set[QuotaEntity] | None = None,
) -> dict[QuotaEntity, KcliError | None]:
    """Sets quotas of entities by key, or removes those whose value is None; or only validates. None on success.

    All changes of an entity are made, or none. One that is repeated because of a lost response has the same effect again;
    ``unsure`` collects the entities with such an attempt.
    """

    def ask(
        _broker: Broker, items: Items[QuotaEntity, Mapping[str, float | None]]
    ) -> Iterator[Part[QuotaEntity]]:
        for some in portions(items, len):
            entries = [_entry(entity, values) for entity, values in some]
            request = AlterClientQuotasRequest(entries=entries, validate_only=validate_only)
            yield Part(request, [entity for entity, _ in some])

    def read(
        response: AlterClientQuotasResponse, _part: Part[QuotaEntity]
    ) -> Iterator[tuple[QuotaEntity, int | KcliError, None]]:
        for row in response.entries:
            entity = QuotaEntity.of((part.entity_type, part.entity_name) for part in row.entity)
            what, needs = f"changing the quotas of {entity}", [on_cluster("ALTER_CONFIGS")]
            yield entity, verdict(row.error_code, what, row.error_message, needs), None

    route = ToController[QuotaEntity](cluster)
    return fan_out(cluster, changes, route, ask, read, deadline, "changing the quotas of", unsure=unsure)


def _entry(entity: QuotaEntity, changes: Mapping[str, float | None]) -> RequestedEntryData:
    return RequestedEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts],
        ops=[
            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in changes.items()
        ],
    )
