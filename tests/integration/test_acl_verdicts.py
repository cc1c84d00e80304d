"""``kcli acls check`` against StandardAuthorizer: each question is also an attempt by a client with that principal.

The same table twice: as Kafka is by default, and with ``allow.everyone.if.no.acl.found``, which only the broker knows.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from kcli.core.admin.acls import AclBinding, AclFilter, AclPattern, AclPermission, AclResource
from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigKind, ConfigResource
from kcli.core.admin.members import GroupMember
from kcli.core.admin.users import ScramCredential, ScramMechanism, upsertion
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.permissions import AclOperation
from kcli.core.producer.producer import Producer
from kcli.core.secret import Secret
from kcli.core.types import ProducerRecord, TopicPartition, TopicSpec
from tests.exporting import until
from tests.run import kcli
from tests.secure_kafka import SecureKafka, secure_node

pytestmark = [pytest.mark.integration]

PASSWORD = "only-for-this-test"
TOPICS = ("orders", "orders-old", "ord", "public", "bare", "secret", "one", "two", "configured")

STORED = """
User:reader allow read topic orders literal *
User:reader allow read group billing literal *
User:writer allow write topic ord prefixed *
User:writer deny write topic orders-old literal *
User:boss allow all topic * literal *
User:boss deny read topic secret literal *
User:boss deny delete topic orders prefixed *
User:here allow read topic orders literal 127.0.0.1
User:there allow read topic orders literal 192.0.2.7
User:mixed allow all topic orders literal *
User:mixed deny read topic orders literal 127.0.0.1
User:mixed deny write topic orders literal 192.0.2.7
User:* allow describe topic public literal *
User:* deny alter topic public literal *
User:boss deny describe topic public literal 192.0.2.7
User:one allow delete topic one literal *
User:one allow alter topic two literal *
User:one allow describe_configs topic orders literal *
User:one allow alter_configs topic configured literal *
User:one allow create topic new- prefixed *
User:one deny all topic new-not literal *
User:ops allow alter cluster kafka-cluster literal *
User:ops allow alter_configs cluster kafka-cluster literal *
User:ops allow create cluster kafka-cluster literal *
User:txn allow write transactional_id tx- prefixed *
User:txn allow describe transactional_id seen literal *
User:txn deny write transactional_id tx-no literal *
User:groups allow delete group bill prefixed *
User:groups allow describe group * literal *
User:groups deny all group billing-secret literal *
User:groups allow all group billing-secret literal *
User:writer deny describe topic ord literal *
"""

CASES = """
reader read topic orders allowed
reader describe topic orders allowed
reader describe_configs topic orders denied
reader write topic orders denied
reader read topic orders-old denied
reader read topic ord denied
reader read group billing allowed
reader describe group billing allowed
reader delete group billing denied
reader read group other denied
writer write topic orders allowed
writer describe topic ord denied
writer write topic orders-old denied
writer describe topic orders-old allowed
writer read topic orders denied
writer write topic public denied
boss read topic orders allowed
boss write topic secret allowed
boss read topic secret denied
boss describe topic secret allowed
boss delete topic orders denied
boss delete topic orders-old denied
boss delete topic ord allowed
boss alter topic public denied
boss alter_configs topic orders allowed
boss describe_configs topic two allowed
boss describe topic public allowed
here read topic orders allowed
there read topic orders denied
mixed read topic orders denied
mixed write topic orders allowed
mixed describe topic orders allowed
nobody describe topic public allowed
nobody read topic public denied
nobody read topic bare denied
nobody write topic bare denied
nobody read group bare denied
nobody describe group bare denied
groups describe group bare allowed
groups describe group billing allowed
groups delete group billing allowed
groups delete group bare denied
groups read group billing denied
groups describe group billing-secret denied
groups delete group billing-secret denied
one delete topic one allowed
one describe topic one allowed
one alter topic one denied
one alter topic two allowed
one describe topic two allowed
one delete topic two denied
one describe_configs topic orders allowed
one describe topic orders denied
one alter_configs topic orders denied
one alter_configs topic configured allowed
one describe_configs topic configured allowed
one describe topic configured denied
one create topic new-thing allowed
one create topic new-not denied
ops describe cluster allowed
ops alter cluster allowed
ops alter_configs cluster allowed
ops describe_configs cluster allowed
ops cluster_action cluster denied
reader describe cluster denied
reader alter cluster denied
reader describe_configs cluster denied
txn write transactional_id tx-1 allowed
txn describe transactional_id tx-1 allowed
txn write transactional_id tx-no denied
txn describe transactional_id tx-no allowed
txn describe transactional_id seen allowed
txn write transactional_id seen denied
txn write transactional_id other none
reader describe transactional_id other none
reader write transactional_id tx-1 denied
"""
"""User, operation, resource, what both say; none: the resource has no ACL, so that only the broker's setting decides."""


class Case(NamedTuple):
    user: str
    operation: str
    kind: str
    name: str
    expected: str

    @classmethod
    def of(cls, line: str) -> "Case":
        user, operation, kind, *name, expected = line.split()
        return cls(user, operation, kind, name[0] if name else "kafka-cluster", expected)


ALL = [Case.of(line) for line in CASES.split("\n") if line]


def binding(line: str) -> AclBinding:
    principal, permission, operation, kind, name, pattern, host = line.split()
    return AclBinding(
        AclResource[kind.upper()], name, AclPattern[pattern.upper()], principal,
        AclPermission[permission.upper()], AclOperation[operation.upper()], host,
    )  # fmt: skip


def _configs(kind: ConfigKind, name: str, key: str, value: str) -> tuple[ConfigResource, list[ConfigChange]]:
    return ConfigResource(kind, name), [ConfigChange(key, value)]


def _altered(admin: Admin, kind: ConfigKind, name: str, key: str, value: str) -> object:
    return admin.alter_configs(dict([_configs(kind, name, key, value)]), validate_only=True)


ATTEMPTS: Mapping[tuple[str, str], Callable[[Admin, str], object]] = {
    ("topic", "read"): lambda admin, name: admin.first_records([(TopicPartition(name, 0), 0)]),
    ("topic", "describe"): lambda admin, name: admin.describe_topics([name]),
    ("topic", "create"): lambda admin, name: admin.create_topics([TopicSpec(name, 1, 1)], validate_only=True),
    ("topic", "delete"): lambda admin, name: admin.delete_records({TopicPartition(name, 0): 0}),
    ("topic", "alter"): lambda admin, name: admin.create_partitions({name: 2}, validate_only=True),
    ("topic", "describe_configs"): lambda admin, name: admin.describe_configs(
        [ConfigResource(ConfigKind.TOPIC, name)]
    ),
    ("topic", "alter_configs"): lambda admin, name: _altered(
        admin, ConfigKind.TOPIC, name, "retention.ms", "1"
    ),
    ("group", "describe"): lambda admin, name: admin.describe_groups([name]),
    ("group", "read"): lambda admin, name: admin.remove_members({name: [GroupMember("nobody")]}),
    ("group", "delete"): lambda admin, name: admin.delete_groups([name]),
    ("transactional_id", "describe"): lambda admin, name: admin.describe_transactions([name]),
    ("transactional_id", "write"): lambda admin, name: admin.fence_producers({name: 60_000}),
    ("cluster", "describe"): lambda admin, _name: admin.describe_acls([AclFilter()]),
    ("cluster", "alter"): lambda admin, _name: admin.delete_acls([AclFilter(principal="User:unknown")]),
    ("cluster", "describe_configs"): lambda admin, _name: admin.describe_configs(
        [ConfigResource(ConfigKind.BROKER, "1")]
    ),
    ("cluster", "alter_configs"): lambda admin, _name: _altered(
        admin, ConfigKind.BROKER, "1", "log.cleaner.threads", "1"
    ),
}
"""A request for which Kafka asks its authorizer about this operation."""


def fields(options: Mapping[str, str]) -> dict[str, Any]:
    """The options of a client as keywords."""
    return {key.replace(".", "_"): value for key, value in options.items()}


def is_refused(answer: object) -> bool:
    return isinstance(answer, KcliError) and answer.exit_code is ExitCode.DENIED


class World:
    """A broker with the users and the ACLs. ``everyone``: what it does with resources without ACLs."""

    def __init__(self, kafka: SecureKafka, *, everyone: bool) -> None:
        self.kafka, self.everyone = kafka, everyone
        self._admins: dict[str, Admin] = {}
        with Admin(**fields(kafka.options("admin-certificate"))) as admin:
            made = admin.create_topics([TopicSpec(name, 1, 1) for name in TOPICS])
            assert not any(isinstance(one, KcliError) for one in made.values()), made
            mechanism = ScramMechanism.SCRAM_SHA_512
            changes = {
                ScramCredential(user, mechanism): upsertion(Secret(PASSWORD), mechanism, 4096)
                for user in {case.user for case in ALL}
            }
            assert set(admin.alter_scram_credentials(changes).values()) == {None}
            bindings = [binding(line) for line in STORED.split("\n") if line]
            assert set(admin.create_acls(bindings).values()) == {None}
            # The broker hears of them from the controller.
            until(lambda: set(bindings) <= set(admin.describe_acls([AclFilter()])[AclFilter()]))  # type: ignore[arg-type]

    def options(self, user: str) -> dict[str, str]:
        given = self.kafka.options("admin-sasl-plaintext")
        return given | {"sasl.username": user, "sasl.password": PASSWORD}

    def admin(self, user: str) -> Admin:
        if user not in self._admins:
            self._admins[user] = Admin(**fields(self.options(user)))
        return self._admins[user]

    def close(self) -> None:
        for one in self._admins.values():
            one.close()

    def attempt(self, case: Case) -> str:
        """What the broker says to the client itself."""
        if (case.kind, case.operation) == ("topic", "write"):
            return self._produce(case)
        if (case.kind, case.operation) == ("cluster", "cluster_action"):
            bits = self.admin(case.user).describe_cluster(include_operations=True).operations
            assert bits is not None
            return "allowed" if bits >> AclOperation.CLUSTER_ACTION & 1 else "denied"
        try:
            found: Any = ATTEMPTS[case.kind, case.operation](self.admin(case.user), case.name)
        except KcliError as error:
            found = {"": error}
        (answer,) = found.values()
        if isinstance(answer, Mapping):
            (answer,) = answer.values()
        return "denied" if is_refused(answer) else "allowed"

    def _produce(self, case: Case) -> str:
        with Producer(enable_idempotence=False, **fields(self.options(case.user))) as producer:
            sent = producer.send(ProducerRecord(case.name, b"1"))
            producer.flush(30)
        return "denied" if is_refused(sent.error) else "allowed"


@pytest.fixture(
    scope="module",
    params=["false", pytest.param("true", marks=pytest.mark.long)],
    ids=["by default", "everyone"],
)
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with secure_node(allow_everyone_if_no_acl_found=request.param) as kafka:
        found = World(kafka, everyone=request.param == "true")
        yield found
        found.close()


def test_the_broker_says_what_acls_check_says(world: World) -> None:
    wrong = []
    for case in ALL:
        named = [] if case.kind == "cluster" else [case.name]
        words = [
            f"--{case.kind.replace('_', '-')}",
            *named,
            "--operation",
            case.operation,
            "--host",
            "127.0.0.1",
        ]
        done = kcli(
            "acls", "check", "--principal", f"User:{case.user}", *words, "-o", "json",
            "-F", world.kafka.file("admin-certificate"),
        )  # fmt: skip
        (row,) = json.loads(done.out)["items"]
        said = row["verdict"]
        open_to_all = "only allow.everyone.if.no.acl.found could allow it" in row["why"]
        assert done.code == (0 if said == "allowed" else 8), done
        assert open_to_all == (case.expected == "none"), (case, row)
        broker = world.attempt(case)
        expected = case.expected
        if expected == "none":
            expected, said = ("allowed" if world.everyone else "denied"), broker
        if not said == broker == expected:
            wrong.append((*case, f"acls check: {said}", f"broker: {broker}"))
    assert wrong == []
    assert len(ALL) >= 30
