"""DescribeAcls, CreateAcls and DeleteAcls, as brokers with an authorizer answer them. ACLs are kept, not obeyed."""

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kcli.core.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from kcli.core.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from kcli.core.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.fake.codes import Code

if TYPE_CHECKING:
    from tests.fake.state import Context

_ANY, _MATCH, _LITERAL, _PREFIXED = 1, 2, 3, 4
_NO_AUTHORIZER = "No Authorizer is configured."


class Acl(NamedTuple):
    """What a broker stores, with Kafka's numbers."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


class _Filter(Protocol):
    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


async def describe_acls(ctx: "Context", request: DescribeAclsRequest) -> DescribeAclsResponse:
    """All that match, by resource."""
    if not ctx.state.settings.authorizer:
        return DescribeAclsResponse(error_code=Code.SECURITY_DISABLED, error_message=_NO_AUTHORIZER)
    rows: dict[tuple[int, str, int], list[AclDescription]] = {}
    for acl in sorted(ctx.state.acls, reverse=True):  # in an order that nobody should rely on
        if _matches(request, acl):
            rows.setdefault(acl[:3], []).append(
                AclDescription(
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
            )
    return DescribeAclsResponse(
        resources=[
            DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=acls)
            for (kind, name, pattern), acls in rows.items()
        ]
    )


async def create_acls(ctx: "Context", request: CreateAclsRequest) -> CreateAclsResponse:
    """Each on its own; one that exists is no error."""
    answer = CreateAclsResponse(results=[_create(ctx, row) for row in request.creations])
    ctx.state.changed()
    return answer


def _create(ctx: "Context", row: AclCreation) -> AclCreationResult:
    if not ctx.state.settings.authorizer:
        return AclCreationResult(error_code=Code.SECURITY_DISABLED, error_message=_NO_AUTHORIZER)
    if (
        row.resource_pattern_type not in (_LITERAL, _PREFIXED)
        or not row.resource_name
        or ":" not in row.principal
    ):
        return AclCreationResult(error_code=Code.INVALID_REQUEST, error_message="invalid ACL")
    ctx.state.acls.add(
        Acl(
            row.resource_type, row.resource_name, row.resource_pattern_type, row.principal, row.host,
            row.operation, row.permission_type,
        )
    )  # fmt: skip
    return AclCreationResult(error_code=0)


async def delete_acls(ctx: "Context", request: DeleteAclsRequest) -> DeleteAclsResponse:
    """All that match a filter."""
    answer = DeleteAclsResponse(filter_results=[_delete(ctx, row) for row in request.filters])
    ctx.state.changed()
    return answer


def _delete(ctx: "Context", row: DeleteAclsFilter) -> DeleteAclsFilterResult:
    if not ctx.state.settings.authorizer:
        return DeleteAclsFilterResult(error_code=Code.SECURITY_DISABLED, error_message=_NO_AUTHORIZER)
    found = [acl for acl in sorted(ctx.state.acls) if _matches(row, acl)]
    ctx.state.acls.difference_update(found)
    return DeleteAclsFilterResult(matching_acls=[DeleteAclsMatchingAcl(**acl._asdict()) for acl in found])


def _matches(wanted: _Filter, acl: Acl) -> bool:
    return (
        wanted.resource_type_filter in (_ANY, acl.resource_type)
        and _matches_name(wanted.resource_name_filter, wanted.pattern_type_filter, acl)
        and wanted.principal_filter in (None, acl.principal)
        and wanted.host_filter in (None, acl.host)
        and wanted.operation in (_ANY, acl.operation)
        and wanted.permission_type in (_ANY, acl.permission_type)
    )


def _matches_name(name: str | None, pattern: int, acl: Acl) -> bool:
    if pattern not in (_ANY, _MATCH, acl.pattern_type):
        return False
    if name is None or name == acl.resource_name:
        return True
    if pattern != _MATCH:
        return False
    if acl.pattern_type == _PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name == "*"
