"""DescribeClientQuotas (API 48): the quotas of users, client ids and IP addresses (KIP-546, KIP-612)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, FLOAT64, INT8, INT16, INT32, STRING, Array, Struct, field


class QuotaEntity(Struct):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


class QuotaValue(Struct):
    key: str = field(STRING)
    value: float = field(FLOAT64)


class QuotaEntry(Struct):
    entity: list[QuotaEntity] = field(Array(QuotaEntity))
    values: list[QuotaValue] = field(Array(QuotaValue))


class DescribeClientQuotasResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entries: list[QuotaEntry] | None = field(Array(QuotaEntry), nullable="0+")


class QuotaComponent(Struct):
    entity_type: str = field(STRING)
    match_type: int = field(INT8)
    match: str | None = field(STRING, nullable="0+")


class DescribeClientQuotasRequest(
    Request, key=48, versions=(0, 1), flexible=1, response=DescribeClientQuotasResponse
):
    components: list[QuotaComponent] = field(Array(QuotaComponent))
    strict: bool = field(BOOL)
