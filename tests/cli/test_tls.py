"""TLS as users meet it, a row each: what works, and what is wrong on either side with its cause and its remedy (S3, N4).

Each row is one run of kcli against a fake cluster behind TLS. In every row that fails no request may have reached the
cluster: nothing is ever sent in clear, or to a server that was not verified.
"""

import ssl
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import Authority
from tests.fake.cluster import FakeCluster
from tests.fake.peers import PEERS, Peer
from tests.run import KCLI, ROOT, environment, kcli

pytestmark = pytest.mark.case("S3")
HOST = "127.0.0.1"


@dataclass
class Here:
    """``authority`` is the right one, ``other`` one that nobody trusts."""

    cluster: FakeCluster
    folder: Path
    authority: Authority
    other: Authority
    words: dict[str, str] = field(default_factory=dict)

    def run(self, line: str, *more: str, bootstrap: str = "") -> tuple[int, str, str]:
        done = kcli(*line.split(), *more, bootstrap=bootstrap or self.cluster.bootstrap)
        return done.code, done.out, done.err


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("tls")
    authority, other = Authority(folder), Authority(folder, "other")
    client, stranger = authority.client(), other.client("stranger")
    words = {
        "ca": authority.ca, "crt": client.certificate, "key": client.key, "both": client.both,
        "locked": client.encrypted_key("right"), "p12": client.pkcs12("right"), "trust": authority.truststore("right"),
        "stranger": stranger.both, "strange_key": stranger.key,
        "expired": authority.client("late", authority.expired("me@example.org")).both,
        "empty": client.file("empty", ""), "text": client.file("text", "no certificate\n"), "dir": folder,
        "jks": client.file("jks", "\0"), "without": folder / "without",
    }  # fmt: skip
    words["jks"].write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")  # type: ignore[union-attr]
    missing = folder / "without" / "cryptography"
    missing.mkdir(parents=True)
    (missing / "__init__.py").write_text("raise ImportError('not here')\n")
    with FakeCluster(1, topics={"orders": 1}) as cluster:
        yield Here(cluster, folder, authority, other, {name: str(path) for name, path in words.items()})


@pytest.fixture
def here(shared: Here) -> Iterator[Here]:
    yield shared
    shared.cluster.use_tls(None)


def limited(low: ssl.TLSVersion, high: ssl.TLSVersion, ciphers: str = "") -> Callable[[Here], ssl.SSLContext]:
    def make(here: Here) -> ssl.SSLContext:
        context = here.authority.broker(HOST)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version, context.maximum_version = low, high
        if ciphers:
            context.set_ciphers(ciphers)
        return context

    return make


def demanding(high: ssl.TLSVersion) -> Callable[[Here], ssl.SSLContext]:
    def make(here: Here) -> ssl.SSLContext:
        context = here.authority.demanding(HOST)
        context.maximum_version = high
        return context

    return make


def good(here: Here) -> ssl.SSLContext:
    return here.authority.broker(HOST, "localhost")


def of(certificate: Callable[[Here], Any]) -> Callable[[Here], ssl.SSLContext]:
    return lambda here: here.authority.broker(certificate=certificate(here))


V1_0, V1_1, V1_2, V1_3 = (ssl.TLSVersion[f"TLSv1{end}"] for end in ("", "_1", "_2", "_3"))
OLD = "ALL:@SECLEVEL=0"
CA = ("ssl.ca.location={ca}",)


@dataclass(frozen=True)
class Row:
    """``server`` None: a plaintext listener. ``connects``: the most that the cluster may see."""

    name: str
    server: Callable[[Here], ssl.SSLContext] | None
    options: tuple[str, ...]
    code: int
    what: str = ""
    why: str = ""
    do: str = ""
    connects: int = 2
    host: str = HOST

    def __str__(self) -> str:
        return self.name


WORKS = [
    Row("an address", good, CA, 0),
    Row("a name", good, CA, 0, host="localhost"),
    Row("TLS 1.2", limited(V1_2, V1_2), CA, 0),
    Row("TLS 1.3", limited(V1_3, V1_3), CA, 0),
    Row("a PKCS12 truststore", good, ("ssl.truststore.location={trust}", "ssl.truststore.password=right"), 0),
    Row(
        "a client certificate, TLS 1.3",
        demanding(V1_3),
        (*CA, "ssl.certificate.location={crt}", "ssl.key.location={key}"),
        0,
    ),
    Row("a client certificate, TLS 1.2", demanding(V1_2), (*CA, "ssl.keystore.location={both}"), 0),
    Row(
        "an encrypted key",
        demanding(V1_3),
        (*CA, "ssl.certificate.location={crt}", "ssl.key.location={locked}", "ssl.key.password=right"),
        0,
    ),
    Row(
        "a PKCS12 keystore",
        demanding(V1_3),
        (*CA, "ssl.keystore.location={p12}", "ssl.keystore.password=right"),
        0,
    ),
    Row(
        "no name check",
        of(lambda h: h.authority.issue("b.example.org")),
        (*CA, "ssl.endpoint.identification.algorithm=none"),
        0,
    ),
    Row(
        "no name check, as in Java",
        of(lambda h: h.authority.issue("b.example.org")),
        (*CA, "ssl.endpoint.identification.algorithm="),
        0,
    ),
    Row(
        "no check at all",
        lambda h: h.other.broker("b.example.org"),
        ("enable.ssl.certificate.verification=false",),
        0,
    ),
]

BROKER = [
    Row(
        "unknown authority",
        lambda h: h.other.broker(HOST),
        CA,
        4,
        "issued by an unknown authority",
        "Testing CA",
        "ssl.ca.location",
    ),
    Row("not the system's", good, (), 4, "issued by an unknown authority", "Testing CA", "ssl.ca.location"),
    Row(
        "self-signed",
        lambda h: h.other.self_signed(HOST),
        CA,
        4,
        "is self-signed and not trusted",
        HOST,
        "ssl.ca.location",
    ),
    Row(
        "another name",
        of(lambda h: h.authority.issue("b1.example.org", "b2.example.org")),
        CA,
        4,
        "is not for localhost",
        "it names b1.example.org, b2.example.org",
        "advertised.listeners",
        host="localhost",
    ),
    Row(
        "another address",
        of(lambda h: h.authority.issue("10.1.2.3")),
        CA,
        4,
        "is not for 127.0.0.1",
        "it names 10.1.2.3",
        "advertised.listeners",
    ),
    Row(
        "expired",
        of(lambda h: h.authority.expired(HOST)),
        CA,
        4,
        "has expired",
        "it expired at 20",
        "correct the clock",
    ),
    Row(
        "not yet valid",
        of(lambda h: h.authority.not_yet_valid(HOST)),
        CA,
        4,
        "is not valid yet",
        "valid only from 20",
        "clock",
    ),
    Row(
        "TLS 1.0",
        limited(V1_0, V1_0, OLD),
        CA,
        4,
        "offers no version of TLS that is secure",
        "TLS 1.2 and 1.3",
        "ssl.enabled.protocols",
    ),
    Row(
        "TLS 1.1",
        limited(V1_0, V1_1, OLD),
        CA,
        4,
        "offers no version of TLS that is secure",
        "TLS 1.2 and 1.3",
        "ssl.enabled.protocols",
    ),
    Row(
        "no shared cipher",
        limited(V1_2, V1_2, "AES128-SHA256"),
        CA,
        4,
        "share no TLS cipher",
        "refuses all ciphers",
        "ssl.cipher.suites",
    ),
    Row(
        "wants a certificate, TLS 1.3",
        demanding(V1_3),
        CA,
        4,
        "requires a certificate of the client",
        "none was sent",
        "ssl.certificate.location",
    ),
    Row(
        "wants a certificate, TLS 1.2",
        demanding(V1_2),
        CA,
        4,
        "requires a certificate of the client",
        "none was sent",
        "ssl.certificate.location",
    ),
    Row(
        "refuses the certificate, TLS 1.3",
        demanding(V1_3),
        (*CA, "ssl.keystore.location={stranger}"),
        4,
        "does not accept the client's certificate",
        "does not know the authority",
        "ssl.truststore.location",
    ),
    Row(
        "refuses the certificate, TLS 1.2",
        demanding(V1_2),
        (*CA, "ssl.keystore.location={stranger}"),
        4,
        "does not accept the client's certificate",
        "does not know the authority",
        "ssl.truststore.location",
    ),
    Row("plaintext", None, CA, 3, "does not speak TLS on this port", "when TLS began", "security.protocol"),
]

CERTIFICATE = "ssl.certificate.location={crt}"
OWN = [
    Row(
        "no such file",
        good,
        ("ssl.ca.location=/no/ca",),
        2,
        "CA certificates in /no/ca",
        "No such file",
        "must name",
    ),
    Row("a folder", good, ("ssl.ca.location={dir}",), 2, "CA certificates in", "Is a directory", "must name"),
    Row(
        "an empty file",
        good,
        ("ssl.ca.location={empty}",),
        2,
        "CA certificates in",
        "the file is empty",
        "must name",
    ),
    Row(
        "no PEM",
        good,
        ("ssl.ca.location={text}",),
        2,
        "CA certificates in",
        "not a PEM file",
        "BEGIN CERTIFICATE",
    ),
    Row(
        "a JKS store",
        good,
        ("ssl.keystore.location={jks}",),
        2,
        "is a JKS store",
        "Java",
        "keytool -importkeystore -srckeystore",
    ),
    Row(
        "a key of another certificate",
        demanding(V1_3),
        (*CA, CERTIFICATE, "ssl.key.location={strange_key}"),
        2,
        "do not belong together",
        "is not that of the first certificate",
        "name the key",
    ),
    Row(
        "an encrypted key without a password",
        demanding(V1_3),
        (*CA, CERTIFICATE, "ssl.key.location={locked}"),
        2,
        "cannot decrypt",
        "no password is given",
        "ssl.key.password",
    ),
    Row(
        "an encrypted key with a wrong password",
        demanding(V1_3),
        (*CA, CERTIFICATE, "ssl.key.location={locked}", "ssl.key.password=hunter2"),
        2,
        "cannot decrypt",
        "is not its password",
        "ssl.key.password",
    ),
    Row(
        "a store without a password",
        good,
        (*CA, "ssl.keystore.location={p12}"),
        2,
        "cannot open",
        "none is given",
        "ssl.keystore.password",
    ),
    Row(
        "a store with a wrong password",
        good,
        (*CA, "ssl.keystore.location={p12}", "ssl.keystore.password=hunter2"),
        2,
        "cannot open",
        "its password is wrong",
        "ssl.keystore.password",
    ),
    Row(
        "an expired certificate",
        demanding(V1_3),
        (*CA, "ssl.keystore.location={expired}"),
        2,
        "not valid now",
        "expired at 20",
        "renew",
    ),
    Row(
        "two sets of authorities",
        good,
        (*CA, "ssl.ca.pem=x"),
        2,
        "are both given",
        "two sets",
        "leave one of them out",
    ),
]


def words(row: Row, here: Here) -> list[str]:
    given = [option.format(**here.words) for option in ("security.protocol=SSL", *row.options)]
    return [word for option in given for word in ("-X", option)]


@pytest.mark.parametrize("row", [*WORKS, *BROKER, *OWN], ids=str)
def test_tls(here: Here, row: Row) -> None:
    here.cluster.use_tls(row.server(here) if row.server is not None else None)
    address = here.cluster.bootstrap.replace(HOST, row.host)
    requests, connects = len(here.cluster.requests), len(here.cluster.connections)
    code, out, err = here.run("topics list", *words(row, here), "-b", address)
    assert code == row.code, err
    assert "Traceback" not in err
    assert "hunter2" not in err.replace("-X", "")
    connects = len(here.cluster.connections) - connects
    if not code:
        assert "orders" in out
        return
    lines = err.splitlines()
    what, why, do = (line.partition(": ")[2] for line in lines[-3:])
    assert (row.what in what, row.why in why, row.do in do) == (True, True, True), err
    assert connects <= (0 if row.code == 2 else row.connects)
    assert len(here.cluster.requests) == requests, "a request was sent to a server that was not verified"
    assert not out


@pytest.mark.case("N4", "X9")
def test_tls_on_a_plaintext_port_and_the_reverse(here: Here) -> None:
    """Exit 3."""
    here.cluster.use_tls(good(here))
    before = len(here.cluster.connections)
    code, _out, err = here.run("topics list")
    assert code == 3
    assert "security.protocol" in err.splitlines()[-1]
    assert (
        len(here.cluster.connections) - before <= 12
    )  # it hangs up without a word, as a broker that restarts
    with Peer(PEERS["http"]) as web:
        code, _out, err = here.run("topics list", "-X", "security.protocol=SSL", bootstrap=web.address)
        assert len(web.connects) == 1
    assert code == 3
    assert "does not speak TLS on this port" in err


@pytest.mark.case("X9")
@pytest.mark.parametrize(
    "line",
    ["topics list", "consume orders -e -g readers", "groups rewind g --topic orders --to earliest --dry-run"],
)
def test_a_check_that_is_off_is_warned_of_in_every_run_once(here: Here, line: str) -> None:
    """Also where the command has several clients, and with -q."""
    here.cluster.use_tls(good(here))
    tls = ("-X", "security.protocol=SSL", "-X")
    for option, said in (
        ("enable.ssl.certificate.verification=false", "certificates are not verified"),
        ("ssl.endpoint.identification.algorithm=", "host names"),
    ):
        code, _out, err = here.run(line, *tls, option, *("-X", f"ssl.ca.location={here.words['ca']}"), "-q")
        assert code in (0, 1), err
        assert err.count("warning: ") == 1
        assert said in err


def test_a_file_of_properties_as_javas_tools_take_it(here: Here) -> None:
    """PEM text with its line breaks continued by backslashes, types in every spelling, and an encrypted key."""
    here.cluster.use_tls(demanding(V1_3)(here))
    client = here.authority.client("java")

    def continued(text: str) -> str:
        return " \\\n  ".join(text.strip().splitlines())

    file = here.folder / "java.properties"
    file.write_text(
        "security.protocol=SSL\n"
        "ssl.keystore.type=PEM\n"
        f"ssl.keystore.certificate.chain={continued(client.certificate_pem)}\n"
        f"ssl.keystore.key={continued(client.encrypted_key_pem('secret'))}\n"
        "ssl.key.password=secret\n"
        "ssl.truststore.type=PEM\n"
        f"ssl.truststore.certificates={continued(here.authority.pem)}\n"
        "ssl.endpoint.identification.algorithm=https\n"
    )
    file.chmod(0o600)
    code, out, err = here.run("topics list", "-F", str(file))
    assert (code, err) == (0, "")
    assert "orders" in out


def test_the_extra_is_named_where_its_library_is_missing(here: Here) -> None:
    done = subprocess.run(
        [
            *KCLI,
            "topics",
            "list",
            "-X",
            "security.protocol=SSL",
            "-X",
            f"ssl.keystore.location={here.words['p12']}",
        ],
        env=environment(here.cluster.bootstrap, PYTHONPATH=f"{here.words['without']}:{ROOT}"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install 'kcli-kafka[pkcs12]'" in done.stderr
