"""The way to a broker through testcontainers, where a Docker engine answers."""

import pytest

from kcli.core import Admin
from kcli.sandbox.config import DEFAULT_VERSION
from tests.kafka import in_docker

pytestmark = pytest.mark.integration


def test_the_image_apache_kafka_serves_kcli() -> None:
    with in_docker(DEFAULT_VERSION) as found, Admin(bootstrap_servers=found.bootstrap) as admin:
        assert admin.cluster_id()
