"""``kcli acls`` as a user runs it: what is listed, exact plans, questions, refusals, and what is read back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core import AclOperation, AclPattern, AclPermission, AclResource
from kcli.core.protocol.messages.create_acls import CreateAclsRequest
from kcli.core.protocol.messages.delete_acls import DeleteAclsRequest
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from tests.access import Kcli
from tests.fake.acl_admin import Acl
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER

KEYS = ("principal", "permission", "operation", "resource_type", "resource_name", "pattern", "host")
ALICE, BOB, EVE = "User:alice", "User:bob", "User:eve"


def acl(text: str) -> Acl:
    """``User:alice allow read topic orders literal *`` as a broker stores it."""
    principal, permission, operation, kind, name, pattern, host = text.split()
    return Acl(
        AclResource[kind.upper()],
        name,
        AclPattern[pattern.upper()],
        principal,
        host,
        AclOperation[operation.upper()],
        AclPermission[permission.upper()],
    )


STORED = """
User:alice allow read topic orders literal *
User:alice allow read group billing literal *
User:alice allow describe cluster kafka-cluster literal *
User:bob allow write topic ord prefixed 192.0.2.7
User:bob allow write transactional_id tx literal *
User:eve deny all topic * literal *
"""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as found:
        found.acls.update(acl(line) for line in STORED.split("\n") if line)
        yield found


@pytest.fixture
def acls(cluster: FakeCluster) -> Kcli:
    return Kcli("acls", cluster)


def lines(items: list[dict[str, Any]], *more: str) -> list[str]:
    return [" ".join(item[key] for key in (*KEYS, *more)) for item in items]


def stored(cluster: FakeCluster) -> int:
    return len(cluster.acls)


# --- list --------------------------------------------------------------------------------------------------


def test_all_are_listed_by_principal_and_resource(acls: Kcli) -> None:
    assert lines(acls.items("list")) == [line for line in STORED.split("\n") if line]


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ("--principal User:alice", 3),
        ("--principal User:alice --principal User:bob", 5),
        ("--operation write", 2),
        ("--operation Read --operation DESCRIBE", 3),
        ("--topic orders", 1),
        ("--topic orders --topic ord", 2),
        ("--topic '*'", 1),
        ("--group billing --topic orders", 2),
        ("--transactional-id tx", 1),
        ("--cluster", 1),
        ("--pattern prefixed", 1),
        ("--pattern literal", 5),
        ("--topic orders --pattern prefixed", 0),
        ("--topic orders --pattern match", 3),
        ("--group billing --pattern match", 1),
        ("--host 192.0.2.7", 1),
        ("--host '*'", 5),
        ("--deny", 1),
        ("--deny --principal User:alice", 0),
    ],
)
def test_each_filter_selects(acls: Kcli, options: str, count: int) -> None:
    found = lines(acls.items(f"list {options}"))
    assert len(found) == count
    assert set(found) <= set(STORED.split("\n"))


def test_an_empty_selection_names_what_is_similar(acls: Kcli, cluster: FakeCluster) -> None:
    assert "no ACL matches; did you mean User:alice?" in acls("list --principal User:alcie").err
    assert "no ACL matches; did you mean orders?" in acls("list --topic order").err
    cluster.acls.clear()
    assert "the cluster has no ACLs" in acls("list").err


def test_formats(acls: Kcli) -> None:
    assert acls("list --deny -o tsv").out.splitlines() == [
        "\t".join(KEYS),
        "User:eve\tdeny\tall\ttopic\t*\tliteral\t*",
    ]
    assert acls("list -o name").out.split() == [ALICE, BOB, EVE]
    document = json.loads(acls("list -o json").out)
    assert (document["kind"], document["cluster"]) == ("AclList", "fake-kafka-cluster-id0")
    (line,) = acls("list --deny -o ndjson").out.splitlines()
    assert json.loads(line)["kind"] == "Acl"


def test_numbers_that_are_not_known_are_shown_as_such(acls: Kcli, cluster: FakeCluster) -> None:
    cluster.acls.add(Acl(99, "x", 3, "User:new", "*", 77, 3))
    (item,) = acls.items("list --principal User:new")
    assert (item["resource_type"], item["operation"]) == ("unknown (99)", "unknown (77)")


def test_tables_fit_80_columns_of_a_terminal(acls: Kcli, cluster: FakeCluster) -> None:
    cluster.acls.add(
        acl(f"User:CN={'x' * 60} allow idempotent_write cluster kafka-cluster literal 192.0.2.199")
    )
    shown = acls.on_terminal("list --no-pager")
    assert "PRINCIPAL" in shown
    assert max(map(len, shown.splitlines())) <= 80


# --- create ------------------------------------------------------------------------------------------------


def test_the_plan_has_each_exact_acl_and_all_are_created(acls: Kcli, cluster: FakeCluster) -> None:
    line = "create --principal User:ann --operation read --operation Describe --topic orders --topic other"
    done = acls(f"{line} --yes")
    assert "(cluster fake-kafka-cluster-id0):\nCreate 4 ACLs:" in done.err
    assert "User:ann   allow       describe   topic          other          literal  *" in done.err
    assert "created 4 ACLs, read back" in done.err
    assert done.out == ""
    assert acl("User:ann allow describe topic other literal *") in cluster.acls
    assert len(acls.items("list --principal User:ann")) == 4


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--operation all --group g", "User:a allow all group g literal *"),
        (
            "--operation idempotent-write --cluster",
            "User:a allow idempotent_write cluster kafka-cluster literal *",
        ),
        (
            "--operation IdempotentWrite --cluster",
            "User:a allow idempotent_write cluster kafka-cluster literal *",
        ),
        ("--operation write --transactional-id x", "User:a allow write transactional_id x literal *"),
        ("--operation describe --delegation-token x", "User:a allow describe delegation_token x literal *"),
        (
            "--operation create_tokens --user-principal User:b",
            "User:a allow create_tokens user User:b literal *",
        ),
        ("--operation read --topic ord --pattern prefixed", "User:a allow read topic ord prefixed *"),
        ("--operation read --topic '*'", "User:a allow read topic * literal *"),
        ("--operation read --topic t --host 192.0.2.1", "User:a allow read topic t literal 192.0.2.1"),
        (
            "--operation read --topic t --host 2001:db8::1",
            "User:a allow read topic t literal 2001:db8:0:0:0:0:0:1",
        ),
        ("--operation read --topic t --deny", "User:a deny read topic t literal *"),
    ],
)
def test_each_option_is_in_the_acl(acls: Kcli, cluster: FakeCluster, options: str, expected: str) -> None:
    cluster.acls.clear()
    (item,) = acls.items(f"create --principal User:a {options} --yes")
    assert " ".join(item[key] for key in KEYS) == expected
    assert item["status"] == "done"
    assert cluster.acls == {acl(expected)}
    assert acls.items(f"delete --principal User:a {options} --yes")[0]["status"] == "done"
    assert cluster.acls == set()


def test_what_exists_is_said_and_the_rest_created(acls: Kcli, cluster: FakeCluster) -> None:
    line = "create --principal User:alice --operation read --topic orders --topic new"
    done = acls(f"{line} --yes -o json")
    assert [(i["resource_name"], i["status"]) for i in done.items] == [
        ("new", "done"),
        ("orders", "unchanged"),
    ]
    assert "Create 1 ACL:" in done.err
    (created,) = cluster.seen(CreateAclsRequest)
    assert [row.resource_name for row in created.request.creations] == ["new"]
    again = acls(line)  # nothing to be asked
    assert "nothing is to be created: all 2 ACLs exist already" in again.err
    assert [i["status"] for i in acls.items(line)] == ["unchanged", "unchanged"]


def test_a_dry_run_creates_nothing(acls: Kcli, cluster: FakeCluster) -> None:
    before = stored(cluster)
    line = "create --principal User:ann --operation read --topic orders --dry-run"
    assert "Create 1 ACL" in acls(line).out
    document = json.loads(acls(f"{line} -o json").out)
    assert (document["kind"], document["items"][0]["status"]) == ("AclCreatePlan", "planned")
    assert stored(cluster) == before


CREATE = "create --principal User:ann --operation read --topic orders"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (CREATE, 2, ["confirmation required", "Create 1 ACL?"]),
        (f"{CREATE} --no-input", 2, ["--no-input was given"]),
        ("create --operation read --topic t", 2, ["missing option --principal", "--principal User:alice"]),
        ("create --operation read --topic t --principal User:", 2, ["lacks a name", "--principal User:NAME"]),
        ("create --operation read --topic t --principal :bob", 2, ["lacks a type", "--principal User:bob"]),
        ("create --principal User:a --topic t", 2, ["missing option --operation"]),
        ("create --principal User:a --operation read", 2, ["missing option --topic, --group"]),
        (
            "create --principal ann --operation read --topic t",
            2,
            ["is not TYPE:NAME", "--principal User:ann"],
        ),
        ("create --principal user:ann --operation read --topic t", 2, ["did you mean --principal User:ann?"]),
        ("create --principal User: --operation read --topic t", 2, ["lacks a name"]),
        ("create --principal :ann --operation read --topic t", 2, ["lacks a type", "User:ann"]),
        ("create --principal '' --operation read --topic t", 2, ["--principal is empty", "variable"]),
        (f"{CREATE} --operation ''", 2, ["--operation is empty"]),
        (f"{CREATE} --operation wirte", 2, ["no operation 'wirte'", "did you mean write?"]),
        (f"{CREATE} --operation zzz", 2, ["no operation 'zzz'", "those on topics are all, read"]),
        (
            f"{CREATE} --operation idempotent_write",
            2,
            ["is no operation on a topic", "use it with --cluster"],
        ),
        (f"{CREATE} --cluster", 2, ["read is no operation on a cluster", "--topic or --group"]),
        (
            f"{CREATE} --operation create_tokens",
            2,
            ["create_tokens is no operation on a topic", "--user-principal"],
        ),
        (f"{CREATE} --delegation-token x", 2, ["read is no operation on a delegation token"]),
        (f"{CREATE} --user-principal User:b", 2, ["read is no operation on a user"]),
        (
            "create --principal User:a --operation create_tokens --user-principal b",
            2,
            ["--user-principal b is not TYPE:NAME", "write --user-principal User:b"],
        ),
        (f"{CREATE} --delegation-token ''", 2, ["token id is empty"]),
        (f"{CREATE} --group g --operation write", 2, ["write is no operation on a group"]),
        (f"{CREATE} --transactional-id ''", 2, ["transactional id is empty"]),
        (f"{CREATE} --group ''", 2, ["group name is empty"]),
        (f"{CREATE} --topic ''", 2, ["topic name is empty"]),
        (f"{CREATE} --topic 'ord*'", 2, ["no topic can have the name", "--topic ord --pattern prefixed"]),
        (f"{CREATE} --topic a/b", 2, ["no topic can have the name 'a/b'", "letters, digits"]),
        (f"{CREATE} --topic '*' --pattern prefixed", 2, ["no name begins with *"]),
        (f"{CREATE} --pattern match", 2, ["not one of 'literal', 'prefixed'"]),
        (f"{CREATE} --pattern prefxed", 2, ["did you mean prefixed?"]),
        (f"{CREATE} --host h.example", 2, ["is not an IP address", "never matches"]),
        (f"{CREATE} --host ''", 2, ["--host is empty"]),
        (
            "create --principal User:a --operation alter --cluster --pattern prefixed",
            2,
            ["leave out --pattern"],
        ),
        ("list --pattern match", 2, ["--pattern match without a name"]),
        ("list --principal alice", 2, ["--principal User:alice"]),
        ("list --cluster --pattern prefixed", 2, ["there is one cluster"]),
        ("delete --topic t --pattern match", 2, ["not one of 'literal', 'prefixed'"]),
    ],
)
def test_lines_that_are_refused(
    acls: Kcli, cluster: FakeCluster, line: str, code: int, words: list[str]
) -> None:
    acls.refused(line, code, *words)
    assert not cluster.seen(CreateAclsRequest)
    assert not cluster.seen(DeleteAclsRequest)


def test_what_is_easily_overlooked_is_said(acls: Kcli) -> None:
    done = acls("create --principal User:* --operation read --group 'bill*' --yes")
    assert "bill* is taken literally" in done.err
    assert "User:* is every user" in done.err


def test_an_acl_that_is_not_there_afterwards_is_reported(acls: Kcli, cluster: FakeCluster) -> None:
    def lost(_request: Any, answer: Any) -> None:
        answer.resources = []

    cluster.replace(DescribeAclsRequest, lost, times=FOREVER)
    (item,) = acls.items(f"{CREATE} --yes --timeout 2s", 7)
    assert item["status"] == "failed"
    assert "was created, and is not there" in acls(f"{CREATE} --yes --timeout 2s", 7).err


def test_an_acl_that_brokers_show_a_moment_later_is_waited_for(acls: Kcli, cluster: FakeCluster) -> None:
    def stale(_request: Any, answer: Any) -> None:
        answer.resources = []

    cluster.replace(DescribeAclsRequest, stale, times=3)
    assert "created 1 ACL, read back" in acls(f"{CREATE} --yes").err


def test_a_read_back_that_fails_is_partly_done(acls: Kcli, cluster: FakeCluster) -> None:
    cluster.fail(DescribeAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, after=2, times=FOREVER)
    (item,) = acls.items(f"{CREATE} --yes", 6)
    assert item["status"] == "unknown"


def test_one_of_two_that_fails_is_reported_and_the_other_created(acls: Kcli, cluster: FakeCluster) -> None:
    def refuse(_request: Any, answer: Any) -> None:
        answer.results[0].error_code = Code.INVALID_REQUEST
        answer.results[0].error_message = "no such thing"

    cluster.replace(CreateAclsRequest, refuse)
    cluster.acls.discard(acl("User:alice allow read topic orders literal *"))
    items = acls.items("create --principal User:ann --operation read --topic a --topic b --yes", 6)
    assert [i["status"] for i in items] == ["failed", "done"]


# --- delete ------------------------------------------------------------------------------------------------


def test_exactly_what_the_plan_shows_is_deleted(acls: Kcli, cluster: FakeCluster) -> None:
    done = acls("delete --principal User:alice --yes")
    assert "(cluster fake-kafka-cluster-id0):\nDelete 3 ACLs:" in done.err
    assert "User:alice  allow       read       group          billing        literal  *" in done.err
    assert "deleted 3 ACLs, read back" in done.err
    (request,) = cluster.seen(DeleteAclsRequest)
    assert {f.principal_filter for f in request.request.filters} == {ALICE}
    assert all(f.resource_name_filter and f.host_filter == "*" for f in request.request.filters)
    assert {a.principal for a in cluster.acls} == {BOB, EVE}


def test_a_dry_run_deletes_nothing(acls: Kcli, cluster: FakeCluster) -> None:
    before = stored(cluster)
    assert "Delete 1 ACL" in acls("delete --topic orders --dry-run").out
    document = json.loads(acls("delete --topic orders --dry-run -o json").out)
    assert (document["kind"], document["items"][0]["status"]) == ("AclDeletePlan", "planned")
    assert json.loads(acls("delete --topic none --dry-run -o json").out)["items"] == []
    assert stored(cluster) == before


def test_nothing_selected_is_no_failure(acls: Kcli) -> None:
    done = acls("delete --principal User:alcie --yes -o json")
    assert done.items == []
    assert "no ACL matches; did you mean User:alice?" in done.err


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("--principal User:alice", ALICE),
        ("--topic orders", ALICE),
        ("--topic orders --topic ord", "fake-kafka-cluster-id0"),
        ("--principal User:alice --principal User:bob", "fake-kafka-cluster-id0"),
    ],
)
def test_the_name_to_be_typed_is_what_the_acls_share(acls: Kcli, options: str, name: str) -> None:
    acls.refused(f"delete {options} --confirm nope", 2, f"use --confirm {name}")
    acls(f"delete {options} --confirm {name}")


def test_what_could_match_everything_is_not_answered_by_yes(acls: Kcli, cluster: FakeCluster) -> None:
    before = stored(cluster)
    for options in ("", "--operation write", "--host '*'", "--deny", "--pattern literal"):
        acls.refused(f"delete {options} --yes", 2, "--yes is not enough", "--confirm fake-kafka-cluster-id0")
    assert stored(cluster) == before
    acls("delete --confirm fake-kafka-cluster-id0")
    assert stored(cluster) == 0


def test_a_deletion_of_denials_is_said(acls: Kcli) -> None:
    assert "one of them denies" in acls("delete --principal User:eve --dry-run").err
    assert "denies" not in acls("delete --principal User:eve --deny --dry-run").err


def test_what_vanishes_or_appears_meanwhile_is_reported(acls: Kcli, cluster: FakeCluster) -> None:
    vanished, appeared = (
        acl("User:alice allow read topic orders literal *"),
        acl("User:alice allow write topic t literal *"),
    )

    def meddle(*_: Any) -> None:
        cluster.acls.discard(vanished)
        cluster.acls.add(appeared)

    cluster.intercept(DeleteAclsRequest, meddle)
    done = acls("delete --principal User:alice --yes -o json")
    assert sorted(item["status"] for item in done.items) == ["done", "done", "unchanged"]
    assert "was deleted by another client meanwhile" in done.err
    assert "ACL allow User:alice write topic t (literal) from * was created meanwhile" in done.err
    assert appeared in cluster.acls


def test_a_deletion_whose_response_was_lost_is_done(acls: Kcli, cluster: FakeCluster) -> None:
    cluster.swallow(DeleteAclsRequest, "close")
    done = acls("delete --principal User:alice --yes -o json")
    assert {item["status"] for item in done.items} == {"done"}


def test_an_acl_that_is_there_again_is_reported(acls: Kcli, cluster: FakeCluster) -> None:
    kept = set(cluster.acls)

    def restore(*_: Any) -> None:
        cluster.acls.update(kept)

    cluster.intercept(DescribeAclsRequest, restore, after=2, times=FOREVER)
    done = acls("delete --topic orders --yes --timeout 2s -o json", 7)
    assert [item["status"] for item in done.items] == ["failed"]
    assert "was deleted, and is there again" in done.err


# --- brokers that refuse -----------------------------------------------------------------------------------

LINES = ("list", f"{CREATE} --yes", "delete --topic orders --yes")


@pytest.mark.parametrize("line", LINES)
def test_without_an_authorizer_it_is_7(acls: Kcli, cluster: FakeCluster, line: str) -> None:
    cluster.settings.authorizer = False
    acls.refused(line, 7, "this cluster has no authorizer", "authorizer.class.name", "StandardAuthorizer")


@pytest.mark.parametrize("line", LINES)
def test_without_the_right_to_describe_it_is_4(acls: Kcli, cluster: FakeCluster, line: str) -> None:
    cluster.fail(DescribeAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    acls.refused(
        line,
        4,
        "CLUSTER_AUTHORIZATION_FAILED",
        "no DESCRIBE permission on the cluster",
        "--operation describe --cluster",
    )


@pytest.mark.parametrize(("line", "api"), [(LINES[1], CreateAclsRequest), (LINES[2], DeleteAclsRequest)])
def test_without_the_right_to_alter_it_is_4(acls: Kcli, cluster: FakeCluster, line: str, api: Any) -> None:
    cluster.fail(api, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    before = stored(cluster)
    done = acls(line, 4)
    assert "--operation alter --cluster" in done.err
    assert stored(cluster) == before


@pytest.mark.parametrize("line", LINES)
def test_brokers_without_acls_are_named(acls: Kcli, cluster: FakeCluster, line: str) -> None:
    for api in (DescribeAclsRequest, CreateAclsRequest, DeleteAclsRequest):
        cluster.hide(api)
    acls.refused(line, 7, "does not offer DescribeAcls", cluster.address(1))


def test_a_failed_run_has_a_document_or_nothing(acls: Kcli, cluster: FakeCluster) -> None:
    cluster.settings.authorizer = False
    done = acls("list -o json", 7)
    assert done.out == ""
    assert json.loads(done.err)["code"] == 7


# --- on a terminal -----------------------------------------------------------------------------------------


def test_questions(acls: Kcli, cluster: FakeCluster) -> None:
    shown = acls.on_terminal(CREATE, ("Create 1 ACL? [y/N]", "n"), code=1)
    assert "the answer was no" in shown
    acls.on_terminal(CREATE, ("Create 1 ACL? [y/N]", "y"))
    assert acl("User:ann allow read topic orders literal *") in cluster.acls
    asked = "Delete 1 ACL? Type User:ann to confirm:"
    acls.on_terminal("delete --principal User:ann", (asked, "y"), code=1)
    acls.on_terminal("delete --principal User:ann", (asked, "User:ann"))
    assert acl("User:ann allow read topic orders literal *") not in cluster.acls


PRESETS = {
    "--producer --topic t --transactional-id x": [
        "create topic t", "describe topic t", "write topic t", "describe transactional_id x", "write transactional_id x",
    ],
    "--consumer --topic t --group g": ["describe topic t", "read topic t", "read group g"],
    "--mirror source --topic t --group g": ["describe_configs topic t", "read topic t", "describe group g"],
    "--mirror target --topic t": [
        "create topic __kcli_mirror", "describe_configs topic __kcli_mirror", "read topic __kcli_mirror",
        "write topic __kcli_mirror", "alter topic t", "alter_configs topic t", "create topic t",
        "describe_configs topic t", "read topic t", "write topic t", "read group __kcli.lease. prefixed",
        "write transactional_id kcli-mirror- prefixed",
    ],
}  # fmt: skip


@pytest.mark.parametrize("words", PRESETS)
def test_a_kind_of_client_stands_for_its_operations(acls: Kcli, words: str) -> None:
    items = acls.items(f"create --principal User:p {words} --host 192.0.2.7 --dry-run")
    found = sorted(
        f"{one['operation']} {one['resource_type']} {one['resource_name']}{' prefixed' * (one['pattern'] != 'literal')}"
        for one in items
    )
    assert found == sorted(PRESETS[words])
    assert {(one["principal"], one["permission"], one["host"]) for one in items} == {
        ("User:p", "allow", "192.0.2.7")
    }


def test_kinds_of_clients_add_up_and_prefixes_are_for_what_is_named(acls: Kcli) -> None:
    words = "--producer --consumer --mirror source --mirror target --topic t. --group g. --pattern prefixed"
    items = acls.items(f"create --principal User:p {words} --dry-run")
    patterns = {(one["resource_name"], one["pattern"]) for one in items}
    assert patterns == {
        ("t.", "prefixed"), ("g.", "prefixed"), ("__kcli_mirror", "literal"), ("__kcli.lease.", "prefixed"),
        ("kcli-mirror-", "prefixed"),
    }  # fmt: skip
    assert len(items) == len({json.dumps(one) for one in items})


def test_a_producer_needs_nothing_on_the_cluster(acls: Kcli) -> None:
    done = acls("create --principal User:p --producer --topic t --yes", 0)
    assert "since Kafka 2.8 idempotent producers need no IDEMPOTENT_WRITE on the cluster" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--producer", "acls create: --producer without --topic"),
        ("--consumer --topic t", "acls create: --consumer without --group"),
        ("--mirror target --group g", "acls create: --mirror target without --topic"),
        ("--producer --topic t --operation read", "acls create: --producer with --operation"),
        ("--producer --topic t --deny", "acls create: --producer with --deny"),
        ("--producer --topic t --group g", "acls create: --producer with --group"),
        ("--consumer --topic t --group g --cluster", "acls create: --consumer with --cluster"),
        ("--mirror nowhere --topic t", "nowhere"),
    ],
)
def test_what_no_kind_of_client_takes(acls: Kcli, words: str, said: str) -> None:
    acls.refused(f"create --principal User:p {words}", 2, said)
