"""Configurations of topics, with where each value comes from (DescribeConfigs)."""

from collections.abc import Sequence
from dataclasses import dataclass

from kcli.core.cluster.cluster import Cluster
from kcli.core.error_codes import NONE
from kcli.core.errors import BrokerError, KcliError
from kcli.core.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

_TOPIC = 2
_SOURCES = {
    0: "unknown",
    1: "topic",
    2: "dynamic broker",
    3: "dynamic default",
    4: "static broker",
    5: "default",
    6: "dynamic broker logger",
    7: "client metrics",
    8: "group",
}


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One key. ``value`` is None for a secret; ``source`` says who set it, ``default`` is nobody."""

    name: str
    value: str | None
    source: str
    is_sensitive: bool

    @property
    def is_default(self) -> bool:
        """Whether the topic itself leaves it alone."""
        return self.source != "topic"


def describe_topic_configs(
    cluster: Cluster, names: Sequence[str], deadline: float
) -> dict[str, list[ConfigEntry] | KcliError]:
    """All entries of each topic."""
    resources = [
        DescribeConfigsResource(resource_type=_TOPIC, resource_name=name, configuration_keys=None)
        for name in names
    ]

    def check(answer: DescribeConfigsResponse) -> dict[str, list[ConfigEntry] | KcliError]:
        found: dict[str, list[ConfigEntry] | KcliError] = {}
        for result in answer.results:
            name = result.resource_name
            if result.error_code != NONE:
                what = f"configuration of topic {name}"
                found[name] = BrokerError(result.error_code, what, message=result.error_message or "")
            else:
                found[name] = [
                    ConfigEntry(
                        c.name,
                        c.value,
                        _SOURCES.get(c.config_source, "unknown"),
                        c.is_sensitive,
                    )
                    for c in result.configs
                ]
        return found

    request = DescribeConfigsRequest(resources=resources)
    return cluster.call(lambda: cluster.send(request), check, deadline, "describing topics")
