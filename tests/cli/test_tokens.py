"""Tokens of OAUTHBEARER on the command line: from an identity provider over https, a file and a program."""

import base64
import itertools
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from tests.certificates import Authority
from tests.cli.test_sasl import Kcli
from tests.fake.cluster import FakeCluster
from tests.fake.sasl import Sasl
from tests.fault.authenticating import CANARY, attempts
from tests.identity_provider import IdentityProvider

pytestmark = pytest.mark.case("S11", "X14")


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"orders": 1}, sasl=Sasl()) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: FakeCluster) -> Iterator[FakeCluster]:
    shared.settings.sasl = Sasl(tokens={"first": "alice"})
    yield shared
    shared.heal()


@pytest.fixture
def run(cluster: FakeCluster) -> Kcli:
    return Kcli(cluster)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def provider(authority: Authority, cluster: FakeCluster) -> Iterator[IdentityProvider]:
    """Each token that it grants is another one, which the cluster accepts."""
    numbers = itertools.count()

    def grant() -> dict[str, Any]:
        assert cluster.settings.sasl is not None
        token = f"{CANARY}-{next(numbers)}"
        cluster.settings.sasl.tokens[token] = "alice"
        return {"access_token": token, "expires_in": 3_600}

    with IdentityProvider(authority.broker("localhost"), grant) as made:
        yield made


def write(folder: Path, **options: str) -> str:
    """A file of client options; the keys have two underscores for dots."""
    path = folder / "client.properties"
    lines = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", **options}
    lines["allow.plaintext.secrets"] = "true"
    path.write_text("".join(f"{key.replace('__', '.')}={value}\n" for key, value in lines.items()))
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def file(provider: IdentityProvider, authority: Authority, tmp_path: Path) -> str:
    return write(
        tmp_path,
        sasl__oauthbearer__token__endpoint__url=provider.url,
        sasl__oauthbearer__client__id="kcli",
        sasl__oauthbearer__client__secret=CANARY,
        sasl__oauthbearer__scope="kafka",
        sasl__oauthbearer__ca__location=str(authority.ca),
    )


def test_records_there_and_back_with_client_credentials(
    run: Kcli, provider: IdentityProvider, file: str
) -> None:
    run("produce", "orders", "-F", file, "-vvv", "--debug", stdin=b"1\n2\n")
    assert run("consume", "orders", "-e", "-F", file, "-vvv", "--debug")[0] == "1\n2\n"
    assert len(provider.requests) >= 2
    for sent in provider.requests:
        assert sent.form == {"grant_type": ["client_credentials"], "scope": ["kafka"]}
        assert (sent.user, sent.password) == ("kcli", CANARY)


def test_the_options_of_java_and_librdkafka_mean_the_same(
    run: Kcli, provider: IdentityProvider, authority: Authority, tmp_path: Path
) -> None:
    java = "org.apache.kafka.common.security.oauthbearer"
    java_file = write(
        tmp_path,
        sasl__oauthbearer__token__endpoint__url=provider.url,
        sasl__login__callback__handler__class=f"{java}.secured.OAuthBearerLoginCallbackHandler",
        sasl__jaas__config=f'{java}.OAuthBearerLoginModule required clientId="kcli" clientSecret="{CANARY}" scope="a";',
        https__ca__location=str(authority.ca),
    )
    run("topics", "list", "-F", java_file)
    librdkafka_file = write(
        tmp_path,
        sasl__oauthbearer__method="oidc",
        sasl__oauthbearer__token__endpoint__url=provider.url,
        sasl__oauthbearer__client__id="kcli",
        sasl__oauthbearer__client__secret=CANARY,
        sasl__oauthbearer__scope="a",
        https__ca__location=str(authority.ca),
    )
    run("topics", "list", "-F", librdkafka_file)
    first, second = provider.requests
    assert (first.user, first.password, first.form) == ("kcli", CANARY, second.form)


REFUSALS: dict[str, tuple[int, Any, str]] = {
    "wrong secret": (401, {"error": "invalid_client"}, "invalid_client (HTTP 401)"),
    "too large": (200, b"x" * (2 << 20), "not JSON with an access_token"),
    "not a token": (200, {"access_token": "a b"}, "RFC 6750"),
    "a token that the broker refuses": (200, {"access_token": "other"}, "the broker refuses the token"),
    "an expired token": (200, {"access_token": "other", "expires_in": -9}, "the token expired 9 s ago"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_ends_the_command_with_4_after_one_request(
    run: Kcli, cluster: FakeCluster, provider: IdentityProvider, file: str, case: str
) -> None:
    before = attempts(cluster)
    provider.status, answer, why = REFUSALS[case]
    provider.grant = lambda: answer
    _, said = run("topics", "list", "-F", file, "--debug", code=4)
    assert why in said
    assert "\n  do: " in said
    assert (len(provider.requests), attempts(cluster) - before) == (1, 1)


def test_a_redirect_is_not_followed(
    run: Kcli, provider: IdentityProvider, authority: Authority, file: str
) -> None:
    with IdentityProvider(authority.broker("localhost")) as other:
        provider.status, provider.headers = 307, {"Location": other.url}
        _, said = run("topics", "list", "-F", file, code=4)
        assert "redirects are not followed" in said
        assert (len(provider.requests), other.requests) == (1, [])


@pytest.mark.parametrize("wrong", ["another CA", "another host", "expired"])
def test_the_certificate_of_the_endpoint_is_verified(
    run: Kcli, authority: Authority, file: str, tmp_path: Path, wrong: str
) -> None:
    signer = Authority(tmp_path, "other") if wrong == "another CA" else authority
    name = "elsewhere.example" if wrong == "another host" else "localhost"
    certificate = signer.expired(name) if wrong == "expired" else signer.issue(name)
    with IdentityProvider(signer.broker(certificate=certificate)) as bad:
        url = f"sasl.oauthbearer.token.endpoint.url={bad.url}"
        _, said = run("topics", "list", "-F", file, "-X", url, code=4)
        assert "the certificate of the token endpoint was not accepted" in said
        assert bad.requests == []


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_only_https_is_accepted(run: Kcli, cluster: FakeCluster, file: str, scheme: str) -> None:
    before = len(cluster.connections)
    url = f"sasl.oauthbearer.token.endpoint.url={scheme}://localhost/token"
    _, said = run("topics", "list", "-F", file, "-X", url, code=2)
    assert "sasl.oauthbearer.token.endpoint.url cannot be used" in said
    assert len(cluster.connections) == before


def test_an_endpoint_that_cannot_be_reached_is_named(run: Kcli, file: str) -> None:
    url = "sasl.oauthbearer.token.endpoint.url=https://localhost:1/token"
    _, said = run("topics", "list", "-F", file, "-X", url, "--timeout", "2s", code=3)
    assert "no token from https://localhost:1/token" in said
    assert "refused" in said


def test_no_class_of_a_configuration_is_loaded(run: Kcli, file: str) -> None:
    handler = "sasl.login.callback.handler.class=com.example.Handler"
    _, said = run("topics", "list", "-F", file, "-X", handler, code=2)
    assert "kcli runs no classes" in said
    assert "sasl.oauthbearer.token.command" in said


@pytest.mark.case("X12")
def test_each_authentication_has_a_valid_token_and_a_refusal_during_a_run_is_named(
    run: Kcli, cluster: FakeCluster, provider: IdentityProvider, file: str
) -> None:
    """Sessions of 0.3 s, tokens of 1 s: renewed after four fifths, until the identity provider refuses."""
    assert cluster.settings.sasl is not None
    cluster.settings.sasl.session_lifetime_ms = 300
    cluster.settings.sasl.session_grace = 5.0
    grant = provider.grant
    provider.grant = lambda: {**grant(), "expires_in": 1}

    def refuse() -> None:
        end = time.monotonic() + 20
        while len(provider.requests) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        provider.grant = lambda: {"error": "unauthorized_client"}
        provider.status = 403

    thread = threading.Thread(target=refuse)
    thread.start()
    _, said = run("consume", "orders", "-F", file, "--idle-timeout", "30s", code=4)
    thread.join()
    assert "refused the client kcli" in said
    assert "unauthorized_client (HTTP 403)" in said
    sent = [bytes(one.request.auth_bytes) for one in cluster.seen(SaslAuthenticateRequest)]  # type: ignore[attr-defined]
    assert len(set(sent)) >= 3


def test_a_file_and_a_program_give_tokens(run: Kcli, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    run("topics", "list", "-F", write(tmp_path, sasl__oauthbearer__token__file=str(path)))
    run("topics", "list", "-F", write(tmp_path, sasl__oauthbearer__token__command=f"cat {path}"))


def test_a_program_that_fails_is_named_with_what_it_said(run: Kcli, tmp_path: Path) -> None:
    script = tmp_path / "token.sh"
    script.write_text(f"echo {CANARY}; printf 'not \\033[31mlogged in\\n' >&2; exit 1")
    file = write(tmp_path, sasl__oauthbearer__token__command=f"sh {script}")
    _, said = run("topics", "list", "-F", file, "--debug", code=4)
    assert "sasl.oauthbearer.token.command gave no token" in said
    assert "exit status 1: not [31mlogged in" in said


def test_a_file_that_others_can_change_names_no_program(run: Kcli, tmp_path: Path) -> None:
    file = write(tmp_path, sasl__oauthbearer__token__command="echo first")
    Path(file).chmod(0o666)
    _, said = run("topics", "list", "-F", file, code=2)
    assert "every user can change it" in said
    assert "commands that kcli runs" in said


def test_the_endpoint_is_reached_through_a_proxy_that_sees_no_secret(
    run: Kcli, provider: IdentityProvider, file: str
) -> None:
    with Proxy() as proxy:
        named = f"http://me:proxy-password@127.0.0.1:{proxy.port}"
        run("topics", "list", "-F", file, HTTPS_PROXY=named, NO_PROXY="", no_proxy="")
        assert len(provider.requests) == 1
        assert proxy.head.startswith(f"CONNECT localhost:{provider.port} HTTP/1.")
        assert f"Proxy-Authorization: Basic {base64.b64encode(b'me:proxy-password').decode()}" in proxy.head
        assert CANARY.encode() not in proxy.passed
        run("topics", "list", "-F", file, HTTPS_PROXY="http://127.0.0.1:1", NO_PROXY="localhost")
        assert len(provider.requests) == 2


class Proxy:
    """One tunnel, as a proxy of HTTP makes it."""

    def __init__(self) -> None:
        self.head = ""
        self.passed = b""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> "Proxy":
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._thread.join(10)
        self._listening.close()

    def _serve(self) -> None:
        client, _ = self._listening.accept()
        with client:
            while not self.head.endswith("\r\n\r\n"):
                self.head += client.recv(1).decode()
            port = int(self.head.split()[1].rpartition(":")[2])
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", port)) as server:
                ends = {client: server, server: client}
                while True:
                    for end in select.select(list(ends), [], [], 10)[0]:
                        data = end.recv(65_536)
                        if not data:
                            return
                        self.passed += data
                        ends[end].sendall(data)
