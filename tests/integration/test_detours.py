"""A real Kafka with TLS and SASL through proxies and at a mapped address, by each way to log in: the broker does not know
of the way.
"""

import pytest

from kcli.sandbox.security.names import CLIENT_FILES
from tests.fake.proxies import Proxy
from tests.run import kcli
from tests.secure_kafka import SecureKafka

pytestmark = pytest.mark.integration
ADMINS = [way for way in CLIENT_FILES if CLIENT_FILES[way].user == "admin"]


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "http", "mapped"])
def test_a_record_goes_there_and_back(secure_kafka: SecureKafka, scheme: str) -> None:
    topic = secure_kafka.topic()
    with Proxy(login=("me", "hunter2")) as proxy:
        variables = {"KCLI_X_PROXY_URL": proxy.url(scheme).replace("://", "://me:hunter2@")}
        if scheme == "mapped":
            variables = {"KCLI_X_MAP_ADDRESS": "127.0.0.1=localhost"}
        for number, way in enumerate(ADMINS):
            before = len(proxy.asked)
            options = ("-F", secure_kafka.file(way))
            sent = kcli("produce", topic, "--value", str(number), *options, **variables)
            assert sent.code == 0, sent.err
            read = kcli("consume", topic, "-e", *options, **variables)
            assert len(read.out.splitlines()) == number + 1, read.err
            assert (len(proxy.asked) > before) == (scheme != "mapped")
