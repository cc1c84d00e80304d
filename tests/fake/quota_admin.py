"""DescribeClientQuotas and AlterClientQuotas, as brokers answer them. Quotas are kept, not enforced."""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages import alter_client_quotas as altered
from kcli.core.protocol.messages import describe_client_quotas as described
from tests.fake.codes import Code, RefusedError

if TYPE_CHECKING:
    from tests.fake.state import Context

Entity = frozenset[tuple[str, str | None]]
"""(type, name) pairs; None is the default."""

_EXACT, _DEFAULT, _ANY = 0, 1, 2
_OF_CLIENTS = {
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
}
_OF_IPS = {"connection_creation_rate"}
_ALLOWED = ({"user"}, {"client-id"}, {"user", "client-id"}, {"ip"})


async def describe_client_quotas(
    ctx: "Context", request: described.DescribeClientQuotasRequest
) -> described.DescribeClientQuotasResponse:
    """All entities that have the components."""
    found = [
        described.EntryData(
            entity=[described.EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[described.ValueData(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in ctx.state.quotas.items()
        if values and _matches(request, dict(entity))
    ]
    return described.DescribeClientQuotasResponse(entries=found)


def _matches(request: described.DescribeClientQuotasRequest, entity: dict[str, str | None]) -> bool:
    if request.strict and {part.entity_type for part in request.components} != entity.keys():
        return False
    return all(_has(entity, part) for part in request.components)


def _has(entity: dict[str, str | None], part: described.ComponentData) -> bool:
    if part.entity_type not in entity:
        return False
    name = entity[part.entity_type]
    return part.match_type == _ANY or (
        name is None if part.match_type == _DEFAULT else name is not None and name == part.match
    )


async def alter_client_quotas(
    ctx: "Context", request: altered.AlterClientQuotasRequest
) -> altered.AlterClientQuotasResponse:
    """Each entity on its own: all its changes or none."""
    rows = [_alter(ctx, entry, dry=request.validate_only) for entry in request.entries]
    ctx.state.changed()
    return altered.AlterClientQuotasResponse(entries=rows)


def _alter(ctx: "Context", entry: altered.RequestedEntryData, *, dry: bool) -> altered.EntryData:
    entity: Entity = frozenset((part.entity_type, part.entity_name) for part in entry.entity)
    kinds = {kind for kind, _ in entity}
    code, message = 0, None
    try:
        if kinds not in _ALLOWED or len(kinds) != len(entry.entity):
            raise RefusedError(Code.INVALID_REQUEST, "Invalid client quota entity")
        values = dict(ctx.state.quotas.get(entity, {}))
        for op in entry.ops:
            if op.key not in (_OF_IPS if kinds == {"ip"} else _OF_CLIENTS):
                raise RefusedError(Code.INVALID_REQUEST, f"Invalid configuration key {op.key}")
            if op.remove:
                values.pop(op.key, None)
                continue
            if op.value <= 0:
                raise RefusedError(Code.INVALID_REQUEST, f"Quota {op.key} must be greater than 0")
            values[op.key] = op.value
        if not dry:
            ctx.state.quotas[entity] = values
    except RefusedError as refused:
        code, message = refused.code, refused.message
    return altered.EntryData(error_code=code, error_message=message, entity=entry.entity)
