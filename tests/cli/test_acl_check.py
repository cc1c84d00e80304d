"""``kcli acls check``: the verdict, the ACL that decides, and the exit status."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.errors.typing_remedies import type_remedy
from tests.cli.test_acls import acl
from tests.fake.cluster import FakeCluster
from tests.run import kcli

STORED = """
User:alice allow read topic orders literal *
User:alice allow read group billing literal *
User:bob allow write topic ord prefixed *
User:bob allow write topic ord prefixed 192.0.2.7
User:bob deny write topic orders-old literal *
User:carl allow all topic * literal *
User:carl deny delete topic * literal 192.0.2.7
User:dora allow read topic orders literal 192.0.2.7
User:* allow describe topic public literal *
User:eve deny read topic orders literal *
User:eve allow all topic orders literal *
User:fay allow alter_configs topic orders literal *
User:ops allow alter cluster kafka-cluster literal *
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as found:
        found.acls.update(acl(line) for line in STORED.split("\n") if line)
        yield found


@pytest.mark.parametrize(
    ("line", "verdict", "rule"),
    [
        ("alice read topic orders", "allowed", "allow User:alice read topic orders (literal) from *"),
        ("alice describe topic orders", "allowed", "allow User:alice read topic orders (literal) from *"),
        ("alice describe_configs topic orders", "denied", None),
        ("alice write topic orders", "denied", None),
        ("alice read topic order", "denied", None),
        ("alice read group billing", "allowed", "allow User:alice read group billing (literal) from *"),
        ("alice read group other", "denied", None),
        ("bob write topic orders", "allowed", "allow User:bob write topic ord (prefixed) from *"),
        (
            "bob write topic orders 192.0.2.7",
            "allowed",
            "allow User:bob write topic ord (prefixed) from 192.0.2.7",
        ),
        ("bob write topic orders-old", "denied", "deny User:bob write topic orders-old (literal) from *"),
        ("bob describe topic orders-old", "allowed", "allow User:bob write topic ord (prefixed) from *"),
        ("bob write topic or", "denied", None),
        ("carl delete topic any", "allowed", "allow User:carl all topic * (literal) from *"),
        (
            "carl delete topic any 192.0.2.7",
            "denied",
            "deny User:carl delete topic * (literal) from 192.0.2.7",
        ),
        ("carl read topic any 192.0.2.7", "allowed", "allow User:carl all topic * (literal) from *"),
        ("dora read topic orders", "denied", None),
        (
            "dora read topic orders 192.0.2.7",
            "allowed",
            "allow User:dora read topic orders (literal) from 192.0.2.7",
        ),
        ("dora read topic orders 192.0.2.8", "denied", None),
        ("who describe topic public", "allowed", "allow User:* describe topic public (literal) from *"),
        ("who read topic public", "denied", None),
        ("eve read topic orders", "denied", "deny User:eve read topic orders (literal) from *"),
        ("eve describe topic orders", "allowed", "allow User:eve all topic orders (literal) from *"),
        (
            "fay describe_configs topic orders",
            "allowed",
            "allow User:fay alter_configs topic orders (literal) from *",
        ),
        ("fay describe topic orders", "denied", None),
        ("ops describe cluster", "allowed", "allow User:ops alter cluster kafka-cluster (literal) from *"),
        ("ops create cluster", "denied", None),
        ("alice write transactional-id tx", "denied", None),
    ],
)
def test_the_verdict_and_the_acl_that_decides(
    cluster: FakeCluster, line: str, verdict: str, rule: str | None
) -> None:
    who, operation, kind, *more = line.split()
    words = [f"--{kind}", *([] if kind == "cluster" else more[:1])]
    host = ["--host", more[1]] if len(more) > 1 else []
    done = kcli("acls", "check", "--principal", f"User:{who}", "--operation", operation, *words, *host, "-o", "json",
                bootstrap=cluster.bootstrap)  # fmt: skip
    (found,) = json.loads(done.out)["items"]
    assert (found["verdict"], found["rule"]) == (verdict, rule)
    assert done.code == (0 if verdict == "allowed" else 8), done.err
    assert "superusers may do everything; brokers do not tell who they are" in done.err


def check(cluster: FakeCluster, *words: str) -> tuple[int, str, str]:
    done = kcli("acls", "check", *words, bootstrap=cluster.bootstrap)
    return done.code, done.out, done.err


def test_several_questions_have_an_answer_each(cluster: FakeCluster) -> None:
    code, out, err = check(cluster, "--principal", "User:alice", "--operation", "read", "--topic", "orders",
                           "--topic", "nix", "--group", "billing", "-o", "csv")  # fmt: skip
    assert code == 8
    assert [line.split(",")[4:6] for line in out.splitlines()[1:]] == [
        ["orders", "allowed"], ["nix", "denied"], ["billing", "allowed"],
    ]  # fmt: skip
    assert "User:alice read topic nix is denied" in err


def test_what_differs_from_host_to_host_is_said(cluster: FakeCluster) -> None:
    _, _, err = check(cluster, "--principal", "User:dora", "--operation", "read", "--topic", "orders")
    assert "otherwise from 192.0.2.7, by allow User:dora read topic orders (literal) from 192.0.2.7" in err
    assert "ACLs allow it from other hosts only" in err
    _, _, err = check(cluster, "--principal", "User:carl", "--operation", "delete", "--topic", "x")
    assert "otherwise from 192.0.2.7, by deny User:carl" in err


def test_a_resource_without_acls_is_told_apart(cluster: FakeCluster) -> None:
    _, _, err = check(cluster, "--principal", "User:a", "--operation", "read", "--group", "other")
    assert "the resource has no ACL: only allow.everyone.if.no.acl.found could allow it" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--operation", "read", "--topic", "t"), "missing option --principal"),
        (("--principal", "User:a", "--topic", "t"), "missing option --operation"),
        (("--principal", "User:a", "--operation", "read"), "missing option --topic"),
        (("--principal", "alice", "--operation", "read", "--topic", "t"), "is not TYPE:NAME"),
        (("--principal", "User:a", "--operation", "read", "--topic", "*"), "acls check: --topic '*'"),
        (("--principal", "User:a", "--operation", "read", "--group", "*"), "acls check: --group '*'"),
        (
            ("--principal", "User:a", "--operation", "read", "--topic", "t", "--host", "*"),
            "is not an IP address",
        ),
        (("--principal", "User:a", "--operation", "read", "--cluster"), "read is no operation on a cluster"),
    ],
)
def test_what_is_no_question(cluster: FakeCluster, words: tuple[str, ...], said: str) -> None:
    code, out, err = check(cluster, *words)
    assert (code, out) == (2, "")
    assert said in err
    if said == "acls check: --topic '*'":
        type_remedy(
            "name one, as in --topic orders; `kcli acls list --topic '*'` lists the ACLs for all",
            err,
            cluster.bootstrap,
        )
