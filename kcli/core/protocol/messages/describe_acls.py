# Made by `make protocol` from the definitions of Kafka 4.4.0; not to be edited.
"""DescribeAcls (API 29): the ACLs that a filter matches (KIP-140, KIP-290)."""

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT8, INT16, INT32, STRING, Array, Struct, field


class AclDescription(Struct):
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


class DescribeAclsResource(Struct):
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, "1+", default=3)
    acls: list[AclDescription] = field(Array(AclDescription))


class DescribeAclsResponse(Response):
    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resources: list[DescribeAclsResource] = field(Array(DescribeAclsResource))


class DescribeAclsRequest(Request, key=29, versions=(1, 3), flexible=2, response=DescribeAclsResponse):
    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(STRING, nullable="0+")
    pattern_type_filter: int = field(INT8, "1+", default=3)
    principal_filter: str | None = field(STRING, nullable="0+")
    host_filter: str | None = field(STRING, nullable="0+")
    operation: int = field(INT8)
    permission_type: int = field(INT8)
