"""The secure Kafka of integration tests: one broker with TLS, SASL, client certificates and ACLs. Not a test.

The fixture is in ``conftest.py``. Commands run with the sandbox's own files of client options; what is wrong in a test is
one option more. confluent-kafka is the judge: it connects with the same options on the same listener.
"""

import os
import ssl
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer as JudgeConsumer
from confluent_kafka import KafkaError
from confluent_kafka import Producer as JudgeProducer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from kcli.profiles.properties import parse_properties
from kcli.sandbox.sandbox import Sandbox
from kcli.sandbox.security.certificates import Authority
from kcli.sandbox.security.names import BROKER, Names, node_name
from kcli.sandbox.security.tokens import TokenSigner
from kcli.sandbox.state import read_state, security_folder
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed

PROPERTIES = {
    # Each test that lasts longer re-authenticates by the way.
    "listener.name.sasl_ssl.connections.max.reauth.ms": "2500",
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
    "listener.name.ssl.ssl.allow.san.changes": "true",
    "delegation.token.secret.key": "of-this-sandbox-only",
}
"""Of the broker, which gives delegation tokens. SCRAM-SHA-256 is not offered on the listener SASL_PLAINTEXT;
see ``certificate_of_ssl``.
"""


@dataclass(frozen=True)
class SecureKafka:
    """A running secure sandbox of one broker. ``names``: its files; ``bootstraps``: the address of each listener."""

    sandbox: Sandbox
    names: Names
    bootstraps: dict[str, str]

    def file(self, way: str) -> str:
        """The file of client options called ``way``, as in ``admin-plain``."""
        return str(self.names.client_file(way))

    def options(self, way: str, **more: str) -> dict[str, str]:
        """What is in that file; ``more`` has underscores for dots."""
        text = self.names.client_file(way).read_text()
        found = {key: value for key, value, _origin in parse_properties(text, way).pairs}
        return found | {key.replace("_", "."): value for key, value in more.items()}

    def judge(self, way: str, **more: str) -> dict[str, Any]:
        """The same for librdkafka, which wants Java's stores and tokens said in another way."""
        options: dict[str, Any] = self.options(way, **more)
        token = options.pop("sasl.oauthbearer.token.file", None)
        if token:
            options["oauth_cb"] = lambda _config: (Path(token).read_text(), time.time() + 3600)
        if options.pop("ssl.truststore.location", None):
            options["ssl.ca.location"] = str(self.names.authority)
            for key in ("ssl.truststore.type", "ssl.truststore.password", "ssl.keystore.type"):
                del options[key]
        return options

    def admin(self) -> AdminClient:
        """The judge, as super user."""
        return AdminClient(self.judge("admin-certificate"))

    def topic(self, hint: str = "t", partitions: int = 1) -> str:
        """Create a topic with a name that no other test has."""
        name = unused_name(hint)
        client = self.admin()  # the future does not keep it alive
        client.create_topics([NewTopic(name, partitions, 1)], operation_timeout=30)[name].result(120)
        return name

    def grant(self, user: str, *grants: tuple[str, str, str]) -> None:
        """ACLs for ``user``: (resource type, name, operation), as in ``("TOPIC", "orders", "READ")``."""
        bindings = [
            AclBinding(
                ResourceType[resource],
                name,
                ResourcePatternType.LITERAL,
                f"User:{user}",
                "*",
                AclOperation[operation],
                AclPermissionType.ALLOW,
            )
            for resource, name, operation in grants
        ]
        client = self.admin()
        for future in client.create_acls(bindings).values():
            future.result(120)

    def values(self, topic: str) -> list[bytes]:
        """The values of a topic, as the judge reads them to the end of each partition."""
        config = self.judge("admin-certificate")
        reader = JudgeConsumer(
            {
                **config,
                "group.id": unused_name("judge"),
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
            }
        )
        reader.subscribe([topic])
        found, ended = [], set()
        try:
            while (message := reader.poll(30)) is not None:
                if not message.error():
                    found.append(message.value())
                    continue
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                ended.add(message.partition())
                if len(ended) == len(reader.assignment()):
                    break
        finally:
            reader.close()
        return found

    def fill(self, topic: str, values: Sequence[bytes], way: str = "admin-certificate") -> None:
        """Produce with the judge."""
        failed: list[object] = []
        producer = JudgeProducer({**self.judge(way), "linger.ms": 0})
        for value in values:
            producer.produce(topic, value, on_delivery=lambda error, _message: failed.append(error))
        assert producer.flush(30) == 0
        assert set(failed) <= {None}, failed

    @cached_property
    def open_topic(self) -> str:
        """A topic with a record, which tests only read and append to."""
        name = self.topic("open")
        self.fill(name, [b"1"])
        return name

    def new_user(self, folder: Path) -> tuple[str, str]:
        """A user without any right, and its file of client options: it connects by certificate."""
        name = unused_name("user")
        issued = self.authority.issue(name)
        given = self.options("alice-certificate")
        for key, data in (("certificate", issued.certificate_pem()), ("key", issued.key_pem())):
            path = folder / f"{name}.{key}"
            path.touch(0o600)
            path.write_bytes(data)
            given[f"ssl.{key}.location"] = str(path)
        return name, write_file(folder / f"{name}.properties", given)

    def failed_attempts(self, expected: int = 0, timeout: float = 5.0) -> int:
        """How many authentications and TLS handshakes have failed, by the broker's log.

        Waits until there are ``expected``, and a moment longer: the line is written when the client knows it already.
        """
        log, end = self.sandbox.nodes[0].log, time.monotonic() + timeout
        while (found := log.read_text().count("] Failed authentication with ")) < expected:
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        time.sleep(0.15 if expected else 0)
        return log.read_text().count("] Failed authentication with ") if expected else found

    @contextmanager
    def certificate_of_ssl(self, folder: Path, **how: Any) -> Iterator[None]:
        """The listener SSL has another certificate of the same CA for the block. ``how``: see ``Authority.issue``."""
        path = folder / "listener.pem"
        path.touch(0o600)
        path.write_bytes(self.authority.issue(BROKER, **how).chain_pem())
        self._keystore_of_ssl(path)
        try:
            yield
        finally:
            self._keystore_of_ssl(self.names.certificate(node_name(1)))

    def _keystore_of_ssl(self, path: Path) -> None:
        key = "listener.name.ssl.ssl.keystore.location"
        entry = ConfigEntry(key, str(path), incremental_operation=AlterConfigOpType.SET)
        client = self.admin()
        changed = client.incremental_alter_configs(
            [ConfigResource(ConfigResource.Type.BROKER, "1", incremental_configs=[entry])]
        )
        for future in changed.values():
            future.result(120)
        host, _, port = self.bootstraps["SSL"].rpartition(":")
        certificate = path.read_text().partition("-----BEGIN CERTIFICATE-----")[2].partition("-----END")[0]
        end, same = time.monotonic() + 30, 0
        while (
            same < 6
        ):  # three network threads accept connections in turn, each with a certificate of its own
            assert time.monotonic() < end, "the broker still has the former certificate"
            new = certificate.strip() in ssl.get_server_certificate((host, int(port)))
            same = same + 1 if new else 0
            time.sleep(0.01)

    @property
    def authority(self) -> Authority:
        return Authority.load(self.names.authority_key.read_bytes(), self.names.authority.read_bytes())

    @property
    def signer(self) -> TokenSigner:
        return TokenSigner.load(self.names.token_key.read_bytes())


def unused_name(hint: str) -> str:
    return f"{hint}-{uuid.uuid4().hex[:8]}"


@contextmanager
def secure_node(**properties: str) -> Iterator[SecureKafka]:
    """What ``secure_kafka`` is; ``properties`` of the broker have underscores for dots."""
    more = {key.replace("_", "."): value for key, value in properties.items()}
    extra = {**TEST_PROPERTIES, **PROPERTIES, **more}
    with sandboxed(secure=True, extra=extra, jvm_options=QUICK_JVM) as kafka:
        assert kafka.sandbox is not None
        state = read_state(kafka.sandbox.home)
        assert state is not None
        yield SecureKafka(kafka.sandbox, Names(security_folder(state.data)), state.bootstraps)


def write_file(path: Path, options: dict[str, str]) -> str:
    """A file of client options for ``-F``."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{key}={value}\n" for key, value in options.items())
    return str(path)
