"""What is configured: who has to be asked, and whose a value is."""

import pytest

from kcli.core.admin.configs import ConfigEntry, ConfigKind, ConfigResource
from kcli.core.cluster.cluster import ANY


@pytest.mark.parametrize(
    ("kind", "name", "broker", "source", "text"),
    [
        (ConfigKind.TOPIC, "t", ANY, "topic", "topic t"),
        (ConfigKind.BROKER, "3", 3, "dynamic broker", "broker 3"),
        (ConfigKind.BROKER, "", ANY, "dynamic default", "the default of all brokers"),
        (ConfigKind.BROKER_LOGGER, "3", 3, "dynamic broker logger", "the loggers of broker 3"),
        (ConfigKind.CLIENT_METRICS, "s", ANY, "client metrics", "client metrics s"),
        (ConfigKind.GROUP, "7", ANY, "group", "group 7"),
    ],
)
def test_which_address_counts_as_the_brokers_own(
    kind: ConfigKind, name: str, broker: int, source: str, text: str
) -> None:
    resource = ConfigResource(kind, name)
    assert (resource.broker, resource.own_source, str(resource)) == (broker, source, text)


def test_an_inherited_configuration_value_is_a_default() -> None:
    assert not ConfigEntry("k", "v", "topic", False).is_default
    assert ConfigEntry("k", "v", "dynamic broker", False).is_default
    assert not ConfigEntry("k", "v", "dynamic broker", False, own_source="dynamic broker").is_default
