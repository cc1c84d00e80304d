# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""AlterClientQuotas (API 49): quotas of users, client ids and IP addresses to be set or removed (KIP-546, KIP-612)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, FLOAT64, INT16, INT32, STRING, Array, Struct, field


class EntityData(Struct):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


class EntryData(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entity: list[EntityData] = field(Array(EntityData))


class AlterClientQuotasResponse(Response):
    throttle_time_ms: int = field(INT32)
    entries: list[EntryData] = field(Array(EntryData))


class OpData(Struct):
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


class RequestedEntryData(Struct):
    entity: list[EntityData] = field(Array(EntityData))
    ops: list[OpData] = field(Array(OpData))


class AlterClientQuotasRequest(
    Request, key=49, versions=(0, 1), flexible=1, response=AlterClientQuotasResponse
):
    entries: list[RequestedEntryData] = field(Array(RequestedEntryData))
    validate_only: bool = field(BOOL)
