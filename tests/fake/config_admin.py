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
    DescribeConfigsSynonym,
)
from kcli.core.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kcli.core.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.fake.codes import Code, RefusedError
from tests.fake.topic_admin import DEFAULTS

if TYPE_CHECKING:
    from tests.fake.state import Context, State

_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32
_BY_TOPIC, _BY_BROKER, _BY_ALL_BROKERS, _BY_FILE, _BY_DEFAULT = range(1, 6)
_BY_LOGGER, _BY_METRICS, _BY_GROUP = 6, 7, 8
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)
_LISTS = (
    "cleanup.policy",
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
)
_NUMBERS = ("max.message.bytes", "min.insync.replicas", "retention.bytes", "retention.ms", "segment.bytes")
_GROUP_DEFAULTS = {
    "consumer.heartbeat.interval.ms": "5000",
    "consumer.session.timeout.ms": "45000",
    "errors.deadletterqueue.topic.name": "",
    "share.auto.offset.reset": "latest",
    "share.record.lock.duration.ms": "30000",
}
_METRICS_DEFAULTS = {"interval.ms": "300000", "match": "", "metrics": ""}
_LOGGERS = (
    "kafka.server.KafkaApis",
    "kafka.server.KafkaServer",
    "org.apache.kafka",
    "org.apache.kafka.raft.Raft",
)
_LEVELS = ("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE")
_ROOT = "root"
_BROKER_DEFAULTS = {
    "log.retention.ms": "604800000",
    "message.max.bytes": "1048588",
    "ssl.keystore.password": "default-secret",
}
_UNLISTED = {"follower.replication.throttled.rate": "", "leader.replication.throttled.rate": ""}
"""What brokers have only where it is set."""
_SECRETS = ("ssl.keystore.password",)
_IN_BROKERS = {
    "cleanup.policy": "log.cleanup.policy",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.insync.replicas": "min.insync.replicas",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
}
"""Where brokers have the value of a topic that does not set it."""


async def describe_configs(ctx: "Context", request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """Each resource on its own."""
    rows = [_describe(ctx, resource, synonyms=request.include_synonyms) for resource in request.resources]
    return DescribeConfigsResponse(throttle_time_ms=0, results=rows)


def _describe(ctx: "Context", asked: DescribeConfigsResource, *, synonyms: bool) -> DescribeConfigsResult:
    code, message, configs = 0, None, list[DescribeConfigsResourceResult]()
    try:
        values = _values(ctx.state, ctx.node, asked.resource_type, asked.resource_name)
        configs = [_config(name, chain, synonyms=synonyms) for name, chain in sorted(values.items())]
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


Chain = list[tuple[str, int]]
"""The values of a key with their sources, the one in force first."""


def _values(state: "State", node: int, kind: int, name: str) -> dict[str, Chain]:
    if kind == _TOPIC:
        files = state.settings.broker_configs
        of_brokers = {key: files[place] for key, place in _IN_BROKERS.items() if place in files}
        return _chains(
            (state.topics.find(name).configs, _BY_TOPIC), (of_brokers, _BY_FILE), (DEFAULTS, _BY_DEFAULT)
        )
    if kind == _BROKER:
        all_brokers = (state.configs.get((kind, ""), {}), _BY_ALL_BROKERS)
        if name == "":
            return _chains(all_brokers)
        _check_broker(node, name)
        own = (state.configs.get((kind, name), {}), _BY_BROKER)
        creates = str(state.settings.auto_create_topics).lower()
        defaults = _BROKER_DEFAULTS | {"auto.create.topics.enable": creates, "num.partitions": "1"}
        files = {"broker.id": name, **state.settings.broker_configs}
        return _chains(own, all_brokers, (files, _BY_FILE), (defaults, _BY_DEFAULT))
    if kind == _GROUP:
        return _chains((state.configs.get((kind, name), {}), _BY_GROUP), (_GROUP_DEFAULTS, _BY_DEFAULT))
    if kind == _METRICS:
        return _chains((state.configs.get((kind, name), {}), _BY_METRICS), (_METRICS_DEFAULTS, _BY_DEFAULT))
    if kind == _LOGGER:
        _check_broker(node, name)
        return {
            key: [(level, _BY_LOGGER)] for key, level in _levels(state.configs.get((kind, name), {})).items()
        }
    raise RefusedError(Code.INVALID_REQUEST, f"Unexpected resource type {kind}")


def _levels(own: dict[str, str]) -> dict[str, str]:
    """The level of each logger: that of the longest name above it that has one."""
    found = {}
    for name in (_ROOT, *_LOGGERS):
        above = [one for one in own if one == name or name.startswith(f"{one}.")]
        found[name] = own[max(above, key=len)] if above else own.get(_ROOT, "INFO")
    return found


def _chains(*levels: tuple[dict[str, str], int]) -> dict[str, Chain]:
    """``levels``: the strongest first."""
    found: dict[str, Chain] = {}
    for values, source in levels:
        for key, value in values.items():
            found.setdefault(key, []).append((value, source))
    return found


def _check_broker(node: int, name: str) -> None:
    if name != str(node):
        what = f"Unexpected broker id, expected {node} or empty string, but received {name}"
        raise RefusedError(Code.INVALID_REQUEST, what)


def _config(name: str, chain: Chain, *, synonyms: bool) -> DescribeConfigsResourceResult:
    kind = 9 if name in _SECRETS else 7 if name in _LISTS else 5 if name in _NUMBERS else 2
    value, source = chain[0]
    secret = name in _SECRETS
    return DescribeConfigsResourceResult(
        name=name,
        value=None if secret else value,
        read_only=name == "broker.id",
        config_source=source,
        is_sensitive=secret,
        synonyms=[]
        if source == _BY_LOGGER
        else [
            DescribeConfigsSynonym(name=name, value=None if secret else each, source=by) for each, by in chain
        ]
        if synonyms
        else [],
        config_type=0 if source == _BY_LOGGER else kind,
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
        if kind == _TOPIC:
            ctx.state.topics.check_configs(change.name for change in asked.configs)
        own = dict(_own(ctx.state, kind, name))
        for change in asked.configs:
            if kind == _LOGGER and change.name not in known:
                raise RefusedError(Code.INVALID_REQUEST, f"Logger {change.name} does not exist!")
            of_plug_in = kind == _BROKER and not change.name.startswith(
                "listener.name."
            )  # brokers accept any
            if change.name not in known and not of_plug_in:
                raise RefusedError(Code.INVALID_CONFIG, f"Unknown config name: {change.name}")
            _apply(own, change.name, change.config_operation, change.value, known.get(change.name, ""))
            if kind == _LOGGER:
                _check_level(change.name, change.value)
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
        return dict.fromkeys(_IN_BROKERS, "") | DEFAULTS
    if kind == _BROKER:
        if name:
            _check_broker(ctx.node, name)
        return _BROKER_DEFAULTS | _UNLISTED
    if kind == _GROUP:
        return _GROUP_DEFAULTS
    if kind == _METRICS:
        return _METRICS_DEFAULTS
    if kind == _LOGGER:
        _check_broker(ctx.node, name)
        return dict.fromkeys((_ROOT, *_LOGGERS), "")
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
    words = [word for word in own.get(key, default).split(",") if word]
    if operation == _APPEND:
        words += [word for word in value.split(",") if word not in words]
    elif operation == _SUBTRACT:
        words = [word for word in words if word not in value.split(",")]
    own[key] = ",".join(words)


def _check_level(name: str, level: str | None) -> None:
    if level is None and name == _ROOT:
        text = "Removing the log level of the root logger is not allowed"
        raise RefusedError(Code.INVALID_REQUEST, text)
    if level is not None and level not in _LEVELS:
        raise RefusedError(Code.INVALID_CONFIG, f"Cannot set the log level of {name} to {level}")


async def list_config_resources(
    ctx: "Context", request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """What has something set; version 0 lists client metrics only."""
    kinds = (request.resource_types or [_METRICS, _GROUP]) if ctx.version else [_METRICS]
    rows = [
        ConfigResource(resource_name=name, resource_type=kind)
        for (kind, name), own in ctx.state.configs.items()
        if kind in kinds and own
    ]
    return ListConfigResourcesResponse(config_resources=rows)
