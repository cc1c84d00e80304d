"""Documents that are written: read back as what they were, in the same bytes, by any reader of YAML."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kcli.account.survey import Missing
from kcli.core.admin.configs import ConfigEntry
from kcli.core.errors import KcliError
from kcli.flows.resources.documents import read_documents
from kcli.flows.resources.resource import Kind, Ref, Resource, acl_name, quota_name
from kcli.flows.resources.writing import document, document_text, file_text, secrets_of

WORDS = (
    *(
        "yes",
        "no",
        "on",
        "Off",
        "y",
        "N",
        "true",
        "TRUE",
        "null",
        "~",
        "",
        " ",
        "-",
        "=",
        "<<",
        "1e5",
        "1_000",
    ),
    *(
        "0x1F",
        "0o17",
        "017",
        "1:20",
        "1.",
        ".5",
        ".inf",
        ".nan",
        "NaN",
        "2001-01-01",
        "0",
        "-1",
        "1.50",
        "1.5",
    ),
    *(
        "9223372036854775807",
        "a: b",
        "a #b",
        "# a",
        "- a",
        "? a",
        "a:",
        "[a",
        "{a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
    ),
    *("@a", "`a", '"a"', "'a'", "%a", "a\nb", "\ta", "a ", "\x00", "\x1b[31m", "\x7f", "\x85", "\u2028"),
    *("\ufeff", "\ufffe", "\U000e0001", "\U0001f600", "${HOME}", "$${x}", "${", "$", "C:\\x"),
)
text = st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
name = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True).filter(lambda word: word not in (".", ".."))
key = st.from_regex(r"[a-l][a-l.]{0,15}", fullmatch=True)  # none that counts anything, as retention.ms does
user = text.filter(bool)


def made(kind: Kind, given: str, spec: dict[str, Any]) -> Resource:
    return Resource(Ref(kind, given), spec)


def topic(given: str, partitions: int, factor: int, config: dict[str, str]) -> Resource:
    spec: dict[str, Any] = {"partitions": partitions, "replication_factor": factor}
    return made(Kind.TOPIC, given, spec | ({"config": config} if config else {}))


def acl(principal: str, **rest: str) -> Resource:
    spec = {"principal": f"User:{principal}", "resource_type": "topic", **rest}
    return made(Kind.ACL_BINDING, acl_name(spec), spec)


def quota(entity: dict[str, str | None], limits: dict[str, float]) -> Resource:
    return made(Kind.QUOTA, quota_name(entity), {"entity": entity, "limits": limits})


topics = st.builds(
    topic, name, st.integers(1, 100), st.integers(1, 9), st.dictionaries(key, text, max_size=4)
)
acls = st.builds(
    acl,
    user,
    permission=st.sampled_from(("allow", "deny")),
    operation=st.sampled_from(("read", "write", "describe_configs", "all")),
    resource_name=name,
    pattern=st.sampled_from(("literal", "prefixed")),
    host=st.sampled_from(("*", "192.0.2.1")),
)
quotas = st.builds(
    quota,
    st.fixed_dictionaries({"user": st.none() | user}, optional={"client-id": st.none() | user}),
    st.dictionaries(
        st.sampled_from(("producer_byte_rate", "consumer_byte_rate")),
        st.integers(1, 1 << 50) | st.floats(0.1, 1e6),
        min_size=1,
    ),
)
iterations = st.fixed_dictionaries({"iterations": st.integers(4096, 16384)})
mechanisms = st.dictionaries(st.sampled_from(("SCRAM-SHA-256", "SCRAM-SHA-512")), iterations, min_size=1)
users = st.builds(lambda given, has: made(Kind.USER, given, {"mechanisms": has}), user, mechanisms)
configs = st.builds(
    lambda kind, config: made(kind, "1" if kind is Kind.BROKER_CONFIG else "g", {"config": config}),
    st.sampled_from((Kind.BROKER_CONFIG, Kind.GROUP_CONFIG)),
    st.dictionaries(key, text, min_size=1, max_size=4),
)
positions = st.dictionaries(st.integers(0, 50), st.integers(0, 1 << 62), min_size=1, max_size=3)
offsets = st.builds(
    lambda given, found: made(Kind.GROUP_OFFSETS, given, {"offsets": found}),
    user,
    st.dictionaries(name, positions, min_size=1, max_size=2),
)
resources = st.lists(
    st.one_of(topics, acls, quotas, users, configs, offsets), max_size=6, unique_by=lambda one: one.ref
)


@given(resources)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, found: list[Resource]
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.yaml"
    path.write_text(file_text(found), encoding="utf-8")
    read = read_documents([str(path)], environment={})
    assert [(one.ref, one.spec) for one in read] == [(one.ref, one.spec) for one in found]


@given(resources)
def test_readers_of_yaml_1_1_read_the_same(found: list[Resource]) -> None:
    read = [one for one in yaml.safe_load_all(file_text(found).replace("$${", "${")) if one is not None]
    assert read == [document(one) for one in found]


def test_documents_are_as_people_write_them() -> None:
    orders = made(
        Kind.TOPIC,
        "orders",
        {
            "partitions": 3,
            "replication_factor": 2,
            "assignment": {0: [1, 2]},
            "config": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.2", "retention.ms": "5"},
        },
    )
    spec = {"principal": "User:a", "permission": "allow", "operation": "read", "resource_type": "topic"}
    spec |= {"resource_name": "*", "pattern": "literal", "host": "*"}
    why = KcliError("topic x cannot be described", why="no DESCRIBE permission on topic x")
    assert file_text([orders, made(Kind.ACL_BINDING, "", spec)], [Missing("Topic x", "", why)]) == (
        "# incomplete: Topic x could not be read: no DESCRIBE permission on topic x\n"
        "apiVersion: kcli/v1\nkind: Topic\nmetadata:\n  name: orders\nspec:\n  partitions: 3\n"
        "  replication_factor: 2\n  config:\n    cleanup.policy: compact\n    min.cleanable.dirty.ratio: 0.2\n"
        "    retention.ms: 5\n  assignment:\n    0: [1, 2]\n---\n"
        'apiVersion: kcli/v1\nkind: AclBinding\nspec:\n  principal: "User:a"\n  permission: allow\n'
        '  operation: read\n  resource_type: topic\n  resource_name: "*"\n  pattern: literal\n  host: "*"\n'
    )


def test_a_topic_in_which_nothing_is_set_has_no_configuration() -> None:
    spec = {"partitions": 1, "replication_factor": 1, "config": {}}
    assert "config" not in document_text(made(Kind.TOPIC, "t", spec))
    assert "config: {}" in document_text(made(Kind.GROUP_CONFIG, "g", {"config": {}}))


def test_secrets_are_named_and_not_written() -> None:
    own = "dynamic broker"
    entries = {
        "set": ConfigEntry("set", None, own, True, own_source=own),
        "elsewhere": ConfigEntry("elsewhere", None, "static broker", True, own_source=own),
        "plain": ConfigEntry("plain", "1", own, False, own_source=own),
    }
    broker = Resource(Ref(Kind.BROKER_CONFIG, "1"), {"config": {"plain": "1"}}, entries=entries)
    assert secrets_of(broker) == ["set"]


def test_nothing_is_written_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text(file_text([]))
    assert read_documents([str(path)], environment={}) == []
