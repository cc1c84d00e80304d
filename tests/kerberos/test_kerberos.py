"""GSSAPI against a real KDC and a real Kafka: a login by ticket and by keytab, and what each failure says.

Run by ``make test-kerberos``.
"""

import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kcli.sandbox.ports import ANY, choose_ports, is_port_free
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed
from tests.kerberos.kdc import REALM, Kdc, why_not
from tests.run import KCLI, environment

pytestmark = pytest.mark.kerberos

MODULE = "com.sun.security.auth.module.Krb5LoginModule"


@dataclass(frozen=True)
class Realm:
    """The KDC with its users, and a broker; ``broker`` is its listener with GSSAPI."""

    kdc: Kdc
    alice: Path
    broker: str


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    try:
        import gssapi  # noqa: F401
    except ImportError as error:
        pytest.skip(f"the Python package gssapi is not installed ({error})")
    port, plain, kerberos, controller = choose_ports(4, ANY, is_port_free, rng=random.Random())
    with Kdc(tmp_path_factory.mktemp("kdc"), port) as kdc:
        broker, alice = kdc.principal("kafka/localhost"), kdc.principal("alice")
        kdc.principal("other/localhost")
        jaas = (
            f'{MODULE} required useKeyTab=true storeKey=true keyTab="{broker}" '
            f'principal="kafka/localhost@{REALM}";'
        )
        listeners = f"PLAINTEXT://127.0.0.1:{plain},KERBEROS://localhost:{kerberos}"
        extra = {
            **TEST_PROPERTIES,
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": listeners,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,KERBEROS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "listener.name.kerberos.gssapi.sasl.jaas.config": jaas,
            "listener.name.kerberos.connections.max.reauth.ms": "2000",
        }
        jvm = (*QUICK_JVM, f"-Djava.security.krb5.conf={kdc.config}")
        with sandboxed(port=plain, extra=extra, jvm_options=jvm):
            yield Realm(kdc, alice, f"localhost:{kerberos}")


def run(
    realm: Realm, *arguments: str, cache: Path, code: int = 0, stdin: bytes = b"", **options: str
) -> tuple[str, str]:
    """stdout and stderr of a command that logs in with GSSAPI; the keys of options have underscores for dots."""
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}
    given |= {f"sasl.kerberos.{name.replace('_', '.')}": text for name, text in options.items()}
    done = subprocess.run(
        [*KCLI, *arguments, *(word for key, text in given.items() for word in ("-X", f"{key}={text}"))],
        env=environment(realm.broker, **realm.kdc.environ, KRB5CCNAME=f"FILE:{cache}"),
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, err
    assert "Traceback" not in err
    return out, err


def test_records_there_and_back_by_the_ticket_of_the_cache(realm: Realm, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    realm.kdc.ticket("alice", realm.alice, cache)
    run(realm, "topics", "create", "t", cache=cache)
    run(realm, "produce", "t", cache=cache, stdin=b"1\n2\n")
    assert run(realm, "consume", "t", "-e", cache=cache)[0] == "1\n2\n"
    _, said = run(realm, "topics", "list", "--debug=auth", cache=cache, principal=f"alice@{REALM}")
    assert f"authenticated as alice@{REALM} with GSSAPI" in said


def test_a_keytab_needs_no_ticket_and_serves_all_sessions(realm: Realm, tmp_path: Path) -> None:
    """The broker's sessions last two seconds."""
    given = {"principal": "alice", "keytab": str(realm.alice)}
    run(realm, "topics", "create", "long", cache=tmp_path / "none", **given)
    _, said = run(
        realm, "consume", "long", "--idle-timeout", "4s", "--debug=auth", cache=tmp_path / "none", **given
    )
    assert "re-authenticated as alice with GSSAPI" in said
    assert not (tmp_path / "none").exists()
    jaas = f'{MODULE} required useKeyTab=true keyTab="{realm.alice}" principal="alice" serviceName="kafka";'
    run(realm, "topics", "list", "-X", f"sasl.jaas.config={jaas}", cache=tmp_path / "none")


def refusal(realm: Realm, cache: Path, **options: str) -> str:
    began = time.monotonic()
    _, said = run(realm, "topics", "list", cache=cache, code=4, **options)
    assert time.monotonic() - began < 20
    assert "with GSSAPI failed" in said
    return said


def test_no_ticket_is_named(realm: Realm, tmp_path: Path) -> None:
    said = refusal(realm, tmp_path / "none")
    assert "do: get a ticket with kinit" in said


def test_an_expired_ticket_is_named(realm: Realm, tmp_path: Path) -> None:
    realm.kdc.ticket("alice", realm.alice, tmp_path / "cache", life="1s")
    time.sleep(2)
    said = refusal(realm, tmp_path / "cache")
    assert "expired" in said
    assert "do: get a new ticket with kinit" in said


@pytest.mark.parametrize(
    ("options", "why", "do"),
    [
        ({"principal": "bob"}, f"Can't find client principal bob@{REALM}", "kinit"),
        ({"principal": "bob", "keytab": "alice"}, "credentials", "has the present key of bob: klist -k"),
        ({"service_name": "absent"}, "not found in Kerberos database", "sasl.kerberos.service.name"),
        ({"service_name": "other"}, "invalid credentials", "sasl.kerberos.service.name"),
    ],
    ids=["another principal", "another keytab", "unknown service", "another service"],
)
def test_what_is_wrong_is_named(
    realm: Realm, tmp_path: Path, options: dict[str, str], why: str, do: str
) -> None:
    cache = tmp_path / "cache"
    realm.kdc.ticket("alice", realm.alice, cache)
    given = {
        name: str(realm.alice) if text == "alice" and name == "keytab" else text
        for name, text in options.items()
    }
    said = refusal(realm, cache, **given)
    assert why in said
    assert do in said.partition("\n  do: ")[2], said


def test_a_kdc_that_does_not_run_is_named(realm: Realm, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    realm.kdc.ticket("alice", realm.alice, cache)
    realm.kdc.stop()
    try:
        said = refusal(realm, cache)
    finally:
        realm.kdc.start()
    assert "krb5.conf" in said.partition("\n  do: ")[2], said
