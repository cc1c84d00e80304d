"""DescribeConfigs and IncrementalAlterConfigs: topics, and what else has a name. Any node may be asked, but brokers
answer for themselves.
"""

from typing import TYPE_CHECKING

from kcli.core.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kcli.core.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.topic_admin import DEFAULTS

if TYPE_CHECKING:
    from tests.fake.state import Context, State

_TOPIC, _BROKER, _GROUP = 2, 4, 32
_BY_TOPIC, _BY_BROKER, _BY_ALL_BROKERS, _BY_FILE, _BY_DEFAULT, _BY_GROUP = 1, 2, 3, 4, 5, 8
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_LISTS = ("cleanup.policy",)
_NUMBERS = ("max.message.bytes", "min.insync.replicas", "retention.bytes", "retention.ms", "segment.bytes")
_GROUP_DEFAULTS = {"consumer.heartbeat.interval.ms": "5000", "consumer.session.timeout.ms": "45000"}
_BROKER_DEFAULTS = {"log.retention.ms": "604800000", "message.max.bytes": "1048588"}


async def describe_configs(ctx: "Context", request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Each resource on its own."""
    return DescribeConfigsResponse(throttle_time_ms=0, results=[_describe(ctx, r) for r in request.resources])


def _describe(ctx: "Context", asked: DescribeConfigsResource) -> DescribeConfigsResult:
    code, message, configs = 0, None, list[DescribeConfigsResourceResult]()
    try:
        values = _values(ctx.state, ctx.node, asked.resource_type, asked.resource_name)
        configs = [_config(name, *value) for name, value in sorted(values.items())]
    except RefusedError as refused:
        code, message = refused.code, refused.message
    keys = asked.configuration_keys
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=[row for row in configs if keys is None or row.name in keys],
    )


def _values(state: "State", node: int, kind: int, name: str) -> dict[str, tuple[str, int]]:
    """Value and source of each key."""
    if kind == _TOPIC:
        own, defaults, source = state.topics.find(name).configs, DEFAULTS, _BY_TOPIC
    elif kind == _BROKER and name == "":
        own, defaults, source = state.configs.get((kind, name), {}), {}, _BY_ALL_BROKERS
    elif kind == _BROKER:
        _check_broker(node, name)
        all_brokers = state.configs.get((kind, ""), {})
        own, source = state.configs.get((kind, name), {}), _BY_BROKER
        found = {key: (value, _BY_DEFAULT) for key, value in _BROKER_DEFAULTS.items()}
        found |= {key: (value, _BY_ALL_BROKERS) for key, value in all_brokers.items()}
        return {
            **found,
            "broker.id": (name, _BY_FILE),
            **{key: (value, source) for key, value in own.items()},
        }
    elif kind == _GROUP:
        own, defaults, source = state.configs.get((kind, name), {}), _GROUP_DEFAULTS, _BY_GROUP
    else:
        raise RefusedError(Code.INVALID_REQUEST, f"Unexpected resource type {kind}")
    found = {key: (value, _BY_DEFAULT) for key, value in defaults.items()}
    return found | {key: (value, source) for key, value in own.items()}


def _check_broker(node: int, name: str) -> None:
    if name != str(node):
        what = f"Unexpected broker id, expected {node} or empty string, but received {name}"
        raise RefusedError(Code.INVALID_REQUEST, what)


def _config(name: str, value: str, source: int) -> DescribeConfigsResourceResult:
    kind = 7 if name in _LISTS else 5 if name in _NUMBERS else 2
    return DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=source == _BY_FILE,
        config_source=source,
        is_sensitive=False,
        config_type=kind,
        documentation=None,
    )


async def incremental_alter_configs(
    ctx: "Context", request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """All changes of a resource, or none."""
    rows = [_alter(ctx, resource, dry=request.validate_only) for resource in request.resources]
    ctx.state.changed()
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows)


def _alter(ctx: "Context", asked: AlterConfigsResource, *, dry: bool) -> AlterConfigsResourceResponse:
    code, message = 0, None
    kind, name = asked.resource_type, asked.resource_name
    try:
        known = _known(ctx, kind, name)
        own = dict(_own(ctx.state, kind, name))
        for change in asked.configs:
            if change.name not in known:
                raise RefusedError(Code.INVALID_CONFIG, f"Unknown config name: {change.name}")
            _apply(own, change.name, change.config_operation, change.value, known[change.name])
        if not dry:
            current = _own(ctx.state, kind, name)
            current.clear()
            current.update(own)
    except RefusedError as refused:
        code, message = refused.code, refused.message
    return AlterConfigsResourceResponse(
        error_code=code, error_message=message, resource_type=kind, resource_name=name
    )


def _known(ctx: "Context", kind: int, name: str) -> dict[str, str]:
    """The keys that may be set, with their defaults."""
    if kind == _TOPIC:
        ctx.state.topics.find(name)
        return DEFAULTS
    if kind == _BROKER:
        if name:
            _check_broker(ctx.node, name)
        return _BROKER_DEFAULTS
    if kind == _GROUP:
        return _GROUP_DEFAULTS
    raise RefusedError(Code.INVALID_REQUEST, f"Unexpected resource type {kind}")


def _own(state: "State", kind: int, name: str) -> dict[str, str]:
    if kind == _TOPIC:
        return state.topics.find(name).configs
    return state.configs.setdefault((kind, name), {})


def _apply(own: dict[str, str], key: str, operation: int, value: str | None, default: str) -> None:
    if operation == _DELETE:
        own.pop(key, None)
        return
    if value is None:
        raise RefusedError(Code.INVALID_REQUEST, f"Null value not supported for {key}")
    if operation == _SET:
        if key not in _LISTS and key in _NUMBERS and not value.lstrip("-").isdecimal():
            raise RefusedError(Code.INVALID_CONFIG, f"Invalid value {value} for configuration {key}")
        own[key] = value
        return
    if key not in _LISTS:
        raise RefusedError(Code.INVALID_CONFIG, f"Can't APPEND or SUBTRACT to key {key}: it is no list")
    words = own.get(key, default).split(",")
    if operation == _APPEND:
        words += [word for word in value.split(",") if word not in words]
    elif operation == _SUBTRACT:
        words = [word for word in words if word not in value.split(",")]
    own[key] = ",".join(words)
