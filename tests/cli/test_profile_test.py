"""``kcli profile test``: each step to the cluster and to its schema registry, causes, remedies and exit codes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.cli.test_profile import Kcli, home, kcli  # noqa: F401 - fixtures
from tests.fake.cluster import FakeCluster
from tests.fault.authenticating import CANARY, attempts, users
from tests.registry.server import RunningRegistry

Rows = list[dict[str, Any]]
Tested = Callable[..., tuple[int, Rows]]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(2, topics={"t": 1}, sasl=users()) as made:
        yield made


@pytest.fixture
def registry() -> Iterator[RunningRegistry]:
    with RunningRegistry() as server:
        server.content.credentials = ("me", CANARY)
        yield server


@pytest.fixture
def tested(kcli: Kcli, home: Path, cluster: FakeCluster) -> Tested:  # noqa: F811
    """Of a profile with these further options; the canary may be nowhere."""

    def call(**more: str) -> tuple[int, Rows]:
        options = {
            "bootstrap.servers": cluster.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": CANARY,
            **{key.replace("__", "."): value for key, value in more.items()},
        }
        path = home / "config/kcli/config.toml"
        path.parent.mkdir(parents=True)
        lines = [f"{key} = {json.dumps(value)}" for key, value in options.items()]
        path.write_text("\n".join(["[profiles.p]", "allow.plaintext.secrets = true", *lines]))
        path.chmod(0o600)
        for form in ("table", "json"):
            done = kcli("profile", "test", "p", "-o", form)
            assert CANARY not in done.out + done.err
        return done.code, done.items

    return call


def checks(rows: Rows, target: str) -> list[tuple[str, str]]:
    return [(row["check"], row["status"]) for row in rows if row["target"].startswith(target)]


def test_each_step_to_each_address_is_said(tested: Tested, cluster: FakeCluster) -> None:
    code, rows = tested()
    steps = [(step, "ok") for step in ("TCP", "ApiVersions", "SASL", "metadata")]
    assert code == 0, rows
    for address in cluster.bootstrap.split(","):
        assert checks(rows, f"bootstrap {address}") == steps
    assert not checks(rows, "registry")
    assert not cluster.seen((CreateTopicsRequest, ProduceRequest))


def test_refused_credentials_end_it_and_are_sent_once(tested: Tested, cluster: FakeCluster) -> None:
    code, rows = tested(sasl__username="bob")
    assert code == 4
    first, *others = cluster.bootstrap.split(",")
    assert checks(rows, f"bootstrap {first}")[-1] == ("SASL", "failed")
    assert [checks(rows, f"bootstrap {one}") for one in others] == [[("SASL", "skipped")]]
    assert attempts(cluster) == 2, "one for each of the two formats"


def test_an_address_without_a_broker_fails_and_the_others_are_tested(
    tested: Tested, cluster: FakeCluster
) -> None:
    code, rows = tested(bootstrap__servers=f"127.0.0.1:1,{cluster.bootstrap}")
    assert code == 3
    assert checks(rows, "bootstrap 127.0.0.1:1") == [("TCP", "failed")]
    assert checks(rows, f"bootstrap {cluster.bootstrap.split(',')[0]}")[-1] == ("metadata", "ok")


@pytest.mark.parametrize(
    ("wanted", "code", "status"), [("fake-kafka-cluster-id0", 0, "ok"), ("another", 3, "failed")]
)
def test_a_profile_for_one_cluster_finds_it(tested: Tested, wanted: str, code: int, status: str) -> None:
    found, rows = tested(cluster_id=wanted)
    assert found == code
    assert checks(rows, "cluster") == [("cluster id", status)]


@pytest.mark.parametrize(
    ("user", "code", "said"),
    [(f"me:{CANARY}", 0, "1 subject"), ("me:wrong", 4, "401")],
)
def test_the_registry_is_asked_with_the_credentials_of_the_profile(
    tested: Tested, registry: RunningRegistry, user: str, code: int, said: str
) -> None:
    registry.content.register("s", {"schema": '"string"'})
    found, rows = tested(schema__registry__url=registry.url, basic__auth__user__info=user)
    assert found == code
    (row,) = [row for row in rows if row["target"].startswith("registry")]
    assert said in f"{row['detail']} {row['why']}"


def test_a_registry_that_is_away_is_named(tested: Tested) -> None:
    code, rows = tested(schema__registry__url="http://127.0.0.1:1", schema__registry__max__retries="0")
    assert code == 3
    assert checks(rows, "registry http://127.0.0.1:1") == [("subjects", "failed")]


def test_a_profile_that_does_not_exist_is_named(kcli: Kcli) -> None:  # noqa: F811
    assert "there is no profile 'nope'" in kcli("profile", "test", "nope").err
    done = kcli("profile", "test", "a", "--profile", "b")
    assert (done.code, "both name a profile" in done.err) == (2, True)
