"""``kcli users`` as a user runs it: plans, passwords from everywhere but the command line, refusals, and SCRAM logins
with what was set.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from kcli.core.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kcli.core.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from kcli.core.protocol.messages.metadata import MetadataResponse
from tests.access import Kcli
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.sasl import Sasl
from tests.fake.scram_store import DIGESTS, Credential
from tests.fake.script import FOREVER
from tests.run import Done, kcli

CANARY = "canary-5b1c é"
SHA_256, SHA_512 = 1, 2


def stored(password: str, mechanism: int = SHA_512, iterations: int = 4_096) -> Credential:
    return Credential.of_password(DIGESTS[mechanism], b"salt", iterations, password)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2) as found:
        found.scram.changed.update(
            {
                ("alice", SHA_512): stored("old"),
                ("alice", SHA_256): stored("old", SHA_256, 8_192),
                ("bob smith", SHA_512): stored("old"),
            }
        )
        yield found


class Users(Kcli):
    """Every run is looked through for the password."""

    def __call__(self, line: str, code: int = 0, *, stdin: str = "") -> Done:
        done = super().__call__(f"{line} --allow-plaintext-secrets", code, stdin=stdin)
        assert "canary" not in done.out + done.err
        return done


@pytest.fixture
def users(cluster: FakeCluster) -> Users:
    return Users("users", cluster)


@pytest.fixture
def given(tmp_path: Path) -> str:
    """The option that names a file with the password."""
    path = tmp_path / "password"
    path.write_text(f"{CANARY}\n")
    path.chmod(0o600)
    return f"--password-file {path}"


def changed(cluster: FakeCluster) -> list[Any]:
    return list(cluster.seen(AlterUserScramCredentialsRequest))


def is_password(cluster: FakeCluster, user: str, password: str, mechanism: int = SHA_512) -> bool:
    found = cluster.scram.find(user, mechanism)
    if found is None:
        return False
    return found == Credential.of_password(DIGESTS[mechanism], found.salt, found.iterations, password)


# --- list --------------------------------------------------------------------------------------------------


def test_all_credentials_are_listed(users: Users, cluster: FakeCluster) -> None:
    assert [tuple(item.values())[-3:] for item in users.items("list")] == [
        ("alice", "SCRAM-SHA-256", 8_192),
        ("alice", "SCRAM-SHA-512", 4_096),
        ("bob smith", "SCRAM-SHA-512", 4_096),
    ]
    assert users("list -o name").out == "alice\nbob smith\n"
    asked = cluster.seen(DescribeUserScramCredentialsRequest)
    assert [seen.request.users for seen in asked] == [[], []]  # type: ignore[attr-defined]
    assert users("list -o tsv").out.splitlines()[0] == "user\tmechanism\titerations"
    assert json.loads(users("list -o ndjson").out.splitlines()[0])["kind"] == "User"


def test_users_and_mechanisms_are_selected(users: Users, cluster: FakeCluster) -> None:
    assert users("list alice 'bob smith' alice -o name").out == "alice\nbob smith\n"
    assert users("list --mechanism scram-sha-256 -o name").out == "alice\n"
    assert "no credential is of this mechanism" in users("list 'bob smith' --mechanism SCRAM-SHA-256").err
    cluster.scram.changed.clear()
    assert "the cluster has no SCRAM credentials" in users("list").err


def test_a_user_that_is_missing_is_reported_with_the_nearest_name(users: Users) -> None:
    done = users("list alicia 'bob smith' -o name", 6)
    assert done.out == "bob smith\n"
    assert "user alicia has no SCRAM credentials" in done.err
    assert "did you mean alice?" in done.err
    assert "did you mean" in users("list alic", 1).err


def test_a_mechanism_that_this_version_does_not_know_is_listed(users: Users, cluster: FakeCluster) -> None:
    cluster.scram.changed["new", 9] = Credential(b"s", 5_000, b"", b"")
    assert users.items("list new")[0]["mechanism"] == "unknown (9)"


# --- set ---------------------------------------------------------------------------------------------------


def test_a_new_user_is_set_and_read_back(users: Users, cluster: FakeCluster, given: str) -> None:
    done = users(f"set carol {given} --yes")
    assert "SCRAM-SHA-512: not set → 8192 iterations, new password" in done.err
    assert "set SCRAM-SHA-512 of user carol, read back" in done.err
    assert is_password(cluster, "carol", CANARY)
    assert len(cluster.seen(DescribeUserScramCredentialsRequest)) == 3
    first = cluster.scram.find("carol", SHA_512)
    users(f"set carol {given} --yes")
    second = cluster.scram.find("carol", SHA_512)
    assert first is not None
    assert second is not None
    assert len(first.salt) >= 16
    assert first.salt != second.salt


def test_a_password_is_replaced_and_the_other_mechanism_keeps_its_own(
    users: Users, cluster: FakeCluster, given: str
) -> None:
    done = users(f"set alice {given} --iterations 16384 --yes -o json")
    assert done.items[0] | {"kind": 0} == {
        "kind": 0,
        "user": "alice",
        "mechanism": "SCRAM-SHA-512",
        "old_iterations": 4_096,
        "iterations": 16_384,
        "status": "done",
        "note": None,
    }
    assert "SCRAM-SHA-512: 4096 iterations → 16384 iterations, new password" in done.err
    assert "SCRAM-SHA-256: 8192 iterations, stays" in done.err
    assert "SCRAM-SHA-256 of user alice keeps its present password" in done.err
    assert is_password(cluster, "alice", CANARY)
    assert is_password(cluster, "alice", "old", SHA_256)


def test_both_mechanisms_at_once(users: Users, cluster: FakeCluster, given: str) -> None:
    """In two requests: KRaft refuses a user twice in one."""
    both = "--mechanism SCRAM-SHA-256 --mechanism scram-sha-512"
    items = users.items(f"set carol {both} --iterations 4096 {given} --yes")
    assert [(item["mechanism"], item["status"]) for item in items] == [
        ("SCRAM-SHA-256", "done"),
        ("SCRAM-SHA-512", "done"),
    ]
    assert is_password(cluster, "carol", CANARY, SHA_256)
    assert is_password(cluster, "carol", CANARY, SHA_512)
    assert len(changed(cluster)) == 2


@pytest.mark.parametrize("name", ["eve smith", "a,b=c", "=2C", "müller", "'\\x", "x" * 200])
def test_any_name(users: Users, cluster: FakeCluster, given: str, name: str) -> None:
    users(f"set {quote(name)} {given} --yes")
    assert is_password(cluster, name, CANARY)
    assert users.items(f"list {quote(name)}")[0]["user"] == name
    users(f"delete {quote(name)} --confirm {quote(name)}")
    assert cluster.scram.find(name, SHA_512) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("User:carol", "the name is taken literally: in ACLs, the principal of this user is User:User:carol"),
        ("müller", "Apache Kafka's brokers refuse SCRAM logins of names that are not ASCII"),
        ("' carol'", "the name begins or ends with a blank"),
    ],
)
def test_names_that_are_hardly_meant_are_pointed_out(users: Users, name: str, words: str) -> None:
    assert f"warning: {words}" in users(f"set {name} --dry-run").err


def test_a_dry_run_needs_no_password_and_changes_nothing(users: Users, cluster: FakeCluster) -> None:
    assert "SCRAM-SHA-512: 4096 iterations → 8192 iterations" in users("set alice --dry-run").out
    document = json.loads(users("set alice --dry-run -o json").out)
    assert (document["kind"], document["items"][0]["status"]) == ("UserSetPlan", "planned")
    assert document["warnings"] == ["SCRAM-SHA-256 of user alice keeps its present password"]
    assert changed(cluster) == []


# --- where the password comes from -------------------------------------------------------------------------


@pytest.mark.case("X16")
def test_a_password_from_a_command_and_from_stdin(users: Users, cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_text("echo canary-of-a-command\n")
    users(f"set carol --password-command 'sh {path}' --yes")
    assert is_password(cluster, "carol", "canary-of-a-command")
    pipe = Path(f"/dev/fd/{piped(b'canary-piped')}")
    users(f"set carol --password-file {pipe} --yes")
    assert is_password(cluster, "carol", "canary-piped")


def piped(data: bytes) -> int:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["it is empty"]),
        ("\n", ["it is empty"]),
        ("canary\nsecond line\n", ["it has 2 lines, and a secret is one line"]),
        ("canary\n\n", ["it has 2 lines, and a secret is one line"]),
        ("canary\x00", ["has a control character"]),
        ("canary\t", ["has a control character"]),
        (b"canary\xff", ["it is not UTF-8 text"]),
    ],
)
def test_a_file_without_a_usable_password(
    users: Users, cluster: FakeCluster, tmp_path: Path, content: str | bytes, words: list[str]
) -> None:
    path = tmp_path / "password"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(0o600)
    users.refused(f"set carol --password-file {path} --yes", 2, *words)
    assert changed(cluster) == []


def test_the_rules_for_files_with_secrets_apply(users: Users, cluster: FakeCluster, tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text(CANARY)
    path.chmod(0o644)
    assert "other users can read it: chmod 600" in users(f"set carol --password-file {path} --yes").err
    path.chmod(0o666)
    users.refused(f"set dave --password-file {path} --yes", 2, "every user can change it")
    users.refused(
        f"set dave --password-file {tmp_path}/none --yes", 2, "the password of dave", "--password-file"
    )
    users.refused("set dave --password-command false --yes", 2, "exit status 1")
    assert len(changed(cluster)) == 1


def test_without_a_terminal_no_password_is_asked_for(users: Users, cluster: FakeCluster) -> None:
    users.refused("set carol --yes", 2, "there is no password for user carol", "--password-file FILE")
    users.refused("set carol --yes --no-input", 2, "--no-input was given")
    assert not cluster.connections


ASKED = "Set the password of user carol? [y/N]"
FIRST, AGAIN = "New password of carol: ", "New password of carol again: "
TERMINAL = "set carol --allow-plaintext-secrets"


@pytest.mark.case("X16")
def test_a_password_is_typed_twice_and_not_shown(users: Users, cluster: FakeCluster) -> None:
    shown = users.on_terminal(
        TERMINAL, (ASKED, "y"), (FIRST, "canary-1"), (AGAIN, "canary-2"), (FIRST, CANARY), (AGAIN, CANARY)
    )
    assert "the two passwords differ; try again" in shown
    assert "canary" not in shown
    assert is_password(cluster, "carol", CANARY)


def test_no_password_no_change(users: Users, cluster: FakeCluster) -> None:
    users.on_terminal(TERMINAL, (ASKED, "n"), code=1)
    assert "none was typed" in users.on_terminal(f"{TERMINAL} --yes", (FIRST, ""), code=2)
    left = users.on_terminal(f"{TERMINAL} --yes", (FIRST, "canary-1"), (AGAIN, "\x04"), code=2)
    assert ("none was typed" in left, "differ" in left) == (True, False)
    stdin = users.on_terminal(f"{TERMINAL} --yes --password-file -", code=2)
    assert "--password-file - reads stdin, which is a terminal" in stdin
    typed = [(FIRST, "canary-1"), (AGAIN, "canary-2")] * 3
    shown = users.on_terminal(f"{TERMINAL} --yes", *typed, code=2)
    assert "why: the two passwords differ; nothing was done" in shown
    assert "canary" not in shown
    assert changed(cluster) == []


@pytest.mark.case("X16", "R24")
@pytest.mark.parametrize(
    "words",
    [
        "carol canary",
        "carol canary more",
        "carol --password canary",
        "carol --password=canary",
        "carol -p canary",
        "carol -pcanary",
        "--passwd canary carol",
        "carol --secret=canary",
        "carol --add-config 'SCRAM-SHA-512=[password=canary]'",
    ],
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    users: Users, cluster: FakeCluster, words: str
) -> None:
    said = users.refused(f"set {words} --yes", 2, "may be a password", "(ps)", "--password-file FILE")
    assert "canary" not in said
    assert not cluster.connections


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("set carol {given}", ["confirmation required", "Set the password of user carol?", "--yes"]),
        ("set '' {given} --yes", ["the user name is empty", "variable"]),
        ("set", ["missing argument NAME"]),
        ("delete ''", ["the user name is empty"]),
        ("delete alice", ["confirmation required", "Delete 2 credentials?"]),
        ("delete alice --confirm bob", ["does not name what would be changed"]),
        ("set carol {given} --password-command x", ["--password-file together with --password-command"]),
        ("set carol --password-file ''", ["--password-file is empty"]),
        ("set carol {given} --yes --iterations 4095", ["must be at least 4,096"]),
        ("set carol {given} --yes --iterations 16385", ["must be at most 16,384"]),
        ("set carol {given} --yes --mechanism PLAIN", ["'PLAIN' is not SCRAM-SHA-512 or SCRAM-SHA-256"]),
        ("set carol --iteration 5000", ["did you mean --iterations?"]),
        ("add carol", ["there is no command 'add'", "`kcli users set NAME`"]),
        ("list --entity-name alice", ["`kcli users list NAME`"]),
    ],
)
def test_what_is_refused(users: Users, cluster: FakeCluster, given: str, line: str, words: list[str]) -> None:
    users.refused(line.format(given=given), 2, *words)
    assert changed(cluster) == []


@pytest.mark.case("X10")
def test_nothing_is_sent_without_encryption_unless_that_is_allowed(cluster: FakeCluster, given: str) -> None:
    plain = Kcli("users", cluster)
    for more in ("--yes", "--dry-run"):
        plain.refused(
            f"set carol {given} {more}", 2, "over PLAINTEXT is refused", "--allow-plaintext-secrets"
        )
    assert not cluster.connections
    plain("list")
    plain("delete alice --yes")


# --- delete ------------------------------------------------------------------------------------------------


def test_all_credentials_of_a_user_are_deleted(users: Users, cluster: FakeCluster) -> None:
    done = users("delete alice --confirm alice -o json")
    assert [(i["mechanism"], i["iterations"], i["status"]) for i in done.items] == [
        ("SCRAM-SHA-256", 8_192, "done"),
        ("SCRAM-SHA-512", 4_096, "done"),
    ]
    assert "Delete 2 SCRAM credentials of user alice:" in done.err
    assert "deleted SCRAM-SHA-256 and SCRAM-SHA-512 of user alice, read back" in done.err
    assert users("list -o name").out == "bob smith\n"


def test_one_credential_is_deleted(users: Users, cluster: FakeCluster) -> None:
    done = users("delete alice --mechanism SCRAM-SHA-256 --yes")
    assert "SCRAM-SHA-512: 4096 iterations, stays" in done.err
    assert [i["mechanism"] for i in users.items("list alice")] == ["SCRAM-SHA-512"]


def test_what_does_not_exist_is_1(users: Users, cluster: FakeCluster) -> None:
    users.refused("delete alicia --yes", 1, "user alicia has no SCRAM credentials", "did you mean alice?")
    users.refused("delete 'bob smith' --mechanism SCRAM-SHA-256 --yes", 1, "has no SCRAM-SHA-256 credential")
    assert changed(cluster) == []


def test_the_name_has_to_be_typed(users: Users, cluster: FakeCluster) -> None:
    asked = "Delete 2 credentials? Type alice to confirm:"
    users.on_terminal("delete alice", (asked, "y"), code=1)
    assert changed(cluster) == []
    users.on_terminal("delete alice", (asked, "alice"))
    assert ("alice", SHA_512) not in cluster.scram.all()


def test_a_dry_run_deletes_nothing(users: Users, cluster: FakeCluster) -> None:
    assert "Delete 2 SCRAM credentials" in users("delete alice --dry-run").out
    assert json.loads(users("delete alice --dry-run -o json").out)["kind"] == "UserDeletePlan"
    assert changed(cluster) == []


# --- logins ------------------------------------------------------------------------------------------------


def as_user(name: str, password_file: str, mechanism: str = "SCRAM-SHA-512") -> list[str]:
    pairs = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": name,
        "sasl.password_file": password_file,
    }
    return [word for key, value in pairs.items() for word in ("-X", f"{key}={value}")]


@pytest.mark.case("X19", "R24")
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("name", ["carol", "a,b=c d"])
def test_a_user_logs_in_with_what_was_set_until_it_is_deleted(
    given: str, tmp_path: Path, name: str, mechanism: str
) -> None:
    file = given.split()[1]
    own = tmp_path / "own"
    own.write_text("admin's")
    own.chmod(0o600)
    with FakeCluster(1, sasl=Sasl(users={"admin": "admin's"})) as cluster:

        def run(*words: str, by: list[str], code: int) -> Done:
            done = kcli(*words, *by, bootstrap=cluster.bootstrap)
            assert done.code == code, done.err
            assert "canary" not in done.out + done.err
            return done

        admin, user = as_user("admin", str(own)), as_user(name, file, mechanism)
        run("topics", "list", by=user, code=4)
        loud = ("--yes", "--allow-plaintext-secrets", "-vvv", "--debug")
        words = ("users", "set", name, "--mechanism", mechanism, "--password-file", file, *loud)
        assert "AlterUserScramCredentials v0" in run(*words, by=admin, code=0).err
        run("topics", "list", *loud, by=user, code=0)
        run("users", "delete", name, "--yes", by=admin, code=0)
        run("topics", "list", by=user, code=4)


def test_who_changes_the_own_credentials_is_warned(tmp_path: Path, given: str) -> None:
    own = tmp_path / "own"
    own.write_text("admin's")
    own.chmod(0o600)
    with FakeCluster(1, sasl=Sasl(users={"admin": "admin's"})) as cluster:

        def said(*words: str, mechanism: str = "SCRAM-SHA-512") -> str:
            by = (*as_user("admin", str(own), mechanism), "--allow-plaintext-secrets")
            done = kcli("users", *words, *by, bootstrap=cluster.bootstrap)
            assert done.code == 0, done.err
            return done.err

        warning = "this connection authenticates as admin with SCRAM-SHA-512"
        file = given.split()
        assert f"{warning}: new connections, of kcli too, need the new" in said("set", "admin", "--dry-run")
        assert warning not in said("set", "carol", "--dry-run")
        assert warning not in said("set", "admin", "--mechanism", "SCRAM-SHA-256", "--dry-run")
        assert warning not in said("delete", "admin", "--mechanism", "SCRAM-SHA-256", "--dry-run")
        assert f"{warning}: new connections, of kcli too, will be refused" in said("delete", "admin", "--yes")
        assert cluster.scram.all() == {}
        cluster.scram.changed.clear()
        assert warning in said("set", "admin", *file, "--yes")


def test_who_changes_the_own_password_and_loses_the_response_does_not_know(
    tmp_path: Path, given: str
) -> None:
    """The next attempt cannot log in any more."""
    own = tmp_path / "own"
    own.write_text("admin's")
    own.chmod(0o600)
    with FakeCluster(1, sasl=Sasl(users={"admin": "admin's"})) as cluster:
        cluster.swallow(AlterUserScramCredentialsRequest, "close")
        by = (*as_user("admin", str(own)), "--allow-plaintext-secrets", "-o", "json")
        done = kcli("users", "set", "admin", *given.split(), "--yes", *by, bootstrap=cluster.bootstrap)
        assert done.code == 4, done.err
        document = json.loads(done.out)
        assert document["items"][0]["status"] == "unknown"
        assert "this connection authenticates as admin" in document["warnings"][1]
        assert "it is unknown whether SCRAM-SHA-512 of user admin was changed" in done.err


def test_a_refusal_after_a_lost_response_is_a_failure(users: Users, cluster: FakeCluster, given: str) -> None:
    cluster.drop(AlterUserScramCredentialsRequest, "close")
    cluster.fail(AlterUserScramCredentialsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, after=1, times=FOREVER)
    (item,) = users.items(f"set carol {given} --yes", 4)
    assert item["status"] == "failed"


def test_a_protected_profile_requires_the_name(cluster: FakeCluster, tmp_path: Path, given: str) -> None:
    (tmp_path / "kcli").mkdir()
    marks = {"prod": "protected", "locked": "read_only"}
    (tmp_path / "kcli/config.toml").write_text(
        "".join(
            f'[profiles.{name}]\nbootstrap.servers = "{cluster.bootstrap}"\n{mark} = true\n'
            for name, mark in marks.items()
        )
    )

    def run(line: str, code: int) -> str:
        words = [*line.split(), "--allow-plaintext-secrets"]
        done = kcli("users", *words, XDG_CONFIG_HOME=str(tmp_path))
        assert done.code == code, done.err
        return done.err

    assert "give --confirm carol" in run(f"set carol {given} --yes --profile prod", 2)
    assert "give --confirm alice" in run("delete alice --yes --profile prod", 2)
    assert "read-only" in run(f"set carol {given} --yes --profile locked", 7)
    assert "read-only" in run("delete alice --yes --profile locked", 7)
    assert changed(cluster) == []
    run(f"set carol {given} --confirm carol --profile prod", 0)
    run("delete alice --confirm alice --profile prod", 0)


# --- what brokers report -----------------------------------------------------------------------------------

SET, DELETE = "set carol {given} --yes", "delete alice --yes --mechanism SCRAM-SHA-512"


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        (Code.CLUSTER_AUTHORIZATION_FAILED, 4, ["no ALTER permission on the cluster", "kcli acls create"]),
        (Code.UNSUPPORTED_SASL_MECHANISM, 4, ["UNSUPPORTED_SASL_MECHANISM", "--mechanism"]),
        (Code.UNACCEPTABLE_CREDENTIAL, 7, ["UNACCEPTABLE_CREDENTIAL", "--iterations"]),
        (Code.DUPLICATE_RESOURCE, 7, ["DUPLICATE_RESOURCE"]),
        (Code.UNSUPPORTED_VERSION, 7, ["UNSUPPORTED_VERSION", "metadata.version of the cluster to 3.5"]),
    ],
)
@pytest.mark.parametrize("line", [SET, DELETE])
def test_errors_of_brokers(
    users: Users, cluster: FakeCluster, given: str, line: str, code: int, status: int, words: list[str]
) -> None:
    cluster.fail(AlterUserScramCredentialsRequest, code, times=FOREVER)
    users.refused(line.format(given=given), status, *words)


@pytest.mark.parametrize("line", ["list", "list alice", SET, DELETE])
def test_without_the_right_to_describe_it_is_4(
    users: Users, cluster: FakeCluster, given: str, line: str
) -> None:
    cluster.fail(DescribeUserScramCredentialsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    users.refused(line.format(given=given), 4, "no DESCRIBE permission on the cluster")
    assert changed(cluster) == []


@pytest.mark.parametrize("line", ["list", SET, DELETE])
def test_brokers_that_are_too_old_are_named(
    users: Users, cluster: FakeCluster, given: str, line: str
) -> None:
    cluster.hide(DescribeUserScramCredentialsRequest)
    cluster.hide(AlterUserScramCredentialsRequest)
    users.refused(line.format(given=given), 7, "does not offer DescribeUserScramCredentials", "since 3.5")


def test_requests_go_to_the_controller_and_follow_it(users: Users, cluster: FakeCluster, given: str) -> None:
    """With ZooKeeper, any other broker refuses them."""
    named = iter((1, 1, 2, 2, 2, 2, 2))

    def controller(answer: MetadataResponse) -> None:
        answer.controller_id = next(named)

    cluster.lie(controller)
    for api in (DescribeUserScramCredentialsRequest, AlterUserScramCredentialsRequest):
        cluster.fail(api, Code.NOT_CONTROLLER, top=True, node=1, times=FOREVER)
    users("list")
    assert {seen.node for seen in cluster.seen(DescribeUserScramCredentialsRequest)} == {1, 2}
    users(SET.format(given=given))
    assert {seen.node for seen in changed(cluster)} == {2}
    assert is_password(cluster, "carol", CANARY)


def test_a_change_whose_response_was_lost_is_made_again(
    users: Users, cluster: FakeCluster, given: str
) -> None:
    cluster.swallow(AlterUserScramCredentialsRequest, "close")
    assert users.items(SET.format(given=given))[0]["status"] == "done"
    first, second = (seen.request.upsertions[0] for seen in changed(cluster))
    assert (first.salt, first.salted_password) == (second.salt, second.salted_password)
    cluster.swallow(AlterUserScramCredentialsRequest, "close")
    assert users.items(DELETE)[0]["status"] == "done"


@pytest.mark.parametrize("line", [SET, DELETE])
def test_a_change_without_any_response_is_settled_by_what_is_read_back(
    users: Users, cluster: FakeCluster, given: str, line: str
) -> None:
    lost = cluster.swallow(AlterUserScramCredentialsRequest, "close", times=FOREVER)
    (item,) = users.items(f"{line.format(given=given)} --timeout 1s")
    assert (item["status"], lost.count > 1) == ("done", True)
    cluster.heal()
    cluster.drop(AlterUserScramCredentialsRequest, "close", times=FOREVER)
    (item,) = users.items(f"set dave {given} --yes --timeout 1s", 3)
    assert item["status"] == "unknown"


def test_a_change_of_the_password_alone_cannot_be_read_back(
    users: Users, cluster: FakeCluster, given: str
) -> None:
    """Brokers return the iterations, which were the same before."""
    cluster.swallow(AlterUserScramCredentialsRequest, "close", times=FOREVER)
    done = users(f"set alice {given} --iterations 4096 --yes --timeout 1s -o json", 3)
    assert done.items[0]["status"] == "unknown"
    assert "it is unknown whether SCRAM-SHA-512 of user alice was changed" in done.err
    assert "kcli users list" in done.err


def test_a_credential_that_is_gone_already_is_no_failure(users: Users, cluster: FakeCluster) -> None:
    cluster.fail(AlterUserScramCredentialsRequest, Code.RESOURCE_NOT_FOUND, applied=True)
    done = users(f"{DELETE} -o json")
    assert done.items[0]["status"] == "unchanged"
    assert "was deleted by another client meanwhile" in done.err


def test_what_is_not_there_afterwards_is_reported(users: Users, cluster: FakeCluster, given: str) -> None:
    def stale(_request: Any, answer: Any) -> None:
        for row in answer.results:
            row.error_code = 0
            row.credential_infos = []

    cluster.replace(DescribeUserScramCredentialsRequest, stale, times=FOREVER)
    (item,) = users.items(f"{SET.format(given=given)} --timeout 2s", 7)
    assert item["status"] == "failed"
    cluster.heal()
    cluster.replace(DescribeUserScramCredentialsRequest, stale, times=3)
    users(SET.format(given=given))


def test_what_is_there_again_is_reported(users: Users, cluster: FakeCluster) -> None:
    cluster.fail(AlterUserScramCredentialsRequest, Code.NONE, times=FOREVER)
    (item,) = users.items(f"{DELETE} --timeout 2s", 7)
    assert item["status"] == "failed"


@pytest.mark.parametrize("line", [SET, DELETE])
def test_a_read_back_that_fails_is_partly_done(
    users: Users, cluster: FakeCluster, given: str, line: str
) -> None:
    refused = Code.CLUSTER_AUTHORIZATION_FAILED
    cluster.fail(DescribeUserScramCredentialsRequest, refused, after=2, times=FOREVER)
    (item,) = users.items(line.format(given=given), 6)
    assert item["status"] == "unknown"


def test_one_of_two_that_fails_is_reported(users: Users, cluster: FakeCluster, given: str) -> None:
    cluster.fail(AlterUserScramCredentialsRequest, Code.UNACCEPTABLE_CREDENTIAL)
    both = "--mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512"
    items = users.items(f"set carol {given} {both} --yes", 7)
    assert [item["status"] for item in items] == ["failed", "done"]
