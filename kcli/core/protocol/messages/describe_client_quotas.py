# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeClientQuotas (API 48): the quotas of users, client ids and IP addresses (KIP-546, KIP-612)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, FLOAT64, INT8, INT16, INT32, STRING, Array, Struct, field


class EntityData(Struct):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


class ValueData(Struct):
    key: str = field(STRING)
    value: float = field(FLOAT64)


class EntryData(Struct):
    entity: list[EntityData] = field(Array(EntityData))
    values: list[ValueData] = field(Array(ValueData))


class DescribeClientQuotasResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entries: list[EntryData] | None = field(Array(EntryData), nullable="0+")


class ComponentData(Struct):
    entity_type: str = field(STRING)
    match_type: int = field(INT8)
    match: str | None = field(STRING, nullable="0+")


class DescribeClientQuotasRequest(
    Request, key=48, versions=(0, 1), flexible=1, response=DescribeClientQuotasResponse
):
    components: list[ComponentData] = field(Array(ComponentData))
    strict: bool = field(BOOL)
