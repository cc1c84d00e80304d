"""Files to resources: what is read, and every fault with its place."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.flows.resources.documents import read_documents
from kcli.flows.resources.faults import FilesError
from kcli.flows.resources.resource import Kind, Place, Ref, Resource

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file; messages name it as it is given."""
    monkeypatch.chdir(tmp_path)

    def file(text: str, name: str = "f.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    return file


def read(*paths: str, values: tuple[str, ...] = (), **environment: str) -> list[Resource]:
    return read_documents(paths, values=values, environment=environment)


def faults(*paths: str, values: tuple[str, ...] = (), **environment: str) -> list[str]:
    """``LINE:COLUMN: WHAT | WHY | DO`` of each."""
    with pytest.raises(FilesError) as caught:
        read(*paths, values=values, **environment)
    return [
        f"{fault.place.line}:{fault.place.column}: {' | '.join(filter(None, fault[1:]))}"
        for fault in caught.value.faults
    ]


TOPIC = """\
apiVersion: kcli/v1
kind: Topic
metadata:
  name: orders
spec:
  partitions: 12
  replication_factor: 3
  config:
    retention.ms: 604800000
    cleanup.policy: [compact, delete]
    unclean.leader.election.enable: false
    min.cleanable.dirty.ratio: 0.50
"""


def test_a_topic_has_its_spec_and_the_places_of_its_parts(write: Write) -> None:
    (topic,) = read(write(TOPIC))
    assert topic.ref == Ref(Kind.TOPIC, "orders")
    assert topic.spec == {
        "partitions": 12,
        "replication_factor": 3,
        "config": {
            "retention.ms": "604800000",
            "cleanup.policy": "compact,delete",
            "unclean.leader.election.enable": "false",
            "min.cleanable.dirty.ratio": "0.50",
        },
    }
    assert topic.place == Place("f.yaml", 1, 1)
    assert topic.places["partitions",] == Place("f.yaml", 6, 3)
    assert topic.places["config", "retention.ms"] == Place("f.yaml", 9, 5)


@pytest.mark.parametrize(
    ("kind", "rest", "refs", "spec"),
    [
        ("Topic", {"metadata": {"name": "t", "profile": "prod"}, "spec": None}, ["Topic t"], {}),
        (
            "Topic",
            {"metadata": {"name": "t"}, "spec": {"assignment": {"0": [1, 2], "1": [2, 3]}}},
            ["Topic t"],
            {"assignment": {0: [1, 2], 1: [2, 3]}},
        ),
        (
            "AclBinding",
            {"spec": {"principal": "User:a", "operations": ["read", "describe"], "resource_type": "topic", "resource_name": "t"}},  # noqa: E501
            [
                "AclBinding allow User:a read topic t (literal) from *",
                "AclBinding allow User:a describe topic t (literal) from *",
            ],
            {
                "principal": "User:a",
                "host": "*",
                "permission": "allow",
                "operation": "read",
                "resource_type": "topic",
                "resource_name": "t",
                "pattern": "literal",
            },
        ),
        (
            "AclBinding",
            {"spec": {"principal": "User:a", "operation": "alter", "resource_type": "cluster", "permission": "deny", "host": "10.0.0.1"}},  # noqa: E501
            ["AclBinding deny User:a alter cluster kafka-cluster (literal) from 10.0.0.1"],
            None,
        ),
        (
            "User",
            {"metadata": {"name": "a"}, "spec": {"mechanisms": {"SCRAM-SHA-256": {"iterations": 8192}}, "password_env": "P"}},  # noqa: E501
            ["User a"],
            {"mechanisms": {"SCRAM-SHA-256": {"iterations": 8192}}, "password_env": "P"},
        ),
        ("User", {"metadata": {"name": "a"}, "spec": {}}, ["User a"], {"mechanisms": {"SCRAM-SHA-512": {}}}),
        (
            "User",
            {"metadata": {"name": "a"}, "spec": {"mechanisms": ["SCRAM-SHA-256"]}},
            ["User a"],
            {"mechanisms": {"SCRAM-SHA-256": {}}},
        ),
        (
            "Quota",
            {"spec": {"entity": {"client-id": "app", "user": None}, "limits": {"request_percentage": 12.5, "producer_byte_rate": 2.0}}},  # noqa: E501
            ["Quota user=<default>,client-id=app"],
            {"entity": {"client-id": "app", "user": None}, "limits": {"request_percentage": 12.5, "producer_byte_rate": 2}},  # noqa: E501
        ),
        (
            "Quota",
            {"spec": {"entity": {"ip": "<default>"}, "limits": {"connection_creation_rate": 5}}},
            ["Quota ip=<default>"],
            {"entity": {"ip": None}, "limits": {"connection_creation_rate": 5}},
        ),
        ("BrokerConfig", {"metadata": {"name": 1}, "spec": {"config": {"a": 1}}}, ["BrokerConfig 1"], {"config": {"a": "1"}}),  # noqa: E501
        ("BrokerConfig", {"metadata": {"name": "default"}, "spec": {"config": {"a": ""}}}, ["BrokerConfig default"], {"config": {"a": ""}}),  # noqa: E501
        ("GroupConfig", {"metadata": {"name": "g"}, "spec": {"config": {"a": "x"}}}, ["GroupConfig g"], {"config": {"a": "x"}}),  # noqa: E501
        ("GroupOffsets", {"metadata": {"name": "g"}, "spec": {"offsets": {"t": {"0": 5}}}}, ["GroupOffsets g"], {"offsets": {"t": {0: 5}}}),  # noqa: E501
    ],
)  # fmt: skip
def test_kinds(
    write: Write, kind: str, rest: Mapping[str, Any], refs: list[str], spec: Mapping[str, Any] | None
) -> None:
    found = read(write(json.dumps({"apiVersion": "kcli/v1", "kind": kind, **rest}), "f.json"))
    assert [str(resource.ref) for resource in found] == refs
    assert spec is None or found[0].spec == spec
    assert found[0].profile == (rest.get("metadata") or {}).get("profile")


def test_all_faults_of_all_files_are_in_one_error(write: Write) -> None:
    broken = """\
apiVersion: kcli/v1
kind: Topic
metadata: {name: a b}
spec:
  partitions: "12"
  replication_factr: 3
  config:
    preallocate: yes
    segment.ms: 010
    retention.ms:
    retention.ms: 1
---
kind: Topic
---
apiVersion: kcli/v1
kind: Topc
---
apiVersion: kcli/v2
kind: Topic
"""
    write(broken, "a/1.yaml")
    write("a: [", "a/2.yml")
    with pytest.raises(FilesError) as caught:
        read("a", "none.yaml")
    assert caught.value.exit_code == 2
    assert caught.value.what == "12 errors in 3 files"
    assert [f"{one.what} | {one.why} | {one.do}" for one in caught.value.each] == [
        "a/1.yaml:3:18: metadata.name must be the name of a topic, and is a b"
        " | it has 1 to 249 letters, digits, dots, underscores or hyphens | ",
        "a/1.yaml:5:15: spec.partitions must be a whole number from 1, and is the text '12' |  | write it without quotes",
        "a/1.yaml:6:3: spec.replication_factr is unknown |  | did you mean replication_factor?",
        "a/1.yaml:8:18: spec.config.preallocate is yes | it is true in YAML 1.1 and text in YAML 1.2"
        " | write it in quotes for the text 'yes', or true or false",
        "a/1.yaml:9:17: spec.config.segment.ms is 010 | it is octal in YAML 1.1 and decimal in YAML 1.2"
        " | write it in quotes for the text '010'",
        "a/1.yaml:10:18: spec.config.retention.ms has no value"
        " |  | write '' for the empty text; what a file does not name is left as it is",
        "a/1.yaml:11:5: the key retention.ms is in line 10 already |  | keep one of them",
        "a/1.yaml:13:1: the document lacks apiVersion"
        " |  | kinds of kcli/v1 are Topic, AclBinding, User, Quota, BrokerConfig, GroupConfig, GroupOffsets",
        "a/1.yaml:16:7: Topc is no kind of kcli/v1 that is read"
        " | those are Topic, AclBinding, User, Quota, BrokerConfig, GroupConfig, GroupOffsets | did you mean Topic?",
        "a/1.yaml:18:13: Topic of kcli/v2 describes nothing in a cluster of Kafka"
        " | documents are of kcli/v1, kafka.strimzi.io, kafka.jikkou.io, core.jikkou.io, or topicctl's"
        " | did you mean kcli/v1?",
        "a/2.yml:1:5: while parsing a flow node did not find expected node content |  | ",
        "none.yaml: it cannot be read | no such file or directory | ",
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "fault"),
    [
        ("Topic", '{"partitions": 0}', "must be a whole number from 1, and is 0"),
        ("Topic", '{"partitions": 1.5}', "must be a whole number from 1, and is 1.5"),
        ("Topic", '{"partitions": true}', "must be a whole number from 1, and is true"),
        ("Topic", '{"partitions": [1]}', "must be a whole number from 1, and is a list"),
        ("Topic", '{"config": {"a": {"b": 1}}}', "spec.config.a must be text, a number, true or false"),
        ("Topic", '{"config": ["a"]}', "spec.config must be a mapping of configurations"),
        ("Topic", '{"partitions": 1, "assignment": {"0": [1], "1": [1]}}', "partition 1 is none of the 1 partitions"),
        ("Topic", '{"partitions": 3, "assignment": {"0": [1], "1": [1]}}', "spec.assignment lacks partition 2"),
        (
            "Topic",
            '{"replication_factor": 2, "assignment": {"0": [1]}}',
            "partition 0 is on 1 broker, not on 2",
        ),
        ("Topic", '{"assignment": {"0": [1, 1]}}', "spec.assignment.0 has an element twice"),
        ("Topic", '{"assignment": {"x": [1]}}', "the key 'x' of spec.assignment must be the number of a partition"),
        (
            "AclBinding",
            '{"principal": "a", "operation": "read", "resource_type": "topic", "resource_name": "t"}',
            "it has a type and a name",
        ),
        (
            "AclBinding",
            '{"principal": "User:a", "operation": "write", "resource_type": "group", "resource_name": "t"}',
            "write is no operation of a group",
        ),
        (
            "AclBinding",
            '{"principal": "User:a", "operation": "raed", "resource_type": "topic", "resource_name": "t"}',
            "did you mean read?",
        ),
        (
            "AclBinding",
            '{"principal": "User:a", "operation": "read", "operations": ["read"], "resource_type": "topic", "resource_name": "t"}',  # noqa: E501
            "spec has operation and operations",
        ),
        (
            "AclBinding",
            '{"principal": "User:a", "resource_type": "topic", "resource_name": "t"}',
            "spec lacks operation or operations",
        ),
        (
            "AclBinding",
            '{"principal": "User:a", "operation": "read", "resource_type": "topic"}',
            "spec lacks resource_name",
        ),
        (
            "AclBinding",
            '{"principal": "User:a", "operation": "alter", "resource_type": "cluster", "resource_name": "x"}',
            "the cluster is called kafka-cluster",
        ),
        ("User", '{"password": "hidden-one"}', "spec.password is unknown"),
        ("User", '{"password_env": "A", "password_file": "f"}', "spec has password_file and password_env"),
        ("User", '{"mechanisms": ["PLAIN"]}', "must be one of SCRAM-SHA-256, SCRAM-SHA-512"),
        ("Quota", '{"entity": {}, "limits": {"producer_byte_rate": 1}}', "spec.entity names nothing"),
        (
            "Quota",
            '{"entity": {"ip": "10.0.0.1", "user": "a"}, "limits": {"producer_byte_rate": 1}}',
            "the quota of an address",
        ),
        (
            "Quota",
            '{"entity": {"ip": "10.0.0.1"}, "limits": {"producer_byte_rate": 1}}',
            "producer_byte_rate is no limit of this entity",
        ),
        (
            "Quota",
            '{"entity": {"user": "a"}, "limits": {"producer_byte_rate": "1MB"}}',
            "must be a number from 0, and is the text '1MB'",
        ),
        ("GroupOffsets", '{"offsets": {"t": {"0": -1}}}', "must be a whole number from 0"),
        ("GroupConfig", '{}', "spec lacks config"),
    ],
)  # fmt: skip
def test_faults_of_specs(write: Write, kind: str, spec: str, fault: str) -> None:
    found = faults(write(f"apiVersion: kcli/v1\nkind: {kind}\nmetadata: {{name: n}}\nspec: {spec}\n"))
    assert len(found) == 1, found
    assert fault in found[0]
    assert "hidden-one" not in found[0]


def test_a_resource_in_two_places_names_both(write: Write) -> None:
    one, other = write(TOPIC, "one.yaml"), write(f"# again\n{TOPIC}", "other.yaml")
    assert faults(one, other) == [
        "2:1: Topic orders is described twice | one.yaml:1:1 describes it, too | keep one of them"
    ]
    elsewhere = write(TOPIC.replace("name: orders", "name: orders\n  profile: dr"), "other.yaml")
    assert [found.profile for found in read(one, elsewhere)] == [None, "dr"]


def test_folders_are_read_in_order_without_hidden_files(write: Write, tmp_path: Path) -> None:
    for name in ("d/b.yml", "d/a.json", "d/c/x.yaml", "d/.hidden.yaml", "d/.git/y.yaml", "d/note.txt"):
        text = TOPIC.replace("orders", Path(name).stem.strip("."))
        write(
            json.dumps({"apiVersion": "kcli/v1", "kind": "Topic", "metadata": {"name": "a"}, "spec": {}})
            if name.endswith("json")
            else text,
            name,
        )
    (tmp_path / "d/again.yaml").symlink_to("b.yml")
    assert [found.ref.name for found in read("d", "d/b.yml")] == ["a", "b", "x"]
    (tmp_path / "empty").mkdir()
    assert faults("empty") == [
        "0:0: no file of it ends with .yaml, .yml, .json | name another folder, or files"
    ]


def test_stdin_is_a_dash(write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / write(TOPIC)
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert read("-")[0].place == Place("stdin", 1, 1)


def test_a_list_of_kubectl_is_its_items(write: Write) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [
        {"apiVersion": "kcli/v1", "kind": "Topic", "metadata": {"name": name}, "spec": {}} for name in "ab"
    ]}  # fmt: skip
    assert [found.ref.name for found in read(write(json.dumps(listed)))] == ["a", "b"]


# --- variables -------------------------------------------------------------------------------------


def test_variables_are_typed_as_what_stands_there(write: Write) -> None:
    text = """\
apiVersion: kcli/v1
kind: Topic
metadata: {name: "${ENV}-orders"}
spec:
  partitions: ${N}
  replication_factor: ${RF:-3}
  config:
    a: ${EMPTY:-x}
    b: "${N}"
    c: $${N}
    d: ${INJECTED}
    ${KEY}: 1
"""
    (topic,) = read(write(text), ENV="dev", N="12", EMPTY="", INJECTED="x\nspec: {partitions: 1}", KEY="k")
    assert topic.ref.name == "dev-orders"
    assert topic.spec == {
        "partitions": 12,
        "replication_factor": 3,
        "config": {"a": "x", "b": "12", "c": "${N}", "d": "x\nspec: {partitions: 1}", "k": "1"},
    }
    assert topic.places["config", "k"] == Place("f.yaml", 12, 5)


def test_a_number_may_be_a_variable_in_json(write: Write) -> None:
    document = {
        "apiVersion": "kcli/v1",
        "kind": "Topic",
        "metadata": {"name": "t"},
        "spec": {"partitions": "${N}"},
    }
    assert read(write(json.dumps(document)), N="3")[0].spec == {"partitions": 3}


def test_files_of_values_win_over_the_environment_and_later_ones_over_earlier(write: Write) -> None:
    text = TOPIC.replace("12", "${N}")
    first, second = write("N: 1\nA: x\n", "v1.yaml"), write("N: '2'\n", "v2.yaml")
    assert read(write(text), N="9")[0].spec["partitions"] == 9
    assert read("f.yaml", values=(first,), N="9")[0].spec["partitions"] == 1
    assert read("f.yaml", values=(first, second))[0].spec["partitions"] == 2


def test_all_missing_variables_are_named_once_with_their_first_place(write: Write) -> None:
    text = TOPIC.replace("12", "${N}").replace(" 3", " ${RF}").replace("604800000", "${N}")
    do = "set it in the environment or in --values FILE, or give it a default: "
    assert faults(write(text), values=(write("A: 1", "v.yaml"),)) == [
        "6:15: the variable N has no value | the environment and v.yaml lack it; it is wanted in 1 more places"
        f" | {do}${{N:-…}}",
        f"7:23: the variable RF has no value | the environment and v.yaml lack it | {do}${{RF:-…}}",
    ]


def test_values_do_not_appear_in_errors(write: Write) -> None:
    found = faults(
        write(TOPIC.replace("12", "${N}").replace("orders", "${NAME}")), N="s3cret", NAME="s3cret s3cret"
    )
    assert len(found) == 2
    assert "s3cret" not in str(found)
    values = write("N: [s3cret]\n1a: s3cret\n", "v.yaml")
    found = faults(write(TOPIC), values=(values,))
    assert found == [
        "1:1: N has no single value | a variable is text or a number",
        "2:1: '1a' is no name of a variable | a name has letters, digits and _",
    ]


@pytest.mark.parametrize("text", ["${1}", "${a b}", "${", "${A:default}", "${A:-${B}}"])
def test_what_is_no_variable_is_a_fault(write: Write, text: str) -> None:
    found = faults(write(TOPIC.replace("orders", f"'{text}'")), B="x")
    assert (
        "is no variable | a variable is ${NAME} or ${NAME:-default}, and ${ itself is written $${" in found[0]
    )


# --- size ------------------------------------------------------------------------------------------


def test_what_is_not_text_is_a_fault(write: Write, tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"a: 1\nb: \xff\n")
    assert faults("f.yaml") == ["2:4: it is not UTF-8 | save it as UTF-8"]
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbf" + TOPIC.encode())
    assert len(read("f.yaml")) == 1


def test_a_large_file_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.flows.resources.sources.LARGEST", 100)
    assert "it is larger than 100 bytes" in faults(write(TOPIC))[0]


_PIECES = st.sampled_from(
    [*" \n\t{}[]'#~é\"", "- ", ": ", "&a ", "*a", "!!x ", "${", "$${", "0x1", "yes", "---\n"]
)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 8), _PIECES), min_size=1, max_size=4))
def test_whatever_a_file_has_it_is_read_or_its_faults_have_places(
    changes: list[tuple[int, int, str]],
) -> None:
    text = TOPIC
    for at, length, piece in changes:
        text = text[:at] + piece + text[at + length :]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "f.yaml"
        file.write_text(text)
        found: list[Place] = []
        try:
            found += [resource.place for resource in read(str(file))]
        except FilesError as error:
            found += [fault.place for fault in error.faults]
        assert all(place.line > 0 and place.column > 0 for place in found)
