# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""CreateAcls (API 30): ACLs to be added (KIP-140, KIP-290)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class AclCreationResult(Struct):
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


class CreateAclsResponse(Response):
    throttle_time_ms: int = field(INT32)
    results: list[AclCreationResult] = field(Array(AclCreationResult))


class AclCreation(Struct):
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    resource_pattern_type: int = field(INT8, "1+", default=3)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class CreateAclsRequest(Request, key=30, versions=(1, 3), flexible=2, response=CreateAclsResponse):
    creations: list[AclCreation] = field(Array(AclCreation))
