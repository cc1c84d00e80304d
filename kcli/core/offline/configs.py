"""DescribeConfigs and ListConfigResources: what was set while the cluster ran, as the metadata log has it.

Defaults of Kafka and values of ``server.properties`` are in no log directory: of brokers these are missing, of
what inherits them that is noted.
"""

import re

from kcli.core.classes import NamedTuple
from kcli.core.error_codes import NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.errors import NotInLogDirsError
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import MetadataImage
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.offline.states import asked_node
from kcli.core.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kcli.core.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_TOPIC, _BROKER, _CLIENT_METRICS, _GROUP = 2, 4, 16, 32
_OWN_SOURCE = {_TOPIC: 1, _BROKER: 2, _CLIENT_METRICS: 7, _GROUP: 8}
_DEFAULT_SOURCE = 3
"""Set for all brokers."""
SECRET_NAMES = re.compile(
    r"password|passphrase|secret|jaas|credential|(?<!delegation\.)token|private|(?:api|access|account)[._-]?key"
    r"|keystore\.(?:key|certificate)|truststore\.cert",
    re.IGNORECASE,
)
"""In names of configurations: their values are passwords to Kafka, or may be. Those of plugins are not known to it."""

_MINUTE, _HOUR = 60_000, 3_600_000
_SAME = ("compression.gzip.level", "compression.lz4.level", "compression.type", "compression.zstd.level",
         "min.insync.replicas", "unclean.leader.election.enable")  # fmt: skip
_LOG = ("cleanup.policy", "index.interval.bytes", "local.retention.bytes", "local.retention.ms",
        "message.downconversion.enable", "message.format.version", "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms", "message.timestamp.difference.max.ms", "message.timestamp.type",
        "preallocate", "retention.bytes", "segment.bytes")  # fmt: skip
_CLEANER = ("delete.retention.ms", "max.compaction.lag.ms", "min.compaction.lag.ms")
_BROKER_KEYS: dict[str, tuple[tuple[int, str], ...]] = {
    **{key: ((1, key),) for key in _SAME},
    **{key: ((1, f"log.{key}"),) for key in _LOG},
    **{key: ((1, f"log.cleaner.{key}"),) for key in _CLEANER},
    "file.delete.delay.ms": ((1, "log.segment.delete.delay.ms"),),
    "flush.messages": ((1, "log.flush.interval.messages"),),
    "flush.ms": ((1, "log.flush.interval.ms"), (1, "log.flush.scheduler.interval.ms")),
    "max.message.bytes": ((1, "message.max.bytes"),),
    "min.cleanable.dirty.ratio": ((1, "log.cleaner.min.cleanable.ratio"),),
    "retention.ms": (
        (1, "log.retention.ms"),
        (_MINUTE, "log.retention.minutes"),
        (_HOUR, "log.retention.hours"),
    ),
    "segment.index.bytes": ((1, "log.index.size.max.bytes"),),
    "segment.jitter.ms": ((1, "log.roll.jitter.ms"), (_HOUR, "log.roll.jitter.hours")),
    "segment.ms": ((1, "log.roll.ms"), (_HOUR, "log.roll.hours")),
}
"""For a key of topics those of brokers, and how many of its units one of theirs has (ServerTopicConfigSynonyms)."""


def describe_configs(
    directories: Directories, request: DescribeConfigsRequest, _version: int
) -> DescribeConfigsResponse:
    """The values that are set on each resource, and for a broker those that are set for all of them."""
    try:
        known = directories.image()
    except NotHereError as error:
        code, message = error.code, error.why
        return DescribeConfigsResponse(
            throttle_time_ms=0, results=[_result(asked, code, message) for asked in request.resources]
        )
    if any(asked.resource_type == _BROKER and asked.resource_name for asked in request.resources):
        directories.miss(
            NotInLogDirsError(
                "the configurations of brokers are not known as a whole",
                why="log directories have those that were set while the cluster ran; defaults and server.properties are "
                "not in them",
                do="read server.properties of the brokers as well",
            )
        )
    else:
        directories.note(
            "configurations are those that were set while the cluster ran: defaults and server.properties are not in log "
            "directories",
            "warning",
        )
    return DescribeConfigsResponse(
        throttle_time_ms=0,
        results=[
            _described(known, asked, request.include_synonyms, asked_node(directories))
            for asked in request.resources
        ],
    )


def list_config_resources(
    directories: Directories, request: ListConfigResourcesRequest, _version: int
) -> ListConfigResourcesResponse:
    """What has a configuration of its own; version 0 lists client metrics."""
    known = directories.image()
    wanted = request.resource_types or ([_CLIENT_METRICS] if _version == 0 else list(_OWN_SOURCE))
    names = {(kind, name) for kind, name in known.configs if name}
    names |= {(_TOPIC, name) for name in known.topics} | {(_BROKER, str(number)) for number in known.brokers}
    return ListConfigResourcesResponse(
        throttle_time_ms=0,
        error_code=NONE,
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind, name in sorted(names)
            if kind in wanted
        ],
    )


def _result(
    asked: DescribeConfigsResource,
    code: int,
    message: str | None = None,
    rows: list[DescribeConfigsResourceResult] | None = None,
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=rows or [],
    )


class _Layer(NamedTuple):
    """The values of one source."""

    source: int
    values: dict[str, str]


def _described(
    known: MetadataImage, asked: DescribeConfigsResource, synonyms: bool, node: int
) -> DescribeConfigsResult:
    kind, name = asked.resource_type, asked.resource_name
    if kind == _TOPIC and name not in known.topics:
        return _result(asked, UNKNOWN_TOPIC_OR_PARTITION)
    source = _OWN_SOURCE.get(kind, 0) if name or kind != _BROKER else _DEFAULT_SOURCE
    layers = [_Layer(source, known.configs.get((kind, name), {}))]
    if kind == _BROKER and name:
        layers.append(_Layer(_DEFAULT_SOURCE, known.configs.get((kind, ""), {})))
    elif kind == _TOPIC:
        layers += [
            _Layer(_OWN_SOURCE[_BROKER], _of_topics(known.configs.get((_BROKER, str(node)), {}))),
            _Layer(_DEFAULT_SOURCE, _of_topics(known.configs.get((_BROKER, ""), {}))),
        ]
    keys = sorted({key for layer in layers for key in layer.values})
    if asked.configuration_keys is not None:
        keys = [key for key in keys if key in asked.configuration_keys]
    return _result(asked, NONE, None, [_row(kind, key, layers, synonyms) for key in keys])


def _of_topics(values: dict[str, str]) -> dict[str, str]:
    """What the values of a broker are for its topics. Of several keys for one, that with the smallest unit counts."""
    found = {}
    for topic_key, broker_keys in _BROKER_KEYS.items():
        for factor, broker_key in broker_keys:
            if broker_key in values and topic_key not in found:
                value = values[broker_key]
                found[topic_key] = str(int(value) * factor) if factor > 1 and value.isdecimal() else value
    return found


def _row(kind: int, key: str, layers: list[_Layer], synonyms: bool) -> DescribeConfigsResourceResult:
    secret = kind == _BROKER and SECRET_NAMES.search(key) is not None
    found = [(one.source, None if secret else one.values[key]) for one in layers if key in one.values]
    source, value = found[0]
    return DescribeConfigsResourceResult(
        name=key,
        value=value,
        read_only=False,
        config_source=source,
        is_sensitive=secret,
        synonyms=[DescribeConfigsSynonym(name=key, value=value, source=source) for source, value in found]
        if synonyms
        else [],
        documentation=None,
    )
