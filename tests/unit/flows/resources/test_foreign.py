"""Documents of Strimzi, jikkou and topicctl: what they make, and what of them has no meaning here."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.flows.resources.documents import ignored_lines, read_documents
from kcli.flows.resources.faults import FilesError
from kcli.flows.resources.resource import Resource

Read = Callable[..., list[Resource]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    monkeypatch.chdir(tmp_path)

    def of(text: str, note: Callable[[str], object] | None = None) -> list[Resource]:
        (tmp_path / "f.yaml").write_text(text)
        return read_documents(["f.yaml"], environment={}, note=note)

    return of


def faults(read: Read, text: str) -> list[str]:
    with pytest.raises(FilesError) as caught:
        read(text)
    return [f"{fault.place.line}: {fault.what}" for fault in caught.value.faults]


def names(found: list[Resource]) -> list[str]:
    return [str(resource.ref) for resource in found]


# --- Strimzi ---------------------------------------------------------------------------------------

STRIMZI_TOPIC = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata:
  name: orders-topic
  namespace: shop
  labels: {strimzi.io/cluster: east}
  resourceVersion: "12"
spec:
  topicName: shop.Orders
  partitions: 6
  replicas: 3
  config: {retention.ms: 86400000, cleanup.policy: compact}
status: {observedGeneration: 1}
"""


def test_strimzi_topic(read: Read) -> None:
    (topic,) = read(STRIMZI_TOPIC)
    assert str(topic.ref) == "Topic shop.Orders"
    assert topic.spec == {
        "partitions": 6,
        "replication_factor": 3,
        "config": {"retention.ms": "86400000", "cleanup.policy": "compact"},
    }
    assert topic.places["replication_factor",].line == 11
    assert topic.places["config", "cleanup.policy"].line == 12
    assert topic.ignored.keys() == {
        "metadata.namespace",
        "metadata.labels",
        "metadata.resourceVersion",
        "status",
    }


STRIMZI_USER = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: shop}
spec:
  authentication:
    type: AUTHENTICATION
    password: {valueFrom: {secretKeyRef: {name: shop, key: password}}}
  authorization:
    type: simple
    acls:
      - resource: {type: topic, name: orders, patternType: prefix}
        operations: [Read, DescribeConfigs]
      - resource: {type: topic, name: orders, patternType: prefix}
        operation: Read
        host: "*"
      - resource: {type: transactionalId, name: tx}
        operations: [Write]
        type: deny
        host: 10.0.0.1
      - resource: {type: cluster}
        operations: [IdempotentWrite]
  quotas: {producerByteRate: 1048576, requestPercentage: 55, controllerMutationRate: 1.5}
  template: {secret: {metadata: {labels: {a: b}}}}
"""


@pytest.mark.parametrize(
    ("how", "user"), [("scram-sha-512", "shop"), ("tls", "CN=shop"), ("tls-external", "CN=shop")]
)
def test_strimzi_user(read: Read, how: str, user: str) -> None:
    found = read(STRIMZI_USER.replace("AUTHENTICATION", how))
    acls = [
        f"AclBinding allow User:{user} read topic orders (prefixed) from *",
        f"AclBinding allow User:{user} describe_configs topic orders (prefixed) from *",
        f"AclBinding deny User:{user} write transactional_id tx (literal) from 10.0.0.1",
        f"AclBinding allow User:{user} idempotent_write cluster kafka-cluster (literal) from *",
    ]
    credential = ["User shop"] if how == "scram-sha-512" else []
    assert names(found) == [*credential, *acls, f"Quota user={user}"]
    assert found[-1].spec["limits"] == {
        "producer_byte_rate": 1048576,
        "request_percentage": 55,
        "controller_mutation_rate": 1.5,
    }
    assert found[-1].places["limits", "request_percentage"].line == 22
    if credential:
        assert found[0].spec == {"mechanisms": {"SCRAM-SHA-512": {}}}
    reasons = found[0].ignored
    assert "Secrets of Kubernetes are not read" in reasons["spec.authentication.password"]
    assert ("spec.authentication" in reasons) == (how == "tls")
    assert "spec.template" in reasons


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        ('strimzi.io/managed: "false"', "that its topic is not managed"),
        ('strimzi.io/pause-reconciliation: "true"', "that it is not to be applied for now"),
    ],
)
def test_what_strimzi_does_not_apply_is_a_fault(read: Read, annotation: str, says: str) -> None:
    text = STRIMZI_TOPIC.replace("  namespace: shop\n", f"  annotations:\n    {annotation}\n")
    assert faults(read, text) == [f"6: the document says {says}, and kcli applies what it reads"]
    opposite = text.replace("false", "x").replace("true", "false")
    assert names(read(opposite)) == ["Topic shop.Orders"]


def test_a_name_of_kubernetes_that_kafka_does_not_take_is_a_fault(read: Read) -> None:
    text = STRIMZI_TOPIC.replace("  topicName: shop.Orders\n", "").replace("orders-topic", "orders:topic")
    assert faults(read, text) == ["4: orders:topic is not the name of a topic"]


# --- jikkou ----------------------------------------------------------------------------------------

JIKKOU = """\
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaTopicList
metadata: {labels: {team: shop}}
items:
  - metadata: {name: a}
    spec:
      partitions: 3
      replicas: -1
      configMapRefs: [Short, Compact]
      configs: {retention.ms: 1, segment.ms: 5}
  - metadata: {name: b}
    spec: {partitions: 1, replicas: 2, configs: null}
    configs: {misplaced: 1}
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaPrincipalAuthorization
metadata: {name: "User:alice"}
spec:
  roles: [Reader]
  acls:
    - resource: {type: group, pattern: shop-, patternType: PREFIXED}
      type: ALLOW
      operations: [READ, DESCRIBE]
      host: "*"
---
apiVersion: core.jikkou.io/v1
kind: ConfigMap
metadata: {name: Short}
data: {retention.ms: 3600000}
---
apiVersion: core.jikkou.io/v1
kind: ConfigMap
metadata: {name: Compact}
data: {cleanup.policy: compact}
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaPrincipalRole
metadata: {name: Reader}
spec:
  acls:
    - resource: {type: topic, pattern: "*", patternType: LITERAL}
      type: DENY
      operations: [ALTER_CONFIGS]
      host: "*"
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaClientQuota
spec: {type: USER_ALL_CLIENTS, entity: {user: alice}, configs: {consumerByteRate: 1024}}
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaUser
metadata: {name: alice}
spec:
  authentications:
    - {type: scram-sha-256, password: hidden-one, iterations: 8192}
    - {type: scram-sha-512, password: null}
---
apiVersion: kafka.jikkou.io/v1
kind: KafkaConsumerGroup
metadata: {name: g}
spec: {configs: {consumer.session.timeout.ms: 50000}}
"""


def test_jikkou(read: Read) -> None:
    found = read(JIKKOU)
    assert [(str(resource.ref), resource.spec) for resource in found if "Acl" not in str(resource.ref)] == [
        (
            "Topic a",
            {
                "partitions": 3,
                "config": {"retention.ms": "3600000", "segment.ms": "5", "cleanup.policy": "compact"},
            },
        ),
        ("Topic b", {"partitions": 1, "replication_factor": 2}),
        (
            "Quota user=alice,client-id=<default>",
            {"entity": {"user": "alice", "client-id": None}, "limits": {"consumer_byte_rate": 1024}},
        ),
        ("User alice", {"mechanisms": {"SCRAM-SHA-256": {"iterations": 8192}, "SCRAM-SHA-512": {}}}),
        ("GroupConfig g", {"config": {"consumer.session.timeout.ms": "50000"}}),
    ]
    assert [str(resource.ref) for resource in found if "Acl" in str(resource.ref)] == [
        "AclBinding allow User:alice read group shop- (prefixed) from *",
        "AclBinding allow User:alice describe group shop- (prefixed) from *",
        "AclBinding deny User:alice alter_configs topic * (literal) from *",
    ]
    assert found[1].ignored == {"configs": "kcli does not know the key"}
    assert "hidden-one" not in "\n".join(ignored_lines(found))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[Short, Compact]", "[Short, Other]", ["9: there is no ConfigMap Other"]),
        ("roles: [Reader]", "roles: [Writer]", ["19: there is no KafkaPrincipalRole Writer"]),
        (
            'pattern: "*", patternType: LITERAL',
            "pattern: 'x-.*', patternType: MATCH",
            ["41: spec.acls.0.resource.patternType must be one of literal, prefixed, and is MATCH"],
        ),
        ("{name: Compact}", "{name: Short}", ["33: Short is in the files twice", "9: there is no ConfigMap Compact"]),
        ("type: USER_ALL_CLIENTS, entity: {user: alice}", "type: CLIENT", ["48: spec.entity lacks clientId"]),
        ("partitions: 3", "partitions: 0", ["7: spec.partitions is 0"]),
        (
            "metadata: {name: b}",
            "metadata: {name: b, annotations: {jikkou.io/delete: true}}",
            ["11: the document says that the resource is to be deleted, and kcli applies what it reads"],
        ),
        (
            "metadata: {labels: {team: shop}}",
            "metadata: {annotations: {jikkou.io/delete: true}}",
            ["5: the document says that the resource is to be deleted, and kcli applies what it reads"] * 2,
        ),
    ],
)  # fmt: skip
def test_what_jikkou_means_otherwise_is_a_fault(read: Read, old: str, new: str, expected: list[str]) -> None:
    assert old in JIKKOU
    found = faults(read, JIKKOU.replace(old, new))
    assert sorted(text.partition(": ")[2] for text in found) == sorted(
        text.partition(": ")[2] for text in expected
    )
    if len(set(expected)) == len(expected):
        assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("kind", "entity"),
    [
        ("USER", {"user": "u"}),
        ("USERS_DEFAULT", {"user": None}),
        ("USER_CLIENT", {"user": "u", "client-id": "c"}),
        ("USER_ALL_CLIENTS", {"user": "u", "client-id": None}),
        ("CLIENT", {"client-id": "c"}),
        ("CLIENTS_DEFAULT", {"client-id": None}),
    ],
)
def test_types_of_quotas_of_jikkou(read: Read, kind: str, entity: dict[str, str | None]) -> None:
    (quota,) = read(
        f"apiVersion: kafka.jikkou.io/v1\nkind: KafkaClientQuota\n"
        f"spec: {{type: {kind}, entity: {{user: u, clientId: c}}, configs: {{requestPercentage: 1}}}}"
    )
    assert quota.spec["entity"] == entity


# --- topicctl --------------------------------------------------------------------------------------

TOPICCTL = """\
meta:
  name: clicks
  cluster: east
  environment: prod
  region: eu
  description: |
    Clicks of the shop.
spec:
  partitions: 2
  replicationFactor: 2
  retentionMinutes: 60
  placement: PLACEMENT
  settings:
    cleanup.policy: delete
    follower.replication.throttled.replicas: ["0:1", "1:2"]
  migration: {throttleMB: 10}
---
"""


@pytest.mark.parametrize(
    ("placement", "assignment", "ignored"),
    [
        ("{strategy: any}", None, set()),
        ("{strategy: in-rack, picker: randomized}", None, {"spec.placement.strategy", "spec.placement.picker"}),
        ("{strategy: static, staticAssignments: [[1, 2], [2, 3]]}", {0: [1, 2], 1: [2, 3]}, set()),
    ],
)  # fmt: skip
def test_topicctl_topic(
    read: Read, placement: str, assignment: dict[int, list[int]] | None, ignored: set[str]
) -> None:
    (topic,) = read(TOPICCTL.replace("PLACEMENT", placement))
    config = {
        "cleanup.policy": "delete",
        "follower.replication.throttled.replicas": "0:1,1:2",
        "retention.ms": "3600000",
    }
    wanted = {"partitions": 2, "replication_factor": 2, "config": config}
    assert topic.spec == (wanted if assignment is None else wanted | {"assignment": assignment})
    assert topic.places["config", "retention.ms"].line == 11
    meta = {f"meta.{key}" for key in ("cluster", "environment", "region", "description")}
    assert topic.ignored.keys() == meta | ignored | {"spec.migration"}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("delete", "delete\n    retention.ms: 5", "11: spec has retentionMinutes and retention.ms"),
        ("PLACEMENT", "{strategy: static}", "12: spec.placement lacks staticAssignments"),
        (
            "PLACEMENT",
            "{strategy: static, staticAssignments: [[1, 2]]}",
            "12: spec.placement.assignment lacks partition 1",
        ),
        ("PLACEMENT", "{strategy: somewhere}", None),
    ],
)
def test_faults_of_topicctl(read: Read, old: str, new: str, fault: str | None) -> None:
    found = faults(read, TOPICCTL.replace(old, new).replace("PLACEMENT", "{strategy: any}"))
    assert len(found) == 1
    assert fault is None or found == [fault]


def test_topicctl_acls(read: Read) -> None:
    found = read("""\
meta: {name: acls, cluster: east, environment: prod, region: eu}
spec:
  acls:
    - resource: {type: topic, name: t, patternType: literal, principal: "User:a", host: "*", permission: allow}
      operations: [Read, describe]
    - resource: {type: transactionalID, name: t, patternType: prefixed, principal: "User:a", permission: deny}
      operations: [Write]
""")
    assert names(found) == [
        "AclBinding allow User:a read topic t (literal) from *",
        "AclBinding allow User:a describe topic t (literal) from *",
        "AclBinding deny User:a write transactional_id t (prefixed) from *",
    ]


# --- documents that describe nothing in a cluster --------------------------------------------------

OTHERS = """\
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata: {name: east}
---
apiVersion: v1
kind: Secret
metadata: {name: shop}
---
meta: {name: east}
spec: {bootstrapAddrs: ["localhost:9092"]}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: idle}
spec: {authentication: {type: tls}}
---
"""


def test_others_are_left_out_and_named(read: Read) -> None:
    lines: list[str] = []
    assert names(read(OTHERS + STRIMZI_TOPIC, lines.append)) == ["Topic shop.Orders"]
    assert lines[:4] == [
        "f.yaml:2:7: left out: Kafka is no kind of kafka.strimzi.io/v1 that is read",
        "f.yaml:5:13: left out: Secret of v1 describes nothing in a cluster of Kafka",
        "f.yaml:9:1: left out: topicctl's file of a cluster describes nothing in it",
        "f.yaml:12:1: left out: KafkaUser describes nothing in a cluster of Kafka",
    ]
    assert "metadata.labels has no meaning here: resources of Kafka have no labels" in lines[5]


def test_others_alone_or_without_a_note_are_faults(read: Read) -> None:
    assert len(faults(read, OTHERS + STRIMZI_TOPIC)) == 4
    with pytest.raises(FilesError):
        read(OTHERS, note=lambda _line: None)


def test_mistyped_kinds_of_others_are_faults(read: Read) -> None:
    with pytest.raises(FilesError) as caught:
        read(OTHERS.replace("KafkaUser", "KafkaUsr") + STRIMZI_TOPIC, note=lambda _line: None)
    assert [fault.do for fault in caught.value.faults] == ["did you mean KafkaUser?"]


def test_a_note_counts_documents_with_the_same_key(read: Read) -> None:
    found = read(STRIMZI_TOPIC + "---\n" + STRIMZI_TOPIC.replace("shop.Orders", "shop.Clicks"))
    line = next(line for line in ignored_lines(found) if "labels" in line)
    assert line == (
        "f.yaml:1:1: metadata.labels has no meaning here: resources of Kafka have no labels (and in 1 document more)"
    )
