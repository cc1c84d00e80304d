"""AlterClientQuotas (API 49): quotas of users, client ids and IP addresses to be set or removed (KIP-546, KIP-612)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import BOOL, FLOAT64, INT16, INT32, STRING, Array, Struct, field


class AlteredEntity(Struct):
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


class AlteredQuotas(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entity: list[AlteredEntity] = field(Array(AlteredEntity))


class AlterClientQuotasResponse(Response):
    throttle_time_ms: int = field(INT32)
    entries: list[AlteredQuotas] = field(Array(AlteredQuotas))


class QuotaOp(Struct):
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


class QuotaAlteration(Struct):
    entity: list[AlteredEntity] = field(Array(AlteredEntity))
    ops: list[QuotaOp] = field(Array(QuotaOp))


class AlterClientQuotasRequest(
    Request, key=49, versions=(0, 1), flexible=1, response=AlterClientQuotasResponse
):
    entries: list[QuotaAlteration] = field(Array(QuotaAlteration))
    validate_only: bool = field(BOOL)
