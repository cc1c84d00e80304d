"""SASL on the command line: what is said, with which exit status, and that no secret is among it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.fault.authenticating import CANARY, attempts, users
from tests.run import KCLI, environment, kcli


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"orders": 2}, sasl=users()) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: FakeCluster) -> Iterator[FakeCluster]:
    yield shared
    shared.heal()
    shared.settings.sasl = users()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def options(file: Path, mechanism: str = "SCRAM-SHA-512", password: str = CANARY, **more: str) -> str:
    """Writes a file of client options, and returns its name."""
    lines = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
        **more,
    }
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    file.chmod(0o600)
    return str(file)


class Kcli:
    """``kcli(...)`` runs a command and returns stdout and stderr; the canary is in neither."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    def __call__(self, *arguments: str, code: int = 0, stdin: bytes = b"", **env: str) -> tuple[str, str]:
        done = kcli(*arguments, bootstrap=self._cluster.bootstrap, stdin=stdin, **env)
        out, err = done.out, done.err
        assert done.code == code, err
        assert CANARY not in out + err
        assert "Traceback" not in err or "--debug" in arguments
        return out, err


@pytest.fixture
def run(cluster: FakeCluster) -> Kcli:
    return Kcli(cluster)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"])
def test_records_there_and_back_by_each_mechanism(
    run: Kcli, cluster: FakeCluster, file: Path, mechanism: str
) -> None:
    given = ("-F", options(file, mechanism), "--allow-plaintext-secrets")
    _, said = run("produce", "orders", "-p", "0", *given, stdin=f"{mechanism}\n".encode())
    assert said.count("warning:") == 1  # by several clients
    assert f"warning: {mechanism} without TLS: what is sent and read can be seen and changed" in said
    assert mechanism in run("consume", "orders", "-p", "0", "-e", *given)[0].split()


@pytest.mark.case("S2", "X13")
@pytest.mark.parametrize(
    "command", ["topics list", "produce orders", "consume orders -e", "consume orders -e -g g", "groups lag"]
)
def test_a_wrong_password_ends_each_command_with_4_after_one_attempt(
    run: Kcli, cluster: FakeCluster, file: Path, command: str
) -> None:
    before, connects = attempts(cluster), len(cluster.connections)
    cluster.settings.sasl = Sasl(users={"alice": "another"})
    _, said = run(*command.split(), "-F", options(file), code=4, stdin=b"x\n")
    what, why, do = said.splitlines()[-3:]
    assert what.startswith("kcli: 127.0.0.1:")
    assert what.endswith("authentication as alice with SCRAM-SHA-512 failed")
    assert "invalid credentials" in why
    assert "check sasl.username and sasl.password" in do
    assert attempts(cluster) - before == len(cluster.connections) - connects == 1


@pytest.mark.case("S2")
def test_the_error_in_json_has_the_code(run: Kcli, cluster: FakeCluster, file: Path) -> None:
    cluster.settings.sasl = Sasl(users={"alice": "another"})
    out, said = run("topics", "list", "-o", "json", "-F", options(file), code=4)
    assert out == ""
    error = json.loads(said.splitlines()[-1])
    assert (error["kind"], error["code"]) == ("Error", 4)


@pytest.mark.case("C13")
def test_the_broker_s_text_is_made_harmless(run: Kcli, cluster: FakeCluster, file: Path) -> None:
    cluster.settings.sasl = Sasl(users={}, wrong_password=f"\x1b]0;title\x07 no\r\n{CANARY}!")
    given = options(file, "PLAIN", **{"allow.plaintext.secrets": "true"})
    _, said = run("topics", "list", "-F", given, code=4)
    assert "\x1b" not in said
    assert "\x07" not in said
    assert r"why: \x1b]0;title\x07 no (hidden)!" in said


@pytest.mark.case("S2")
def test_a_mechanism_that_is_not_offered(run: Kcli, cluster: FakeCluster, file: Path) -> None:
    assert cluster.settings.sasl is not None
    cluster.settings.sasl.mechanisms = ("GSSAPI", "SCRAM-SHA-256")
    _, said = run("topics", "list", "-F", options(file), code=4)
    assert "does not offer the SASL mechanism SCRAM-SHA-512" in said
    assert "why: it offers GSSAPI, SCRAM-SHA-256" in said


def test_a_listener_without_sasl(run: Kcli, cluster: FakeCluster, file: Path) -> None:
    cluster.settings.sasl = None
    _, said = run("topics", "list", "-F", options(file), code=4)
    assert "does not authenticate clients on this port" in said
    assert "security.protocol=PLAINTEXT or SSL if that is meant" in said


def test_a_listener_with_sasl_and_a_client_without(run: Kcli, cluster: FakeCluster) -> None:
    before = len(cluster.connections)
    _, said = run("topics", "list", code=4)
    assert "closed the connection at Metadata, its first request" in said
    assert "set security.protocol=SASL_SSL or SASL_PLAINTEXT, sasl.mechanism" in said
    assert len(cluster.connections) - before == 4  # two at each address


@pytest.mark.case("S5", "X10")
@pytest.mark.parametrize("command", ["topics list", "produce orders", "consume orders -e", "groups list"])
def test_a_password_over_a_plain_connection_is_refused_before_any_contact(
    run: Kcli, cluster: FakeCluster, file: Path, command: str
) -> None:
    before = len(cluster.connections)
    _, said = run(*command.split(), "-F", options(file, "PLAIN"), code=2, stdin=b"x\n")
    assert "sasl.mechanism=PLAIN over SASL_PLAINTEXT is refused" in said
    assert "use security.protocol=SASL_SSL, or allow it with --allow-plaintext-secrets" in said
    assert len(cluster.connections) == before


@pytest.mark.case("S5")
@pytest.mark.parametrize("how", ["flag", "before", "-X", "file", "variable"])
def test_it_is_allowed_in_every_way_in_which_options_are_given(
    run: Kcli, cluster: FakeCluster, file: Path, how: str
) -> None:
    key = "allow.plaintext.secrets"
    line = ["topics", "list", "-F", options(file, "PLAIN", **({key: "true"} if how == "file" else {}))]
    env: dict[str, str] = {}
    if how == "flag":
        line.append("--allow-plaintext-secrets")
    elif how == "before":
        line.insert(0, "--allow-plaintext-secrets")
    elif how == "-X":
        line += ["-X", f"{key}=true"]
    elif how == "variable":
        env = {"KCLI_X_ALLOW_PLAINTEXT_SECRETS": "true"}
    out, _ = run(*line, **env)
    assert "orders" in out


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("-X", "sasl.oauthbearer.scope=x"), "sasl.oauthbearer.scope (-X) has no effect"),
        (("-X", "sasl.aws.region=eu-central-1"), "sasl.aws.region (-X) has no effect"),
        (("-X", "sasl.mechanism=SCRAM"), "sasl.mechanism='SCRAM' is not a valid value"),
        (("-X", "sasl.mechanism="), "sasl.mechanism is not set"),
        (("-X", "sasl.username="), "sasl.username is not set"),
        (("-X", "sasl.password="), "there is no password for user alice"),
        (("-X", "sasl.mechanism=OAUTHBEARER"), "sasl.mechanism=OAUTHBEARER needs one source of tokens"),
    ],
)
def test_options_that_cannot_be_used(
    run: Kcli, cluster: FakeCluster, file: Path, more: tuple[str, ...], what: str
) -> None:
    before = len(cluster.connections)
    _, said = run("topics", "list", "-F", options(file), *more, code=2)
    assert what in said
    assert len(cluster.connections) == before


@pytest.mark.case("R24", "X19")
def test_traces_show_who_and_for_how_long_and_no_secret(run: Kcli, cluster: FakeCluster, file: Path) -> None:
    assert cluster.settings.sasl is not None
    cluster.settings.sasl.session_lifetime_ms = 90_000
    given = options(file, "PLAIN", **{"allow.plaintext.secrets": "true"})
    _, said = run("topics", "list", "-F", given, "--debug")
    assert "conf  sasl.password = (hidden)" in said
    assert "authenticated as alice with PLAIN, for 90 s" in said
    requests = [line for line in said.splitlines() if "SaslAuthenticate" in line]
    assert len(requests) == 2
    assert all(line.split()[-1] == "bytes" for line in requests)
    _, said = run("topics", "list", "-F", given, "--debug=auth")
    assert "auth  127.0.0.1:" in said
    assert "SaslAuthenticate" not in said


@pytest.mark.case("R24")
def test_a_refusal_with_its_traceback_shows_no_secret(run: Kcli, cluster: FakeCluster, file: Path) -> None:
    cluster.settings.sasl = Sasl(users={"alice": "another"})
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        given = options(file, mechanism, **{"allow.plaintext.secrets": "true"})
        _, said = run("topics", "list", "-F", given, "--debug", code=4)
        assert "Traceback" in said


def test_completion_authenticates_too(cluster: FakeCluster, file: Path, tmp_path: Path) -> None:
    words = ["kcli", "topics", "describe", "-F", options(file, "SCRAM-SHA-256"), "--allow-plaintext-secrets"]
    for number in range(
        10
    ):  # it has 0.3 s, too little on a busy machine; in a new cache no failure is remembered
        given = environment(cluster.bootstrap, XDG_CACHE_HOME=str(tmp_path / str(number)))
        done = subprocess.run(
            [*KCLI, "__complete", "topics", "fish", "or", *words],
            env=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if "orders" in done.stdout:
            return
    pytest.fail(f"topics are not completed: {done}")


def loaded_by(cluster: FakeCluster, *options: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = (
        "import sys\nfrom kcli.__main__ import run\n"
        "code = run(['topics', 'list', *sys.argv[1:]])\nsys.stderr.write(' '.join(sys.modules))"
    )
    env = environment(KCLI_BOOTSTRAP_SERVER=cluster.bootstrap)
    command = [sys.executable, "-c", code, *options]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    loaded = set(done.stderr.split())
    assert "kcli.core.cluster.brokers" in loaded
    return loaded


def test_a_client_without_sasl_loads_nothing_of_it() -> None:
    """Up to the first answer of a broker."""
    with FakeCluster(1, topics={"t": 1}) as cluster:
        loaded = loaded_by(cluster)
        assert cluster.seen(SaslHandshakeRequest) == []
    ours = {name for name in loaded if "sasl" in name or name.endswith((".worker", "cluster.authentication"))}
    assert not ours
    assert not loaded & {"hmac", "secrets", "ssl"}


def test_a_client_with_a_token_in_a_file_loads_nothing_of_other_mechanisms(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(CANARY)
    with FakeCluster(1, topics={"t": 1}, sasl=users()) as cluster:
        loaded = loaded_by(
            cluster,
            *("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=OAUTHBEARER"),
            *("-X", f"sasl.oauthbearer.token.file={token}", "--allow-plaintext-secrets"),
        )
        assert cluster.seen(SaslHandshakeRequest) != []
    assert "kcli.core.connection.sasl.oauthbearer" in loaded
    others = {f"kcli.core.connection.sasl.{name}" for name in ("plain", "scram", "aws_msk_iam", "gssapi")}
    assert not loaded & (
        others | {"botocore", "gssapi", "http.client", "urllib3", "ssl", "kcli.core.tokens.endpoint"}
    )
