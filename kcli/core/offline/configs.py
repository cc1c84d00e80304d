"""DescribeConfigs and ListConfigResources: what was set while the cluster ran, as the metadata log has it.

Defaults of Kafka and values of ``server.properties`` are in no log directory: that is noted once.
"""

import re

from kcli.core.error_codes import NONE, UNKNOWN_TOPIC_OR_PARTITION
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import MetadataImage
from kcli.core.offline.states import NotHereError, metadata_image
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
_SECRET = re.compile(
    r"password|passphrase|secret|jaas|credential|token|private\.key|keystore\.(key|certificate)|truststore\.cert"
)
"""In names of configurations of brokers: their values are passwords to Kafka, or may be."""


def describe_configs(
    directories: Directories, request: DescribeConfigsRequest, _version: int
) -> DescribeConfigsResponse:
    """The values that are set on each resource, and for a broker those that are set for all of them."""
    try:
        known = metadata_image(directories)
    except NotHereError as error:
        code, message = error.code, error.why
        return DescribeConfigsResponse(
            throttle_time_ms=0, results=[_result(asked, code, message) for asked in request.resources]
        )
    directories.note(
        "configurations are those that were set while the cluster ran: defaults and server.properties are not in log "
        "directories"
    )
    return DescribeConfigsResponse(
        throttle_time_ms=0,
        results=[_described(known, asked, request.include_synonyms) for asked in request.resources],
    )


def list_config_resources(
    directories: Directories, request: ListConfigResourcesRequest, _version: int
) -> ListConfigResourcesResponse:
    """What has a configuration of its own; version 0 lists client metrics."""
    try:
        known = metadata_image(directories)
    except NotHereError as error:
        return ListConfigResourcesResponse(throttle_time_ms=0, error_code=error.code, config_resources=[])
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


def _described(known: MetadataImage, asked: DescribeConfigsResource, synonyms: bool) -> DescribeConfigsResult:
    kind, name = asked.resource_type, asked.resource_name
    if kind == _TOPIC and name not in known.topics:
        return _result(asked, UNKNOWN_TOPIC_OR_PARTITION)
    source = _OWN_SOURCE.get(kind, 0) if name or kind != _BROKER else _DEFAULT_SOURCE
    layers = [(source, known.configs.get((kind, name), {}))]
    if kind == _BROKER and name:
        layers.append((_DEFAULT_SOURCE, known.configs.get((kind, ""), {})))
    keys = sorted({key for _, values in layers for key in values})
    if asked.configuration_keys is not None:
        keys = [key for key in keys if key in asked.configuration_keys]
    return _result(asked, NONE, None, [_row(kind, key, layers, synonyms) for key in keys])


def _row(
    kind: int, key: str, layers: list[tuple[int, dict[str, str]]], synonyms: bool
) -> DescribeConfigsResourceResult:
    secret = kind == _BROKER and _SECRET.search(key) is not None
    found = [(source, None if secret else values[key]) for source, values in layers if key in values]
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
