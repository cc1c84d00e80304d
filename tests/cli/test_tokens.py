"""``kcli tokens`` as a user runs it: where the HMAC goes and where it never is, logins with a token, times that are read
back, and answers that are lost.
"""

import base64
import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.commands.tokens import _hmac
from kcli.core.clock import wall_ms
from kcli.core.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from kcli.core.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kcli.core.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kcli.core.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kcli.flows.tokens.rows import argument
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake import token_admin
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.sasl import Sasl
from tests.fake.script import FOREVER
from tests.fake.token_admin import DAY, Token
from tests.run import Done, kcli

LOGIN = (
    "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-256", "-X", "sasl.username=alice",
)  # fmt: skip


HOUR = 3_600_000


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"orders": 1}, sasl=Sasl(users={"alice": "secret"})) as found:
        found.tokens.add(wall_ms(), "alice", token_id="known").renewers = ["bob"]
        yield found


class Tokens:
    """Runs with everything that kcli writes; no HMAC of a token is in it unless that was asked for."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        (folder / "password").write_text("secret\n")
        (folder / "password").chmod(0o600)

    def __call__(self, line: str, code: int = 0, *, shows: bool = False, plain: bool = True) -> Done:
        login = (*LOGIN, "-X", f"sasl.password_file={self.folder / 'password'}")
        more = ("--allow-plaintext-secrets",) if plain else ()
        state = str(self.folder / "state")
        done = kcli(
            "tokens", *line.format(dir=self.folder).split(), *login, *more,
            bootstrap=self.cluster.bootstrap, XDG_STATE_HOME=state,
        )  # fmt: skip
        assert done.code == code, done.err
        for token in self.cluster.tokens.values():
            assert self.hmac(token) not in done.err
            assert shows or self.hmac(token) not in done.out
        assert not [one for one in (self.folder / "state").rglob("*") if one.is_file()]
        return done

    def hmac(self, token: Token) -> str:
        return base64.b64encode(token.hmac).decode()

    def items(self, line: str, code: int = 0) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self(f"{line} -o json", code).out)["items"]
        return found

    def made(self) -> Token:
        (token,) = (one for one in self.cluster.tokens.values() if one.id != "known")
        return token


@pytest.fixture
def tokens(cluster: FakeCluster, tmp_path: Path) -> Tokens:
    return Tokens(cluster, tmp_path)


def test_the_list_has_the_time_left_and_no_hmac(tokens: Tokens) -> None:
    (row,) = tokens.items("list --owner User:alice")
    assert 86_300 < row.pop("expires_in_seconds") <= 86_400
    assert (row["token_id"], row["owner"], row["requester"], row["renewers"]) == (
        "known", "User:alice", "User:alice", ["User:bob"],
    )  # fmt: skip
    assert "hmac" not in row
    assert tokens.items("list --owner User:nobody") == []
    assert tokens.items("list --owner User:bob") == [], "who may renew it does not own it"


def test_a_new_token_is_a_login(tokens: Tokens, tmp_path: Path) -> None:
    done = tokens("create --hmac-file {dir}/hmac --renewer User:bob --max-lifetime 2h --yes --debug=proto")
    token, file = tokens.made(), tmp_path / "hmac"
    assert (token.owner, token.renewers, token.latest - token.issued) == ("alice", ["bob"], 7_200_000)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == tokens.hmac(token) + "\n"
    assert f"created token {token.id} of User:alice, read back: expires" in done.err
    login = ("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-512")
    with_token = (*login, "-X", f"sasl.username={token.id}", "-X", f"sasl.password_file={file}")
    bootstrap = tokens.cluster.bootstrap
    used = kcli("topics", "list", "-o", "name", *with_token, "-X", "sasl.tokenauth=true", bootstrap=bootstrap)
    assert (used.code, used.out) == (0, "orders\n"), used.err
    assert kcli("topics", "list", *with_token, bootstrap=bootstrap).code == 4  # not a user of SCRAM
    more = (*with_token, "-X", "sasl.tokenauth=true", "--allow-plaintext-secrets")
    denied = kcli("tokens", "create", "--show-hmac", "--yes", *more, bootstrap=bootstrap)
    assert (denied.code, denied.out) == (7, "")
    assert "REQUEST_NOT_ALLOWED" in denied.err
    tokens(f"expire {token.id} --yes")
    refused = kcli("topics", "list", *with_token, "-X", "sasl.tokenauth=true", bootstrap=bootstrap)
    assert refused.code == 4
    assert "the id of a delegation token that has not expired" in refused.err


def test_tokenauth_belongs_to_scram(tokens: Tokens) -> None:
    done = kcli(
        "topics", "list", "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN",
        "-X", "sasl.tokenauth=true", bootstrap=tokens.cluster.bootstrap,
    )  # fmt: skip
    assert (done.code, "sasl.tokenauth (-X) has no effect" in done.err) == (2, True), done.err


def test_the_hmac_alone_is_on_stdout(tokens: Tokens) -> None:
    done = tokens("create --owner User:etl --show-hmac --yes", shows=True)
    token = tokens.made()
    assert done.out == tokens.hmac(token) + "\n"
    assert (token.owner, token.requester) == ("etl", "alice")
    assert token.id in done.err


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("create --yes", 2, ["--hmac-file FILE and --show-hmac"]),
        ("create --show-hmac --hmac-file {dir}/h --yes", 2, ["together with"]),
        ("create --show-hmac -o json --yes", 2, ["together with -o json"]),
        ("create --hmac-file {dir}/password --yes", 7, ["exists already"]),
        ("create --hmac-file {dir}/password --dry-run", 7, ["exists already"]),
        ("create --hmac-file {dir}/none/h --dry-run", 7, ["no such folder"]),
        ("create --owner etl --show-hmac", 2, ["did you mean User:etl?"]),
        ("create --owner Group:etl --show-hmac", 2, ["tokens of users only"]),
        ("renew knwon --yes", 1, ["there is no token knwon", "did you mean known?"]),
        ("expire zzzzzzzz --dry-run", 1, ["there is no token", "`kcli tokens list`"]),
    ],
)
def test_what_cannot_be_meant_changes_nothing(tokens: Tokens, line: str, code: int, words: list[str]) -> None:
    done = tokens(line, code)
    assert all(word in done.err for word in words), done.err
    assert list(tokens.cluster.tokens) == ["known"]
    assert not tokens.cluster.seen(CreateDelegationTokenRequest)
    assert not (tokens.folder / "h").exists()


@pytest.mark.parametrize(
    "line", ["list", "create --show-hmac --yes", "renew known --yes", "expire known --yes"]
)
def test_nothing_goes_over_a_connection_that_is_not_encrypted(tokens: Tokens, line: str) -> None:
    done = tokens(line, 2, plain=False)
    assert "delegation tokens over SASL_PLAINTEXT are refused" in done.err
    assert not tokens.cluster.seen(DescribeDelegationTokenRequest)


def test_a_file_that_cannot_be_filled_is_6_and_names_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = ("tokens", "create", "--hmac-file", str(tmp_path / "hmac"), "--yes", "--allow-plaintext-secrets")
    monkeypatch.setattr(token_admin.secrets, "token_urlsafe", lambda _size: "made")
    with FakeCluster(1) as cluster:
        with monkeypatch.context() as patched:
            patched.setattr(_hmac.os, "fsync", full)
            done = kcli(*words, bootstrap=cluster.bootstrap)
        assert done.code == 6, done.err
        assert f"token made was created, but its HMAC was not written to {tmp_path / 'hmac'}" in done.err
        assert "why: No space left on device" in done.err
        assert not (tmp_path / "hmac").exists()
        type_remedy("`kcli tokens expire made` removes it", done.err, cluster.bootstrap)


def test_an_id_that_begins_with_a_dash_is_no_option(tokens: Tokens) -> None:
    tokens.cluster.tokens.add(wall_ms(), "alice", token_id="-dash")
    assert argument("-dash") == "-- -dash"
    login = (*LOGIN, "-X", f"sasl.password_file={tokens.folder / 'password'}", "--allow-plaintext-secrets")
    done = kcli("tokens", "expire", "--yes", *login, "--", "-dash", bootstrap=tokens.cluster.bootstrap)
    assert (done.code, list(tokens.cluster.tokens)) == (0, ["known"]), done.err


def test_renewed_tokens_are_read_back(tokens: Tokens) -> None:
    known = tokens.cluster.tokens["known"]
    (row,) = tokens.items("renew known --for 20h --yes")
    assert (row["token_id"], row["status"]) == ("known", "done")
    assert 71_900 < row["expires_in_seconds"] <= 72_000
    assert abs(known.expiry - wall_ms() - 20 * HOUR) < 60_000
    assert "will expire earlier" in tokens("renew known --for 1h --dry-run").err
    known.latest = known.expiry + HOUR
    tokens("renew known --for 30d --yes")
    assert known.expiry == known.latest
    (row,) = tokens.items("renew known --yes")
    assert (row["status"], row["note"]) == ("unchanged", "cannot be renewed beyond this time")


def test_a_token_that_is_renewed_for_less_than_was_asked_for_is_7(tokens: Tokens) -> None:
    """Where brokers say their period, nothing is sent, and a dry run exits as the act."""
    (row,) = tokens.items("renew known --for 3d --yes", 7)
    assert (row["status"], row["note"].split(":")[1]) == ("failed", " their delegation.token.expiry.time.ms")
    tokens.cluster.settings.broker_configs = {"delegation.token.expiry.time.ms": str(DAY)}
    sent = len(tokens.cluster.seen(RenewDelegationTokenRequest))
    for more in ("--dry-run", "--yes"):
        (row,) = tokens.items(f"renew known --for 3d {more}", 7)
        assert (row["status"], row["note"].split(":")[0]) == (
            "refused",
            "brokers renew a token for at most 1d at a time",
        )
    assert len(tokens.cluster.seen(RenewDelegationTokenRequest)) == sent


@pytest.mark.parametrize("line", ["renew known other", "expire known other", "expire other --in 1h"])
def test_a_dry_run_says_whose_tokens_this_client_cannot_change(tokens: Tokens, line: str) -> None:
    tokens.cluster.tokens.add(wall_ms(), "bob", token_id="other")
    found = {
        how: {row["token_id"]: row["status"] for row in tokens.items(f"{line} {how}", 4)}
        for how in ("--dry-run", "--yes")
    }
    assert [found[how]["other"] for how in found] == ["refused", "failed"]
    assert [found[how].get("known", "done") for how in found][1] == "done"


def test_tokens_expire_in_a_while_or_at_once(tokens: Tokens) -> None:
    (row,) = tokens.items("expire known --in 1h --yes")
    assert 3_500 < row["expires_in_seconds"] <= 3_600
    rows = tokens.items("expire known none --yes", 6)
    assert [(row["token_id"], row["status"], row["note"]) for row in rows] == [
        ("known", "done", "it is removed"),
        ("none", "refused", "it has expired or was removed, or this client may not see it"),
    ]
    assert not tokens.cluster.tokens


def test_a_creation_without_an_answer_is_unknown_and_not_repeated(tokens: Tokens, tmp_path: Path) -> None:
    tokens.cluster.swallow(CreateDelegationTokenRequest, "close", times=FOREVER)
    done = tokens("create --hmac-file {dir}/hmac --yes", 3)
    assert "it is unknown whether the token was created" in done.err
    assert len(tokens.cluster.seen(CreateDelegationTokenRequest)) == 1
    assert not (tmp_path / "hmac").exists()


def test_an_expiry_whose_answer_is_lost_is_decided_by_reading(tokens: Tokens) -> None:
    tokens.cluster.swallow(ExpireDelegationTokenRequest, "close")
    (row,) = tokens.items("expire known --yes")
    assert row["status"] == "done"
    assert not tokens.cluster.tokens


@pytest.mark.parametrize(
    ("code", "exit_code", "words"),
    [
        (Code.DELEGATION_TOKEN_AUTH_DISABLED, 7, "delegation.token.secret.key"),
        (Code.DELEGATION_TOKEN_AUTHORIZATION_FAILED, 4, "CREATE_TOKENS"),
        (Code.DELEGATION_TOKEN_OWNER_MISMATCH, 4, "neither the owner of the token"),
        (Code.DELEGATION_TOKEN_EXPIRED, 7, "the token has expired"),
    ],
)
def test_refusals_have_their_codes(tokens: Tokens, code: Code, exit_code: int, words: str) -> None:
    tokens.cluster.fail(RenewDelegationTokenRequest, code, times=FOREVER)
    assert words in tokens("renew known --for 2d --yes", exit_code).err


def test_brokers_without_a_key_are_7_for_every_verb(tokens: Tokens) -> None:
    tokens.cluster.tokens.enabled = False
    for line in (
        "list",
        "create --hmac-file {dir}/h --dry-run",
        "renew known --dry-run",
        "expire known --yes",
    ):
        assert "set delegation.token.secret.key" in tokens(line, 7).err


def test_a_token_that_does_not_become_visible_is_7(tokens: Tokens) -> None:
    empty = DescribeDelegationTokenResponse(tokens=[])
    tokens.cluster.intercept(DescribeDelegationTokenRequest, lambda _request: empty, times=FOREVER)
    done = tokens("create --hmac-file {dir}/hmac --yes --timeout 1s", 7)
    assert "was created, and is not there" in done.err
    assert (tokens.folder / "hmac").read_text() == tokens.hmac(tokens.made()) + "\n"
