"""``kcli apply`` on a real broker, from random states to random states."""

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kcli.core.admin.admin import Admin
from kcli.core.options import ClientOptions
from tests.integration.cluster_states import (
    KINDS,
    NOTHING,
    State,
    changed,
    current,
    different,
    in_effect,
    is_called,
    merged,
    random_state,
    set_state,
)
from tests.integration.test_access_commands import AUTHORIZER
from tests.kafka import TEST_PROPERTIES, Kafka, sandboxed
from tests.run import Done, environment, kcli, start

pytestmark = pytest.mark.integration

_ALL = [word for kind in KINDS for word in ("--only", str(kind))]
_INSECURE = "--allow-plaintext-secrets"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Kafka]:
    """A broker with an authorizer that no other test uses: states are of the whole cluster."""
    with sandboxed(extra=TEST_PROPERTIES | AUTHORIZER) as found:
        yield found


def client(kafka: Kafka) -> Admin:
    """A client that may send credentials without encryption."""
    return Admin(ClientOptions(bootstrap_servers=kafka.bootstrap, allow_plaintext_secrets=True))


@pytest.fixture(scope="module")
def admin(guarded: Kafka) -> Iterator[Admin]:
    with client(guarded) as found:
        yield found


class Cluster:
    """The commands, on the broker and with a journal of its own."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka, self.state = kafka, str(folder / "state")

    def __call__(self, *words: str, code: int = 0) -> Done:
        done = kcli(*words, _INSECURE, bootstrap=self.kafka.bootstrap, XDG_STATE_HOME=self.state, PW="pw")
        assert done.code == code, (words, done.code, done.err[-3000:])
        return done

    def kill(self, seconds: float, *words: str) -> bool:
        """Kills the command after a while; whether it was still running then."""
        more = environment(self.kafka.bootstrap, XDG_STATE_HOME=self.state, PW="pw")
        process = start(*words, _INSECURE, env=more)
        time.sleep(seconds)
        alive = process.poll() is None
        process.kill()
        process.communicate()
        return alive


def with_passwords(text: str) -> str:
    """The export, with where the passwords of its users are: brokers return none."""
    return text.replace("  mechanisms:\n", "  password_env: PW\n  mechanisms:\n")


GLOB = "t*"


def check(seed: int, admin: Admin, cluster: Cluster, folder: Path) -> None:
    """From a state B to the export of a state A, in one of the ways of applying; some are killed before."""
    rng = Random(seed)
    wanted = random_state(rng)
    before = changed(rng, wanted)
    set_state(admin, wanted)
    text = cluster("export").out
    set_state(admin, before)
    file = folder / f"{seed}.yaml"
    file.write_text(with_passwords(text))
    how, after = rng.choice(
        [
            (("--exact", "--prune", *_ALL), wanted),
            (("--prune", "--match", GLOB), _of_names(before, wanted)),
            ((), merged(before, wanted)),
        ]
    )
    for _ in range(rng.choice([0, 0, 1, 3])):
        cluster.kill(rng.uniform(0.0, 2.0), "apply", str(file), *how, "--yes")
    cluster("apply", str(file), *how, "--yes")
    assert not different(in_effect(current(admin)), in_effect(after))
    cluster("diff", str(file), *how)
    if how[:1] == ("--exact",):
        assert cluster("export").out == text
    again = cluster("apply", str(file), *how, "--yes", "-o", "json")
    assert {item["status"] for item in again.items} <= {"unchanged"}


def _of_names(before: State, files: State) -> State:
    """What is to be where only what is called so is applied, and pruned."""
    chosen = {ref: spec for ref, spec in files.items() if is_called(ref, spec, GLOB)}
    kinds = {ref.kind for ref in chosen or files}
    left = {
        ref: spec
        for ref, spec in before.items()
        if ref in chosen or ref.kind not in kinds or not is_called(ref, spec, GLOB)
    }
    return merged(left, chosen)


def test_the_export_of_one_state_makes_it_of_another(guarded: Kafka, admin: Admin, tmp_path: Path) -> None:
    for seed in range(5):
        check(seed, admin, Cluster(guarded, tmp_path), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("part", range(30))
def test_it_does_from_300_states_to_300_others(
    guarded: Kafka, admin: Admin, tmp_path: Path, part: int
) -> None:
    for seed in range(1_000 + 10 * part, 1_010 + 10 * part):
        check(seed, admin, Cluster(guarded, tmp_path), tmp_path)


def test_replicas_are_moved_and_waited_for_and_go_back(kafka3: Kafka, tmp_path: Path) -> None:
    cluster = Cluster(kafka3, tmp_path)
    name = kafka3.topic("placed", partitions=2, replicas=1)
    file = tmp_path / "placed.yaml"
    spec = "{partitions: 2, replication_factor: 3, config: {retention.ms: 7000000}}"
    file.write_text(f"{{apiVersion: kcli/v1, kind: Topic, metadata: {{name: {name}}}, spec: {spec}}}\n")
    cluster("diff", str(file), code=8)
    cluster.kill(0.7, "apply", str(file), "--yes")  # wherever it is then
    journals = len(cluster("undo", "-o", "json").items)
    done = cluster("apply", str(file), "--yes", "--throttle", "50MB/s", "-o", "json")
    assert {one["status"] for one in done.items} <= {"done", "unchanged"}
    cluster("diff", str(file))
    cluster("reassign", "status")
    found = cluster("undo", "-o", "json").items
    assert len(found) >= journals
    for one in reversed(found):
        cluster("undo", one["id"], "--yes")
    end = time.monotonic() + 120  # for the brokers that were not asked whether it is undone
    while "7000000" in (out := cluster("export", "topics", "--match", name).out) or "factor: 1" not in out:
        assert time.monotonic() < end, out


@pytest.mark.long
def test_a_cluster_that_is_thrown_away_gets_the_same_export(
    guarded: Kafka, admin: Admin, tmp_path: Path
) -> None:
    with sandboxed(extra=TEST_PROPERTIES | AUTHORIZER) as other, client(other) as its:
        for seed in range(10):
            set_state(its, NOTHING)
            set_state(admin, random_state(Random(seed)))
            text = Cluster(guarded, tmp_path)("export").out
            file = tmp_path / "all.yaml"
            file.write_text(with_passwords(text))
            copy = Cluster(other, tmp_path)
            copy("apply", str(file), "--exact", "--prune", *_ALL, "--yes")
            assert copy("export").out == text
