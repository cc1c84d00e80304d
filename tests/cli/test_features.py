"""``kcli features`` as a user runs it: what a plan forbids, what the controller refuses, all or nothing, the undoing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.account.change import Item
from kcli.core.protocol.messages.api_versions import ApiVersionsRequest
from kcli.core.protocol.messages.update_features import UpdateFeaturesRequest
from kcli.flows.features.change import FeatureUpgrade, Levels
from tests.cli.errors.typing_remedies import type_remedy
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.run import Done, kcli


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Levels of 4.3, brokers of 4.4; share.version is off."""
    with FakeCluster(
        2, newest_metadata_version=33, further_features={"share.version": (0, 2), "kraft.version": (0, 1)}
    ) as found:
        yield found


class Features:
    """Runs with journals in a folder of their own."""

    def __init__(self, cluster: FakeCluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder

    def __call__(self, line: str, code: int = 0, *, stdin: bytes | None = None) -> Done:
        words = line.split() if line.startswith("undo") else ["features", *line.split()]
        state = str(self.folder / "state")
        done = kcli(*words, bootstrap=self.cluster.bootstrap, stdin=stdin, XDG_STATE_HOME=state)
        assert done.code == code, done.err
        return done

    def document(self, line: str, code: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self(f"{line} -o json", code).out)
        return found

    @property
    def levels(self) -> dict[str, int]:
        return {row["feature"]: row["finalized"] for row in self.document("list")["items"]}

    def sent(self) -> list[bool]:
        """Of each request, whether it only validates."""
        return [one.request.validate_only for one in self.cluster.seen(UpdateFeaturesRequest)]


@pytest.fixture
def features(cluster: FakeCluster, tmp_path: Path) -> Features:
    return Features(cluster, tmp_path)


def test_the_list_has_levels_and_names(features: Features) -> None:
    document = features.document("list")
    rows = {row["feature"]: row for row in document["items"]}
    assert document["epoch"] == 1
    assert {name: row["finalized"] for name, row in rows.items()} == {
        "metadata.version": 30, "transaction.version": 2, "share.version": 0, "kraft.version": 0,
    }  # fmt: skip
    row = rows["metadata.version"]
    assert (row["finalized_name"], row["supported_max"], row["supported_max_name"], row["brokers"]) == (
        "4.3-IV0", 33, "4.4-IV2", [1, 2],
    )  # fmt: skip


def test_an_upgrade_is_checked_then_made_then_read_back(features: Features) -> None:
    done = features("upgrade --metadata 4.4-IV0 --yes")
    assert "metadata.version: 30 (4.3-IV0) → 31 (4.4-IV0)" in done.err
    assert "brokers and controllers before Kafka 4.4 can no longer join" in done.err
    assert "upgraded feature metadata.version, read back: 31 (4.4-IV0)" in done.err
    assert (features.sent(), features.levels["metadata.version"]) == ([True, True, False], 31)
    (journal,) = json.loads(features("undo -o json").out)["items"]
    features(f"undo {journal['id']} --yes")
    assert features.levels["metadata.version"] == 30


def test_a_dry_run_has_the_controller_check_it_and_changes_nothing(features: Features) -> None:
    done = features("upgrade --metadata 4.4 --dry-run")
    assert "there is no way back: the records of the metadata change with it" in done.out
    assert (features.sent(), features.levels["metadata.version"]) == ([True], 30)


def test_what_has_no_way_back_is_not_offered_to_be_undone(features: Features) -> None:
    done = features("upgrade --metadata 4.4 --yes")
    assert "Undo with" not in done.err
    (journal,) = json.loads(features("undo -o json").out)["items"]
    done = features(f"undo {journal['id']} --yes", 7)
    assert "might delete metadata information" in done.err
    assert features.levels["metadata.version"] == 33


def test_a_release_has_a_level_for_each_feature_that_there_is(features: Features) -> None:
    report = features.document("upgrade --release-version 4.4 --yes")
    assert {row["feature"]: (row["old_level"], row["level"], row["status"]) for row in report["items"]} == {
        "metadata.version": (30, 33, "done"), "share.version": (0, 2, "done"),
        "transaction.version": (2, 2, "unchanged"),
    }  # fmt: skip
    assert features.sent().count(False) == 1


def test_a_static_quorum_is_made_dynamic_by_name_only(features: Features) -> None:
    features("upgrade --release-version 4.4 --yes")
    assert features.levels["kraft.version"] == 0
    features("upgrade --feature kraft.version=1 --yes")
    report = features.document("upgrade --release-version 4.4 --yes")
    assert {row["feature"]: row["status"] for row in report["items"]}["kraft.version"] == "unchanged"


def test_a_release_switches_nothing_off_when_it_upgrades(features: Features) -> None:
    report = features.document("upgrade --release-version 4.0 --dry-run", 7)
    assert "share.version" not in {row["feature"] for row in report["items"]}


def test_all_levels_are_changed_or_none(features: Features) -> None:
    report = features.document("upgrade --feature share.version=1 --feature transaction.version=9 --yes", 7)
    assert {row["feature"]: row["status"] for row in report["items"]} == {
        "share.version": "refused", "transaction.version": "refused",
    }  # fmt: skip
    assert (features.sent(), features.levels["share.version"]) == ([], 0)


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        ("upgrade --feature share.version=3", 7, "brokers 1, 2 support 0 to 2"),
        (
            "upgrade --feature transaction.version=1",
            7,
            "`kcli features downgrade --feature transaction.version=1`",
        ),
        ("downgrade --feature share.version=1", 7, "`kcli features upgrade --feature share.version=1`"),
        ("upgrade --feature sharee.version=1", 1, "did you mean share.version?"),
        ("downgrade --metadata 4.2", 7, "might delete metadata information"),
        ("downgrade --metadata 4.2 --unsafe", 7, "Unsafe metadata downgrade is not supported"),
        ("upgrade", 2, "which feature?"),
        ("upgrade --metadata 4.4 --release-version 4.4", 2, "--release-version together with --metadata"),
        ("upgrade --metadata 4.4 --feature metadata.version=30", 2, "two levels for metadata.version"),
        ("upgrade --metadata 9.9", 2, "neither a level nor a name"),
        ("upgrade --feature share.version", 2, "is not NAME=LEVEL"),
        ("upgrade --feature share.version=x", 2, "a level is a whole number"),
        ("upgrade --feature share.version=70000", 2, "a level is at most 32767"),
        ("upgrade --release-version 33", 2, "is not a release such as 4.4"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(features: Features, line: str, code: int, why: str) -> None:
    before = features.levels
    for more in (" --dry-run", " --yes"):
        assert why in features(line + more, code).err
    assert False not in features.sent()
    assert features.levels == before


def test_level_0_switches_a_feature_off_and_undo_on_again(features: Features) -> None:
    features("upgrade --feature share.version=1 --yes")
    done = features("downgrade --feature share.version=0 --yes")
    assert "share.version: 1 → off" in done.err
    assert "share groups can no longer be used: stop them first" in done.err
    assert features.levels["share.version"] == 0
    journal = json.loads(features("undo -o json").out)["items"][-1]
    features(f"undo {journal['id']} --yes")
    assert features.levels["share.version"] == 1


def test_a_level_that_was_changed_since_is_not_undone(features: Features) -> None:
    report = features.document("upgrade --feature share.version=1 --yes")
    features("upgrade --feature share.version=2 --yes")
    done = features(f"undo {report['undo']} --yes", 7)
    assert "feature share.version has been changed since" in done.err
    assert features.levels["share.version"] == 2


def test_a_lost_answer_is_settled_by_what_is_read_back(features: Features) -> None:
    features.cluster.swallow(
        UpdateFeaturesRequest, then="reset", times=FOREVER, when=lambda one: not one.validate_only
    )
    (row,) = features.document("upgrade --feature share.version=1 --yes --timeout 2s")["items"]
    assert (row["status"], row["level"], features.levels["share.version"]) == ("done", 1, 1)


def test_what_was_not_changed_is_unknown_after_a_lost_request(features: Features) -> None:
    features.cluster.drop(
        UpdateFeaturesRequest, then="reset", times=FOREVER, when=lambda one: not one.validate_only
    )
    (row,) = features.document("upgrade --feature share.version=1 --yes --timeout 1s", 3)["items"]
    assert (row["status"], features.levels["share.version"]) == ("unknown", 0)


def test_brokers_that_answer_by_feature_are_understood(features: Features) -> None:
    """Kafka before 4.0 has no version 2, whose errors are those of the whole request."""
    features.cluster.cap_versions({UpdateFeaturesRequest: 1})
    done = features("downgrade --metadata 4.2 --yes", 7)
    assert "changing the level of feature metadata.version failed" in done.err
    assert features.document("upgrade --feature share.version=2 --yes")["items"][0]["status"] == "done"


def test_what_the_oldest_brokers_cannot_check_is_checked_by_the_change(features: Features) -> None:
    """Version 0, before Kafka 3.3, would change what is only to be validated, so it is not sent."""
    features.cluster.cap_versions({UpdateFeaturesRequest: 0})
    done = features("upgrade --feature share.version=1 --dry-run")
    assert "not checked by the controller" in done.err
    assert features.sent() == []
    features("upgrade --feature share.version=1 --yes")
    assert features.levels["share.version"] == 1
    features("downgrade --feature share.version=0 --yes")
    assert features.levels["share.version"] == 0
    assert features.sent() == [False, False]


def test_a_broker_that_does_not_answer_is_missing_from_the_list(features: Features) -> None:
    features.cluster.fail(
        ApiVersionsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, node=2, times=FOREVER, after=1
    )
    document = features.document("list", 6)
    assert [part["where"] for part in document["missing"]] == ["broker 2"]
    assert {tuple(row["brokers"]) for row in document["items"]} == {(1,)}


@pytest.mark.parametrize(("before", "after", "typed"), [(30, 33, "metadata.version"), (30, 31, None)])
def test_what_cannot_be_taken_back_has_to_be_typed(before: int, after: int, typed: str | None) -> None:
    (question,) = FeatureUpgrade({}).questions([Item("metadata.version", Levels(before, after))])
    assert (question.name, question.subject) == (typed, "metadata.version")


def test_its_remedies_are_commands(features: Features) -> None:
    broker = features.cluster.bootstrap
    said = features("upgrade --feature transaction.version=1 --yes", 7).err
    type_remedy(
        "`kcli features downgrade --feature transaction.version=1` is the other direction", said, broker
    )
    said = features("upgrade --feature zzz=1 --yes", 1).err
    type_remedy("`kcli features list` shows those that there are", said, broker)
    said = features("downgrade --metadata 4.2 --yes", 7).err
    type_remedy(
        "`kcli features list` shows the levels in effect, and those that brokers support", said, broker
    )
    report = features.document("upgrade --feature share.version=1 --yes")
    features("upgrade --feature share.version=2 --yes")
    said = features(f"undo {report['undo']} --yes", 7).err
    type_remedy("`kcli features list` shows the levels", said, broker)
