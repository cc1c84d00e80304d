"""``kcli export`` and ``kcli diff`` as a user runs them, on a cluster that has something of each kind."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest
from kcli.core.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.committing import commit
from tests.fake.acl_admin import Acl
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.scram_store import Credential
from tests.fake.script import FOREVER
from tests.fault.watching import closed_port
from tests.run import Done, kcli

EXPORT = """\
apiVersion: kcli/v1
kind: Topic
metadata:
  name: orders
spec:
  partitions: 2
  replication_factor: 1
  config:
    cleanup.policy: "compact,delete"
    retention.ms: 60000
---
apiVersion: kcli/v1
kind: Topic
metadata:
  name: plain
spec:
  partitions: 1
  replication_factor: 1
---
apiVersion: kcli/v1
kind: AclBinding
spec:
  principal: "User:a"
  permission: allow
  operation: read
  resource_type: topic
  resource_name: orders
  pattern: literal
  host: "*"
---
apiVersion: kcli/v1
kind: User
metadata:
  name: a
spec:
  mechanisms:
    SCRAM-SHA-256:
      iterations: 4096
---
apiVersion: kcli/v1
kind: Quota
spec:
  entity:
    user: "\\\\<default>"
  limits:
    request_percentage: 12.5
---
apiVersion: kcli/v1
kind: Quota
spec:
  entity:
    user: alice
    client-id: null
  limits:
    producer_byte_rate: 1024
---
apiVersion: kcli/v1
kind: BrokerConfig
metadata:
  name: "1"
spec:
  config:
    message.max.bytes: 2000000
---
apiVersion: kcli/v1
kind: GroupConfig
metadata:
  name: g
spec:
  config:
    consumer.session.timeout.ms: 50000
"""
OFFSETS = """\
apiVersion: kcli/v1
kind: GroupOffsets
metadata:
  name: g
spec:
  offsets:
    orders:
      0: 10
"""
SECRET = "s3cret-of-a-keystore"
OWN_GROUP = "__kcli.import.x"


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as made:
        made.create_topic("orders", 2, configs={"retention.ms": "60000", "cleanup.policy": "compact,delete"})
        made.create_topic("plain", 1)
        made.create_topic("__kcli_mirror", 1)
        made.create_topic("__consumer_offsets", 1)
        made.acls.add(Acl(2, "orders", 3, "User:a", "*", 3, 3))
        made.quotas[frozenset({("user", "alice"), ("client-id", None)})] = {"producer_byte_rate": 1024.0}
        made.quotas[frozenset({("user", "<default>")})] = {"request_percentage": 12.5}
        made.scram.changed["a", 1] = Credential(b"salt", 4_096, b"", b"")
        for group in ("g", OWN_GROUP):
            commit(made, group, {TopicPartition("orders", 0): OffsetAndMetadata(10)})
        for line in (
            f"brokers 1 --set message.max.bytes=2000000 --set ssl.keystore.password={SECRET}",
            "groups g --set consumer.session.timeout.ms=50000",
        ):
            done = run(made, f"configs alter {line} --yes --allow-plaintext-secrets")
            assert not done.code, done.err
        yield made


def run(cluster: FakeCluster, line: str) -> Done:
    return kcli(*line.split(), bootstrap=cluster.bootstrap)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    return path


# --- export ----------------------------------------------------------------------------------------


def test_an_export_has_all_that_is_set_in_order(cluster: FakeCluster) -> None:
    done = run(cluster, "export")
    assert (done.code, done.out) == (0, EXPORT)
    assert "BrokerConfig 1: ssl.keystore.password" in done.err
    assert SECRET not in done.out + done.err


def test_offsets_are_exported_only_by_name(cluster: FakeCluster) -> None:
    assert "GroupOffsets" not in run(cluster, "export").out
    assert run(cluster, "export GroupOffsets").out == OFFSETS
    assert OWN_GROUP in run(cluster, "export GroupOffsets --internal").out


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("topics", ["orders", "plain"]),
        ("Topic --internal", ["__consumer_offsets", "__kcli_mirror", "orders", "plain"]),
        ("TOPIC acls --match or*", ["orders", None]),
        ("acl-binding --match User:*", []),
        ("quotas --match ali*", [None]),
        ("user broker-configs --match [a1]", ["a", "1"]),
        ("group-config", ["g"]),
    ],
)
def test_kinds_and_names_are_selected(cluster: FakeCluster, line: str, names: list[str | None]) -> None:
    done = run(cluster, f"export {line}")
    found = [one for one in yaml.safe_load_all(done.out) if one is not None]
    assert [one.get("metadata", {}).get("name") for one in found] == names
    assert done.code == 0
    assert ("nothing matches" in done.err) == (not names)


def test_only_what_is_selected_is_asked_for(cluster: FakeCluster) -> None:
    before = len(cluster.requests)
    assert not run(cluster, "export topics --match orders").code
    asked = [seen.request for seen in cluster.requests[before:]]
    described = [one.resources for one in asked if isinstance(one, DescribeConfigsRequest)]
    assert [[row.resource_name for row in rows] for rows in described] == [["orders"]]


def test_all_has_defaults_and_where_replicas_are_and_is_no_difference(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    done = run(cluster, "export topics --all")
    orders = next(yaml.safe_load_all(done.out))["spec"]
    assert orders["assignment"] == {0: [1], 1: [1]}
    assert orders["config"]["min.insync.replicas"] == 1
    assert run(cluster, f"diff {written(tmp_path, done.out)}").code == 0


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_json_has_the_same_documents(cluster: FakeCluster, form: str) -> None:
    done = run(cluster, f"export -o {form}")
    items = done.items if form == "json" else [json.loads(line) for line in done.out.splitlines()]
    assert [item["document"] for item in items] == list(yaml.safe_load_all(EXPORT))


def test_a_file_is_written_unless_it_is_a_dry_run(cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "made.yaml"
    done = run(cluster, f"export topics --file {path} --dry-run")
    assert (done.code, done.out, path.exists()) == (0, "", False)
    done = run(cluster, f"export topics --file {path}")
    assert (done.code, done.out) == (0, "")
    assert path.read_text() == EXPORT.partition("---\napiVersion: kcli/v1\nkind: AclBinding")[0]


def test_a_kind_that_is_none_is_refused(cluster: FakeCluster) -> None:
    done = run(cluster, "export topix")
    assert (done.code, "did you mean Topic?" in done.err) == (2, True)
    done = run(cluster, "export orders")
    assert (done.code, "`kcli consume TOPIC -e -o ndjson`" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("request_", "code", "missing"),
    [
        (DescribeUserScramCredentialsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, "all users"),
        (ListGroupsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, "all offsets of groups"),
    ],
)
def test_what_cannot_be_read_is_missing_and_stands_in_the_file(
    cluster: FakeCluster, request_: Any, code: Code, missing: str
) -> None:
    cluster.fail(request_, code, times=FOREVER)
    try:
        for line in ("export topics users GroupOffsets", "export topics users GroupOffsets -o json"):
            done = run(cluster, line)
            assert done.code == 6, done.err
            if "json" in line:
                document = json.loads(done.out)
                assert not document["complete"]
                assert [part["what"] for part in document["missing"]] == [missing]
            else:
                assert done.out.startswith(f"# incomplete: {missing} could not be read: ")
            assert "orders" in done.out
    finally:
        cluster.heal()


# --- diff ------------------------------------------------------------------------------------------


def test_what_was_exported_is_no_difference(cluster: FakeCluster, tmp_path: Path) -> None:
    path = written(tmp_path, f"{EXPORT}---\n{OFFSETS}")
    for line in (f"diff {path}", f"diff {path} --prune --match *", f"diff {tmp_path}"):
        done = run(cluster, line)
        assert (done.code, done.out) == (0, ""), done.err
    done = run(cluster, f"diff {path} --exact")  # the password that is set is in no file
    assert done.code == 8
    assert "-    ssl.keystore.password: (hidden)" in done.out.replace('"', "")
    document = json.loads(run(cluster, f"diff {path} -o json").out)
    assert {item["status"] for item in document["items"]} == {"equal"}
    assert len(document["items"]) == 9


CHANGED = """\
apiVersion: kcli/v1
kind: Topic
metadata: {name: orders}
spec:
  partitions: 4
  config: {retention.ms: 1m, cleanup.policy: "delete, compact"}
---
{apiVersion: kcli/v1, kind: Topic, metadata: {name: new}, spec: {partitions: 1}}
"""
UNIFIED = """\
--- cluster (it does not exist)
+++ FILE:8
@@ Topic new @@
+apiVersion: kcli/v1
+kind: Topic
+metadata:
+  name: new
+spec:
+  partitions: 1
--- cluster
+++ FILE:1
@@ Topic orders @@
 metadata:
   name: orders
 spec:
-  partitions: 2
+  partitions: 4
   config:
     retention.ms: 60000
     cleanup.policy: "delete, compact"
--- cluster
+++ no file has it
@@ Topic plain @@
-apiVersion: kcli/v1
-kind: Topic
-metadata:
-  name: plain
-spec:
-  partitions: 1
-  replication_factor: 1
"""


def test_a_diff_shows_what_differs_and_nothing_that_means_the_same(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    path = written(tmp_path, CHANGED)
    done = run(cluster, f"diff {path} --prune --only topics")
    assert (done.code, done.out.replace(str(path), "FILE")) == (8, UNIFIED)
    assert "3 resources: 1 differs, 1 not on the cluster, 1 in no file" in done.err
    document = json.loads(run(cluster, f"diff {path} --prune --only topics -o json").out)
    rows = {item["name"]: (item["status"], item["line"], item["differences"]) for item in document["items"]}
    assert document["kind"] == "ClusterDiff"
    assert rows["orders"] == ("differs", 1, [{"path": ["partitions"], "now": 2, "wanted": 4}])
    assert rows["new"] == ("not_on_cluster", 8, [{"path": ["partitions"], "now": None, "wanted": 1}])
    assert rows["plain"][:2] == ("in_no_file", None)


def test_colours_are_for_people(cluster: FakeCluster, tmp_path: Path) -> None:
    done = run(cluster, f"diff {written(tmp_path, CHANGED)} --color always")
    assert "\x1b[31m-  partitions: 2\x1b[0m" in done.out
    assert "\x1b[32m+  partitions: 4\x1b[0m" in done.out


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--only acls", 0),
        ("--match plain", 0),
        ("--match plain --prune", 8),  # no file has it
        ("--match o* --prune", 8),
        ("--only GroupOffsets --prune", 0),  # offsets are never left over
        ("--prune", 2),
    ],
)
def test_files_and_what_they_lack_are_selected_alike(
    cluster: FakeCluster, tmp_path: Path, line: str, code: int
) -> None:
    assert run(cluster, f"diff {written(tmp_path, CHANGED)} {line}").code == code


def test_pruning_never_concerns_what_is_internal(cluster: FakeCluster, tmp_path: Path) -> None:
    done = run(cluster, f"diff {written(tmp_path, CHANGED)} --prune --match *")
    assert "__" not in done.out
    assert "Topic plain" in done.out


def test_what_cannot_be_read_is_missing_and_neither_equal_nor_a_difference(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    path = written(tmp_path, EXPORT)
    cluster.fail(DescribeUserScramCredentialsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    try:
        done = run(cluster, f"diff {path} -o json")
        document = json.loads(done.out)
        assert (done.code, document["complete"]) == (6, False)
        assert [part["what"] for part in document["missing"]] == ["all users"]
        assert "User" not in {item["resource_kind"] for item in document["items"]}
        assert run(cluster, f"diff {path} --only users").code == 4
    finally:
        cluster.heal()


def test_variables_and_policies(cluster: FakeCluster, tmp_path: Path) -> None:
    path = written(tmp_path, CHANGED.replace("partitions: 4", "partitions: ${PARTITIONS}"))
    values, rules = tmp_path / "values.yml", tmp_path / "rules.yml"
    values.write_text("PARTITIONS: 2\n")
    rules.write_text("- {kind: Topic, rule: spec.partitions >= 2, message: at least two partitions}\n")
    assert run(cluster, f"diff {path}").code == 2
    assert run(cluster, f"diff {path} --values {values} --match orders").code == 0
    before = len(cluster.requests)
    done = run(cluster, f"diff {path} --values {values} --policy {rules}")
    assert (done.code, len(cluster.requests)) == (8, before)
    assert "Topic new: at least two partitions" in done.err


def test_documents_of_several_profiles_are_compared_with_their_clusters(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    with FakeCluster(1, topics={"orders": 3}) as other:
        config = tmp_path / "config" / "kcli"
        config.mkdir(parents=True)

        def profiles(there: str) -> None:
            (config / "config.toml").write_text(
                "".join(
                    f'[profiles.{name}]\n"bootstrap.servers" = "{servers}"\n'
                    for name, servers in (("here", cluster.bootstrap), ("there", there))
                )
            )

        profiles(other.bootstrap)
        document = "{apiVersion: kcli/v1, kind: Topic, metadata: {name: orders, profile: %s}, spec: {partitions: 2}}\n"
        path = written(tmp_path, "---\n".join(document % name for name in ("here", "there")))

        def diff(line: str) -> Done:
            return kcli("diff", str(path), *line.split(), XDG_CONFIG_HOME=str(tmp_path / "config"))

        done = diff("-o json")
        assert done.code == 8
        assert {item["profile"]: item["status"] for item in done.items} == {
            "here": "equal",
            "there": "differs",
        }
        assert "profile there" in diff("").out
        done = diff("--profile here")
        assert (done.code, "of other profiles left out: there" in done.err) == (0, True)
        assert diff("-b 127.0.0.1:1").code == 2
    with closed_port() as port:  # one of the clusters is gone
        profiles(f"127.0.0.1:{port}")
        done = diff("-o json --timeout 1s")
    assert done.code == 6
    assert [part["code"] for part in json.loads(done.out)["missing"]] == [3]


# --- how much is asked -----------------------------------------------------------------------------


def test_topics_are_read_a_thousand_at_a_time(tmp_path: Path) -> None:
    """Of 5,000 topics that are 5 requests for configurations, and as many others as of one topic."""
    lines = ("export topics --file FILE", "diff FILE", "diff FILE --prune --only Topic")
    counts: list[list[Counter[Any]]] = []
    for number in (1, 1_001):
        with FakeCluster(1) as made:
            for one in range(number):
                made.create_topic(f"t{one}", 1)
            counts.append([])
            for line in lines:
                before = len(made.requests)
                assert run(made, line.replace("FILE", str(tmp_path / f"{number}.yaml"))).code == 0
                counts[-1].append(Counter(seen.kind for seen in made.requests[before:]))
    for line, of_one, of_all in zip(lines, *counts, strict=True):
        batches = 2 if "--prune" in line else 1  # named topics, and all
        assert of_all - of_one == Counter({DescribeConfigsRequest: batches}), line
        assert sum(of_one.values()) <= 20, of_one
