"""``acls delete`` and ``quotas alter`` keep what they delete or replace in a journal, and ``undo`` makes it again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.core.protocol.messages.delete_acls import DeleteAclsRequest
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli

ACL = "acls create --principal User:a --operation read --topic orders --yes"


class World:
    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder

    def __call__(self, line: str, *, code: int = 0) -> Done:
        done = kcli(*line.split(), bootstrap=self.cluster.bootstrap, XDG_STATE_HOME=str(self.folder))
        assert done.code == code, done
        return done

    @property
    def journals(self) -> list[str]:
        """Oldest first."""
        found = (self.folder / "kcli/journal").glob("*/*.json")
        return [path.stem for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]

    def items(self, line: str, *, code: int = 0) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self(f"{line} -o json", code=code).out)["items"]
        return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FakeCluster(2) as cluster:
        yield World(cluster, tmp_path)


def statuses(items: list[dict[str, object]]) -> list[object]:
    return [item["status"] for item in items]


def test_acls_come_back_as_they_were(world: World) -> None:
    world(f"{ACL} --host 10.0.0.1 --deny")
    before, created = world.items("acls list"), world.journals
    said = world("acls delete --principal User:a --yes").err
    (journal,) = set(world.journals).difference(created)
    assert f"Undo with: kcli undo {journal}" in said
    assert "1 ACL of User:a" in [row["what"] for row in world.items("undo")]
    assert statuses(world.items(f"undo {journal} --dry-run")) == ["planned"]
    assert world.items("acls list") == []
    assert statuses(world.items(f"undo {journal} --yes")) == ["done"]
    assert world.items("acls list") == before
    assert statuses(world.items(f"undo {journal} --yes")) == ["unchanged"]


def test_acls_that_were_created_are_deleted_again_and_no_others(world: World) -> None:
    world("acls create --principal User:a --operation describe --topic orders --yes")
    first = world.journals
    before = world.items("acls list")
    said = world("acls create --principal User:a --producer --topic orders --transactional-id x --yes").err
    (journal,) = set(world.journals).difference(first)
    assert f"Undo with: kcli undo {journal}" in said
    assert len(world.items("acls list")) == 5
    assert "4 ACLs of User:a, created" in [row["what"] for row in world.items("undo")]
    world("acls delete --principal User:a --operation create --yes")
    plan = world.items(f"undo {journal} --dry-run")
    assert sorted(map(str, statuses(plan))) == ["planned"] * 3 + ["unchanged"]
    assert "Undo with" in world(f"undo {journal} --yes").err
    assert world.items("acls list") == before
    assert set(statuses(world.items(f"undo {journal} --yes"))) == {"unchanged"}
    (again,) = (row["id"] for row in world.items("undo") if row["command"] == "undo")
    world(f"undo {again} --yes")
    assert len(world.items("acls list")) == 4


def test_nothing_is_kept_of_acls_that_exist_already(world: World) -> None:
    world(ACL)
    made = world.journals
    world(ACL)
    world(f"{ACL} --dry-run")
    assert world.journals == made


def test_nothing_is_kept_of_acls_that_were_not_deleted(world: World) -> None:
    world(ACL)
    made = world.journals
    world.cluster.fail(DeleteAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, times=FOREVER)
    world("acls delete --principal User:a --yes", code=4)
    assert world.journals == made


def test_users_are_listed_and_cannot_be_made_again(world: World) -> None:
    password = world.folder / "password"
    password.write_text("secret")
    password.chmod(0o600)
    world(f"users set a --password-file {password} --allow-plaintext-secrets --yes")
    done = world("users delete a --yes -o json")
    assert "Undo with" not in done.err
    assert "undo" not in json.loads(done.out)
    (journal,) = world.journals
    (row,) = world.items("undo")
    assert row["what"] == "SCRAM-SHA-512 of user a, without the password"
    assert "secret" not in (next((world.folder / "kcli/journal").glob("*/*.json"))).read_text()
    assert "brokers return no passwords" in world(f"undo {journal} --yes", code=7).err


def test_quotas_get_the_values_that_they_had(world: World) -> None:
    world("quotas alter --user a --set producer_byte_rate=5 --yes")
    assert world.journals == [], "nothing was replaced"
    world("quotas alter --user a --set producer_byte_rate=7 --set consumer_byte_rate=9 --yes")
    (journal,) = world.journals
    (row,) = world.items("undo")
    assert row["what"] == "producer_byte_rate, consumer_byte_rate of user a"
    assert statuses(world.items(f"undo {journal} --yes")) == ["done", "done"]
    assert {row["key"]: row["value"] for row in world.items("quotas list")} == {"producer_byte_rate": 5}


def test_a_quota_that_was_changed_since_is_left(world: World) -> None:
    world("quotas alter --user a --set producer_byte_rate=5 --set consumer_byte_rate=6 --yes")
    world("quotas alter --user a --set producer_byte_rate=7 --unset consumer_byte_rate --yes")
    (journal,) = world.journals
    world("quotas alter --user a --set producer_byte_rate=8 --yes")
    for way in ("--dry-run", "--yes"):
        done = world(f"undo {journal} {way}", code=7)
        assert "producer_byte_rate of user a has been changed since" in done.err
        assert "consumer_byte_rate: not set → 6 bytes/s" in done.out + done.err, (
            "the plan has what is left of it"
        )
    assert {row["key"]: row["value"] for row in world.items("quotas list")} == {
        "producer_byte_rate": 8, "consumer_byte_rate": 6,
    }  # fmt: skip
