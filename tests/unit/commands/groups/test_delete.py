"""``groups delete``, ``delete-offsets``, ``remove-members`` against a stand-in for the admin client."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result

from kcli.cli import cli
from kcli.commands.shared import changing
from kcli.commands.shared.global_values import GlobalValues
from kcli.core.admin.committed import Committed
from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.admin.groups import GroupListing, ListedGroup
from kcli.core.admin.members import GroupMember
from kcli.core.errors import BrokerError, KcliError, NotFoundError, UnsupportedError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from tests.unit.at_once import AtOnce

READERS = (
    MemberDescription("m-1", None, "app", "/10.0.0.1", ("orders",), (TopicPartition("orders", 0),)),
    MemberDescription("m-2", "billing-2", "app", "/10.0.0.2", ("orders",), ()),
)
OFFSETS: Committed = {
    TopicPartition("orders", 0): OffsetAndMetadata(12, "mine"),
    TopicPartition("orders", 1): OffsetAndMetadata(1_000),
    TopicPartition("refunds", 0): OffsetAndMetadata(7),
    TopicPartition("refunds", 1): None,
}


def group(name: str, *members: MemberDescription, protocol: str = "consumer") -> GroupDescription:
    state = "Stable" if members else "Empty"
    return GroupDescription(name, "classic", state, protocol, "range", 1, members)


class StandIn(AtOnce):
    """Two idle groups, a live one, a share group; remembers what it was told to change."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupDescription | KcliError] = {
            "idle": group("idle"),
            "old": group("old"),
            "live": group("live", *READERS),
            "connect": group("connect", READERS[0], protocol="connect"),
            "share": UnsupportedError("group share cannot be described", why="it is a share group"),
        }
        self.committed: dict[str, Committed | KcliError] = dict.fromkeys(self.groups, OFFSETS)
        self.refused: dict[object, KcliError] = {}
        self.deleted: list[str] = []
        self.forgotten: dict[str, list[TopicPartition]] = {}
        self.removed: dict[str, list[GroupMember]] = {}

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_exc: object) -> None: ...

    def require(self, _act: object) -> None:
        """Every broker can do everything."""

    def describe_groups(
        self, names: Sequence[str], *, include_operations: bool = False, all_types: bool = False
    ) -> dict[str, GroupDescription | KcliError]:
        return {name: self.groups.get(name, NotFoundError(f"group {name} does not exist")) for name in names}

    def list_groups(self) -> GroupListing:
        return GroupListing(
            tuple(ListedGroup(name, "consumer", "Empty", "classic", 1) for name in self.groups), {}
        )

    def describe_topics(self, names: Sequence[str]) -> dict[str, KcliError]:
        return {name: NotFoundError(f"topic {name} does not exist") for name in names}

    def topic_operations(self, names: Sequence[str]) -> dict[str, None]:
        """Not reported."""
        return dict.fromkeys(names)

    def fetch_offsets(self, wanted: Mapping[str, object]) -> dict[str, Committed | KcliError]:
        return {name: self.committed[name] for name in wanted}

    def delete_groups(self, names: Sequence[str]) -> dict[str, KcliError | None]:
        self.deleted += names
        for name in names:
            if name not in self.refused:
                del self.groups[name]
        return {name: self.refused.get(name) for name in names}

    def delete_offsets(
        self, wanted: Mapping[str, Collection[TopicPartition]]
    ) -> dict[str, dict[TopicPartition, KcliError | None]]:
        self.forgotten |= {name: list(partitions) for name, partitions in wanted.items()}
        for name, partitions in wanted.items():
            before = self.committed[name]
            assert not isinstance(before, KcliError)
            self.committed[name] = {**before, **dict.fromkeys(set(partitions) - self.refused.keys())}
        return {name: {tp: self.refused.get(tp) for tp in partitions} for name, partitions in wanted.items()}

    def remove_members(
        self,
        wanted: Mapping[str, Collection[GroupMember]],
        *,
        reason: str,
        streams: Collection[str] = (),
    ) -> dict[str, dict[GroupMember, KcliError | None]]:
        assert "kcli" in reason
        assert not streams
        self.removed |= {name: list(members) for name, members in wanted.items()}
        for name, members in wanted.items():
            gone, before = {one.member_id for one in members}, self.groups[name]
            assert not isinstance(before, KcliError)
            self.groups[name] = group(name, *(one for one in before.members if one.member_id not in gone))
        return {name: {one: self.refused.get(one.member_id) for one in m} for name, m in wanted.items()}

    def untouched(self) -> bool:
        return not (self.deleted or self.forgotten or self.removed)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(changing, "open_admin", lambda _inv: stand_in)
    monkeypatch.setattr(changing, "connect", lambda _inv, _admin: "Qx3")
    return stand_in


def kcli(*arguments: str) -> Result:
    done = CliRunner().invoke(cli, ["groups", *arguments], obj=GlobalValues(), standalone_mode=False)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


# --- delete --------------------------------------------------------------------------------------------


def test_the_plan_of_a_deletion_counts_offsets_by_topic(admin: StandIn) -> None:
    done = kcli("delete", "idle", "--dry-run")
    assert (done.return_value, admin.untouched()) == (0, True)
    assert done.stdout.splitlines() == [
        "Delete group idle (classic, Empty) with 3 committed offsets.",
        "  TOPIC    COMMITTED-OFFSETS",
        "  orders                   2",
        "  refunds                  1",
    ]


@pytest.mark.case("C18")
def test_without_a_terminal_and_an_answer_the_plan_is_shown_and_nothing_deleted(admin: StandIn) -> None:
    for words in (
        ("delete", "idle"),
        ("delete-offsets", "idle", "-t", "orders"),
        ("remove-members", "live"),
    ):
        with pytest.raises(Exception, match="confirmation required"):
            kcli(*words)
    assert admin.untouched()


def test_each_name_can_be_confirmed_on_the_command_line(admin: StandIn) -> None:
    assert kcli("delete", "idle", "--confirm", "idle").return_value == 0
    with pytest.raises(Exception, match="--confirm idle does not name"):
        kcli("delete", "old", "--confirm", "idle")
    assert admin.deleted == ["idle"]


def test_one_name_does_not_confirm_several_groups(admin: StandIn) -> None:
    with pytest.raises(Exception, match="--confirm does not name 1 group that would be deleted"):
        kcli("delete", "idle", "old", "--confirm", "idle")
    assert admin.untouched()
    assert kcli("delete", "idle", "old", "--confirm", "idle", "--confirm", "old").return_value == 0
    assert admin.deleted == ["idle", "old"]


def test_of_several_groups_those_that_can_go_do_and_the_rest_is_reported(admin: StandIn) -> None:
    done = kcli("delete", "idle", "gone", "old", "idle", "--yes")
    assert (done.return_value, admin.deleted) == (6, ["idle", "old"])
    assert "group gone does not exist" in done.stderr
    assert "deleted group old" in done.stderr
    assert kcli("delete", "gone", "--yes").return_value == 1


def test_a_live_group_is_refused_with_its_members(admin: StandIn) -> None:
    done = kcli("delete", "live", "idle", "--yes")
    assert (done.return_value, admin.deleted) == (7, ["idle"])
    assert "it has 2 members: app at 10.0.0.1 (member m-1), " in done.stderr
    assert "stop them first" in done.stderr
    dry = kcli("delete", "live", "--dry-run")
    assert dry.return_value == 7
    assert "billing-2" in dry.stdout
    assert ", which is refused." in dry.stdout.splitlines()[0]
    assert "refused" not in kcli("delete", "idle", "--dry-run").stdout


@pytest.mark.case("O10")
def test_a_member_that_joins_after_the_plan_keeps_its_group(admin: StandIn) -> None:
    admin.refused["idle"] = BrokerError(68, "deleting group idle")
    done = kcli("delete", "idle", "old", "--yes")
    assert done.return_value == 7
    assert "a member has joined since the plan was made" in done.stderr
    assert "deleted group old" in done.stderr


def test_a_share_group_is_refused_and_offsets_that_cannot_be_read_are_reported(admin: StandIn) -> None:
    assert kcli("delete", "share", "--yes").return_value == 7
    admin.committed["idle"] = BrokerError(30, "offsets of group idle")
    assert "is not known" in kcli("delete", "idle", "--dry-run").stdout


# --- delete-offsets --------------------------------------------------------------------------------------


def test_offsets_are_chosen_by_topic_and_partition(admin: StandIn) -> None:
    done = kcli("delete-offsets", "idle", "-t", "orders:1", "-t", "refunds", "--yes")
    assert done.return_value == 0
    assert admin.forgotten == {"idle": [TopicPartition("orders", 1), TopicPartition("refunds", 0)]}
    assert "deleted 2 committed offsets of group idle" in done.stderr


def test_the_plan_shows_each_offset_that_would_be_lost(admin: StandIn) -> None:
    done = kcli("delete-offsets", "idle", "-t", "orders", "--dry-run")
    assert admin.untouched()
    assert done.stdout.splitlines()[:4] == [
        "Delete 2 committed offsets of group idle (classic, Empty).",
        "  TOPIC   PARTITION  COMMITTED  METADATA",
        "  orders          0         12  mine",
        "  orders          1       1000  -",
    ]


def test_what_was_named_and_has_no_offset_is_a_failure(admin: StandIn) -> None:
    done = kcli("delete-offsets", "idle", "-t", "orders:0,5", "-t", "ordesr", "-t", "refunds:1", "--yes")
    assert (done.return_value, admin.forgotten) == (6, {"idle": [TopicPartition("orders", 0)]})
    for name in ("orders:5", "ordesr", "refunds:1"):
        assert f"group idle has no committed offset of {name}\n" in done.stderr
    assert kcli("delete-offsets", "idle", "-t", "ordesr", "--yes").return_value == 1


def test_topics_that_a_live_group_reads_are_refused_and_others_not(admin: StandIn) -> None:
    done = kcli("delete-offsets", "live", "-t", "orders", "-t", "refunds", "--yes")
    assert (done.return_value, admin.forgotten) == (7, {"live": [TopicPartition("refunds", 0)]})
    assert "GROUP_SUBSCRIBED_TO_TOPIC" in done.stderr
    assert "it is read by 2 members" in done.stderr
    shown = kcli("delete-offsets", "live", "-t", "orders", "--dry-run")
    assert shown.return_value == 7
    assert "kept: members read the topic" in shown.stdout
    assert kcli("delete-offsets", "connect", "-t", "refunds", "--yes").return_value == 7
    assert "connect" not in admin.forgotten


def test_an_offset_that_stays_makes_it_partly_done(admin: StandIn) -> None:
    admin.refused[TopicPartition("orders", 1)] = BrokerError(14, "orders-1 of group idle")
    done = kcli("delete-offsets", "idle", "-t", "orders", "--yes")
    assert done.return_value == 6
    assert "deleted 1 committed offset of" in done.stderr


@pytest.mark.parametrize("word", ["", "or ders", "orders:", "orders:x", "orders:3-1"])
def test_an_invalid_scope_is_a_usage_error(admin: StandIn, word: str) -> None:
    with pytest.raises(Exception, match="is not"):
        kcli("delete-offsets", "idle", "-t", word, "--yes")


# --- remove-members ----------------------------------------------------------------------------------------


def test_without_a_name_all_members_are_removed(admin: StandIn) -> None:
    assert kcli("remove-members", "live", "--yes").return_value == 0
    assert admin.removed == {"live": [GroupMember("m-1"), GroupMember("m-2", "billing-2")]}


def test_a_member_is_named_by_its_id_or_its_instance_id(admin: StandIn) -> None:
    assert kcli("remove-members", "live", "billing-2", "m-2", "--yes").return_value == 0
    assert admin.removed == {"live": [GroupMember("m-2", "billing-2")]}
    assert kcli("remove-members", "live", "m-1", "m-9", "--yes").return_value == 6
    assert kcli("remove-members", "live", "m-9", "--yes").return_value == 1


def test_the_plan_of_a_removal_describes_its_effects(admin: StandIn) -> None:
    lines = kcli("remove-members", "live", "m-1", "--dry-run").stdout.splitlines()
    assert lines[:3] == [
        "Remove 1 of 2 members from group live (classic, Stable).",
        "  MEMBER-ID  CLIENT-ID  HOST      PARTITIONS",
        "  m-1        app        10.0.0.1           1",
    ]
    assert "rejoin by themselves" in " ".join(lines)
    assert "one rebalance" in lines[-1]
    assert "one rebalance" not in kcli("remove-members", "live", "--dry-run").stdout
    assert admin.untouched()


def test_a_group_without_members_needs_nothing(admin: StandIn) -> None:
    done = kcli("remove-members", "idle", "--yes")
    assert (done.return_value, admin.removed) == (0, {})
    assert "group idle has no members" in done.stderr


def test_a_member_that_has_gone_meanwhile_is_reported(admin: StandIn) -> None:
    admin.refused["m-1"] = NotFoundError("group live has no member m-1")
    done = kcli("remove-members", "live", "--yes")
    assert done.return_value == 6
    assert "removed 1 member from" in done.stderr


@pytest.mark.parametrize(("kind", "code"), [("consumer", 0), ("classic", 7)])
def test_only_a_consumer_of_the_new_protocol_rejoins_with_its_id(
    admin: StandIn, monkeypatch: pytest.MonkeyPatch, kind: str, code: int
) -> None:
    admin.groups["live"] = replace(group("live", *READERS), type=kind)
    monkeypatch.setattr(admin, "remove_members", lambda wanted, **_: {"live": dict.fromkeys(wanted["live"])})
    done = kcli("remove-members", "live", "--yes")
    assert done.return_value == code
    assert ("was removed, and is in the group" in done.stderr) == (code != 0)


def test_a_member_that_leaves_during_the_question_is_refused(
    admin: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answered(*_asked: object) -> None:
        admin.groups["live"] = group("live", READERS[1])

    monkeypatch.setattr(changing, "ask", answered)
    assert kcli("remove-members", "live", "--yes").return_value == 6
    assert admin.removed == {"live": [GroupMember("m-2", "billing-2")]}


# --- in which order --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "plan", "error"),
    [
        (
            ("delete-offsets", "idle", "-t", "orders:0,7"),
            "Delete 1 committed offset of",
            "no committed offset of orders:7",
        ),
        (
            ("delete-offsets", "live", "-t", "orders"),
            "",  # nothing is planned, so only a dry run shows it
            "offsets of orders were not deleted",
        ),
        (
            ("delete-offsets", "live", "-t", "orders", "-t", "refunds"),
            "Delete 1 committed",
            "offsets of orders were not",
        ),
        (("remove-members", "live", "m-1", "m-9"), "Remove 1 of 2 members", "has no member m-9"),
    ],
)
def test_the_plan_comes_first_then_what_is_left_out(
    admin: StandIn, arguments: tuple[str, ...], plan: str, error: str
) -> None:
    said = kcli(*arguments, "--yes").stderr
    assert -1 < said.find(plan) < said.find(error)
