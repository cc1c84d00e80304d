"""What the changes of ``kcli acls``, ``users`` and ``quotas`` share: a dry run ends as the act would, every format has
one document, warnings stand in it, and lost answers and other clients are accounted for.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import split
from typing import Any, NamedTuple

import pytest

from kcli.core.protocol.api import Request
from kcli.core.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from kcli.core.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcli.core.protocol.messages.create_acls import CreateAclsRequest
from kcli.core.protocol.messages.delete_acls import DeleteAclsRequest
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcli.core.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests.access import Kcli
from tests.fake.acl_admin import Acl
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.scram_store import DIGESTS, Credential
from tests.fake.script import FOREVER
from tests.run import Done, kcli

ALLOW, DENY = 3, 2
READ_ORDERS = Acl(2, "orders", 3, "User:alice", "*", 3, ALLOW)
DENY_ALL = Acl(2, "*", 3, "User:eve", "*", 2, DENY)
SHA_256, SHA_512 = 1, 2
ALICE = ("alice", SHA_512)


class Verb(NamedTuple):
    """A change: its line without ``--yes``, the requests that change and that read, and the operations that they need."""

    line: str
    kind: str
    api: type[Request]
    read: type[Request]
    alter: str = "ALTER"
    describe: str = "DESCRIBE"


SCRAM = AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
CREATE = Verb(
    "acls create --principal User:ann --operation read --topic t",
    "AclCreate",
    CreateAclsRequest,
    DescribeAclsRequest,
)
DELETE = Verb("acls delete --principal User:alice", "AclDelete", DeleteAclsRequest, DescribeAclsRequest)
SET = Verb("users set carol --password-file {file} --allow-plaintext-secrets", "UserSet", *SCRAM)
REMOVE = Verb("users delete alice", "UserDelete", *SCRAM)
ALTER = Verb(
    "quotas alter --user alice --set producer_byte_rate=5",
    "QuotaAlter",
    AlterClientQuotasRequest,
    DescribeClientQuotasRequest,
    "ALTER_CONFIGS",
    "DESCRIBE_CONFIGS",
)
VERBS = (CREATE, DELETE, SET, REMOVE, ALTER)
each_verb = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.kind)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1) as found:
        found.acls.update((READ_ORDERS, DENY_ALL))
        found.scram.changed[ALICE] = Credential.of_password(DIGESTS[SHA_512], b"salt", 4_096, "old")
        found.quotas[frozenset({("user", "alice")})] = {"producer_byte_rate": 1024.0}
        yield found


Run = Callable[..., Done]


@pytest.fixture
def run(cluster: FakeCluster, tmp_path: Path) -> Run:
    password = tmp_path / "password"
    password.write_text("canary-77\n")
    password.chmod(0o600)

    def run(line: str, *more: str, code: int = 0, **environ: str) -> Done:
        words = [*split(line.format(file=password)), *more]
        done = kcli(*words, bootstrap="" if environ else cluster.bootstrap, **environ)
        assert done.code == code, done
        assert "canary" not in done.out + done.err
        return done

    return run


def items(done: Done) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(done.out)["items"]
    return found


def changed(cluster: FakeCluster, verb: Verb) -> list[Any]:
    return [one for one in cluster.seen(verb.api) if not getattr(one.request, "validate_only", False)]


# --- a dry run ends as the act would -------------------------------------------------------------------------------


@each_verb
def test_without_the_permission_to_change_both_are_4_and_nothing_is_asked(
    run: Run, cluster: FakeCluster, verb: Verb
) -> None:
    cluster.settings.cluster_operations = 1 << 8 | 1 << 10  # DESCRIBE, DESCRIBE_CONFIGS
    if verb is ALTER:
        cluster.fail(verb.api, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    for more in ("--dry-run", "--yes"):
        shown = run(verb.line, more, code=4)
        assert shown.out == ""
        assert shown.err.count(f"no {verb.alter} permission on the cluster") == 1
        assert f"--operation {verb.alter.lower()} --cluster" in shown.err
        (item,) = items(run(verb.line, more, "-o", "json", code=4))
        assert (item["status"], verb.alter in item["note"]) == ("refused", True)
    assert changed(cluster, verb) == []


@each_verb
def test_without_the_permission_to_read_both_are_4(run: Run, cluster: FakeCluster, verb: Verb) -> None:
    cluster.fail(verb.read, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    for more in ("--dry-run", "--yes"):
        assert f"no {verb.describe} permission on the cluster" in run(verb.line, more, code=4).err
    assert changed(cluster, verb) == []


def test_quotas_that_no_broker_checks_are_refused_for_a_missing_permission_only_where_it_is_reported(
    run: Run, cluster: FakeCluster
) -> None:
    """To clients without DESCRIBE on the cluster, which ALTER_CONFIGS does not include, brokers report no operation."""
    cluster.settings.metadata_version = 0
    cluster.settings.cluster_operations = 1 << 8
    assert "no ALTER_CONFIGS permission" in run(ALTER.line, "--dry-run", code=4).err
    cluster.settings.cluster_operations = 0
    assert "not checked by the broker" in run(ALTER.line, "--dry-run").err
    run(ALTER.line, "--yes")
    (asked,) = cluster.seen(AlterClientQuotasRequest)
    assert not asked.request.validate_only  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "mechanisms"),
    [
        ("users delete alicia", [None]),
        ("users delete alice --mechanism SCRAM-SHA-256", ["SCRAM-SHA-256"]),
        (
            "users delete alice --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512",
            ["SCRAM-SHA-256", "SCRAM-SHA-512"],
        ),
    ],
)
def test_credentials_that_do_not_exist_are_refused_with_all_the_others(
    run: Run, cluster: FakeCluster, line: str, mechanisms: list[str | None]
) -> None:
    for more in ("--dry-run", "--yes"):
        done = run(line, more, "-o", "json", code=1)
        assert [item["mechanism"] for item in items(done)] == mechanisms
        assert {item["status"] for item in items(done)} == {"refused"}
        assert "has no" in items(done)[0]["note"]
        assert run(line, more, code=1).err.count("kcli: user alic") == 1
    assert changed(cluster, REMOVE) == []


def test_a_quota_that_the_broker_refuses_is_refused_in_the_plan(run: Run, cluster: FakeCluster) -> None:
    cluster.fail(AlterClientQuotasRequest, Code.POLICY_VIOLATION, times=FOREVER)
    for more in ("--dry-run", "--yes"):
        done = run(ALTER.line, "--unset", "consumer_byte_rate", more, "-o", "json", code=7)
        assert [item["status"] for item in items(done)] == ["refused", "unchanged"]
        assert done.err.count("POLICY_VIOLATION") == 1
    assert changed(cluster, ALTER) == []


# --- documents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", ["--dry-run", "--yes"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("acls create --principal User:* --operation read --topic t", "User:* is every user"),
        ("acls delete --principal User:eve", "one of them denies"),
        ("users set User:carol --password-file {file} --allow-plaintext-secrets", "taken literally"),
        ("quotas alter --user User:alice --set producer_byte_rate=5", "taken literally"),
    ],
)
def test_warnings_stand_in_plans_and_reports(run: Run, line: str, words: str, more: str) -> None:
    done = run(line, more, "-o", "json")
    (warning,) = json.loads(done.out)["warnings"]
    assert words in warning
    assert f"warning: {warning}" in done.err


def test_nothing_selected_is_an_empty_plan_and_report(run: Run) -> None:
    for more in ("--dry-run", "--yes"):
        done = run("acls delete --principal User:alcie", more, "-o", "json")
        assert (items(done), "did you mean User:alice?" in done.err) == ([], True)
    assert run("acls delete --topic none --dry-run").out.endswith("\nNothing is to be deleted.\n")
    assert "Nothing" not in run("acls delete --topic none --yes").err


# --- answers that are lost -----------------------------------------------------------------------------------------


@each_verb
def test_a_change_whose_answers_are_all_lost_is_settled_by_what_is_read_back(
    run: Run, cluster: FakeCluster, verb: Verb
) -> None:
    after = 2 if verb is ALTER else 0  # what brokers check
    cluster.swallow(verb.api, "close", times=FOREVER, after=after)
    (item,) = items(run(verb.line, "--yes", "--timeout", "1s", "-o", "json"))
    assert item["status"] == "done"


@each_verb
def test_a_change_of_which_nothing_is_known_is_unknown(run: Run, cluster: FakeCluster, verb: Verb) -> None:
    after = 2 if verb is ALTER else 0
    cluster.drop(verb.api, "close", times=FOREVER, after=after)
    done = run(verb.line, "--yes", "--timeout", "1s", "-o", "json", code=3)
    assert items(done)[0]["status"] == "unknown"
    assert done.err.count("it is unknown whether") == 1


# --- other clients -------------------------------------------------------------------------------------------------


def between(cluster: FakeCluster, api: type[Request], act: Callable[[], object]) -> None:
    """Does something between the plan and the next look, which is the second request."""
    cluster.intercept(api, lambda _request: act() and None, after=1, times=1)


def test_an_acl_that_is_created_before_the_act_is_unchanged(run: Run, cluster: FakeCluster) -> None:
    made = Acl(2, "t", 3, "User:ann", "*", 3, ALLOW)
    between(cluster, DescribeAclsRequest, lambda: cluster.acls.add(made))
    (item,) = items(run(CREATE.line, "--yes", "-o", "json"))
    assert (item["status"], changed(cluster, CREATE)) == ("unchanged", [])


def test_an_acl_that_is_deleted_before_the_act_is_unchanged(run: Run, cluster: FakeCluster) -> None:
    between(cluster, DescribeAclsRequest, lambda: cluster.acls.discard(READ_ORDERS))
    document = json.loads(run(DELETE.line, "--yes", "-o", "json").out)
    (item,) = document["items"]
    assert (item["status"], item["note"]) == ("unchanged", "deleted by another client meanwhile")
    assert document["warnings"] == [
        "ACL allow User:alice read topic orders (literal) from * was deleted by another client meanwhile"
    ]
    assert changed(cluster, DELETE) == []


def test_an_acl_that_is_created_after_the_plan_stays_and_is_warned_of(run: Run, cluster: FakeCluster) -> None:
    other = READ_ORDERS._replace(resource_name="more")
    between(cluster, DescribeAclsRequest, lambda: cluster.acls.add(other))
    document = json.loads(run(DELETE.line, "--yes", "-o", "json").out)
    assert [item["resource_name"] for item in document["items"]] == ["orders"]
    assert "read topic more (literal) from * was created meanwhile" in document["warnings"][0]
    assert other in cluster.acls


def test_a_credential_that_is_gone_before_the_act_is_unchanged_and_the_others_are_deleted(
    run: Run, cluster: FakeCluster
) -> None:
    other = Credential.of_password(DIGESTS[SHA_256], b"salt", 4_096, "old")
    cluster.scram.changed["alice", SHA_256] = other
    between(
        cluster, DescribeUserScramCredentialsRequest, lambda: cluster.scram.changed.pop(("alice", SHA_256))
    )
    both = "--mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512"
    done = run(f"{REMOVE.line} {both}", "--yes", "-o", "json")
    assert [item["status"] for item in items(done)] == ["unchanged", "done"]
    assert "SCRAM-SHA-256 of user alice was deleted by another client meanwhile" in done.err


def test_a_credential_that_is_set_after_the_plan_stays_and_is_warned_of(
    run: Run, cluster: FakeCluster
) -> None:
    other = Credential.of_password(DIGESTS[SHA_256], b"salt", 4_096, "old")
    added = {("alice", SHA_256): other}
    between(cluster, DescribeUserScramCredentialsRequest, lambda: cluster.scram.changed.update(added))
    document = json.loads(run(REMOVE.line, "--yes", "-o", "json").out)
    assert [(item["mechanism"], item["status"]) for item in document["items"]] == [("SCRAM-SHA-512", "done")]
    assert "SCRAM-SHA-256 of user alice was set meanwhile" in document["warnings"][0]


@pytest.mark.parametrize("verb", [SET, REMOVE, ALTER], ids=lambda verb: verb.kind)
def test_what_has_another_value_than_in_the_plan_is_refused(
    run: Run, cluster: FakeCluster, verb: Verb
) -> None:
    def meddle() -> None:
        for user in ("alice", "carol"):
            other = Credential.of_password(DIGESTS[SHA_512], b"salt", 9_999, "old")
            cluster.scram.changed[user, SHA_512] = other
        cluster.quotas[frozenset({("user", "alice")})]["producer_byte_rate"] = 7.0

    between(cluster, verb.read, meddle)
    done = run(verb.line, "--yes", "-o", "json", code=7)
    assert items(done)[0]["status"] == "refused"
    assert "has changed since the plan was shown" in done.err
    assert changed(cluster, verb) == []


# --- the password --------------------------------------------------------------------------------------------------


def test_a_password_that_is_not_typed_changes_nothing_and_has_no_report(cluster: FakeCluster) -> None:
    users = Kcli("users", cluster)
    line = "set carol --allow-plaintext-secrets --yes -o json"
    shown = users.on_terminal(line, ("New password of carol: ", ""), code=2)
    assert ("none was typed; nothing was done" in shown, "UserSetReport" in shown) == (True, False)
    assert changed(cluster, SET) == []
