"""A rewind from the live screen, on the fake cluster: what begins it, what does not, and what it leaves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events

from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.tui.screens.rewind import Rewind, Stage
from kcli.tui.widgets import typed_name
from tests.committing import Kcli, commit, offsets, put
from tests.fake.cluster import FakeCluster
from tests.fake.groups.classic_group import State
from tests.fake.groups.coordinator import Groups
from tests.fake.many_groups import ManyGroups
from tests.tui.driving import Driver, drive

OLD = {TopicPartition("t", number): OffsetAndMetadata(15 + number) for number in range(2)}
COMMITTED = [15, 16]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with FakeCluster(1, topics={"t": 2}) as made:
        for partition in range(2):
            put(made, "t", partition)
        commit(made, "g", OLD)
        yield made


async def confirm(screen: Driver) -> None:
    await screen.press("x")
    await screen.until_stage(Stage.CONFIRM)
    await screen.press("g")
    await screen.pause(0.2)
    await screen.press("enter")
    await screen.until_stage(Stage.REPORT)


@pytest.mark.case("T8")
def test_only_the_typed_name_begins_a_rewind_and_it_can_be_undone(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(typed_name, "monotonic", lambda: now[0])

    async def use(screen: Driver) -> None:
        await screen.press("w")
        await screen.until_stage(Stage.FORM)
        await screen.press("c")
        assert (
            screen.app.clipboard
            == f"kcli groups rewind g --to earliest --all-topics --wait -b {cluster.bootstrap}"
        )
        await screen.press("enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.shows("2 partitions, at most 31 records will be read again")
        await screen.press("w", "enter", "x")
        await screen.until_stage(Stage.CONFIRM)
        screen.app.screen.focused.post_message(events.Paste("g\n"))
        await screen.shows("pasted text does not confirm")
        await screen.press("enter")
        await screen.shows("type the name of the group")
        await screen.press("ctrl+v", "h", "enter")
        await screen.shows("that is not g")
        await screen.press("backspace", "g", "enter")  # as fast as a paste that the terminal does not mark
        await screen.shows("Enter came together with the name")
        assert offsets(cluster) == COMMITTED
        now[0] += 0.2
        await screen.press("enter")
        await screen.until_stage(Stage.REPORT)
        await screen.shows("group g: 2 partitions set and read back; undo with: kcli groups rewind g --undo=")
        assert offsets(cluster) == [0, 0]
        await screen.press("c")
        (journal,) = (tmp_path / "state").glob("kcli/rewind/*/*.json")
        assert screen.app.clipboard.startswith(f"kcli groups rewind g --undo={journal.stem} --wait")
        await screen.press("escape")
        assert any(
            event.kind == "rewind" and journal.stem in event.text for event in screen.app.snapshot.events
        )
        await screen.press("u")
        await screen.until_stage(Stage.REVIEW)
        await screen.shows(f"to: what was committed before {journal.stem}")
        await screen.press("x")
        await screen.until_stage(Stage.CONFIRM)
        await screen.press("g")
        now[0] += 0.2
        await screen.press("enter")
        await screen.until_stage(Stage.REPORT)

    drive(cluster.bootstrap, use)
    assert offsets(cluster) == COMMITTED
    journals = Kcli(cluster, tmp_path / "state", "groups", "rewind").items("--journal")
    assert [row["group"] for row in journals] == ["g", "g"]


def test_members_are_waited_for_and_the_wait_can_be_cancelled(cluster: FakeCluster) -> None:
    others = ManyGroups(cluster, 1, 2, topics=1, members=2)

    async def use(screen: Driver) -> None:
        await screen.press("G", "w")
        await screen.until_stage(Stage.FORM)
        assert screen.app.screen.form.group == others.names[0]
        await screen.press("down", "right", "enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.shows("Refused: its 2 members would overwrite the new offsets")
        await screen.press("x")
        await screen.shows("waiting until group-00000 has no members")
        assert "making the plan" not in screen.text
        await screen.press("escape")
        await screen.shows("cancelled: nothing was done")
        await screen.press("left", "enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.press("x")
        await screen.shows("waiting until group-00000 has no members")
        cluster.with_groups(leave)
        await screen.until_stage(Stage.REVIEW)
        await screen.shows("2 partitions")
        assert screen.app.screen.proposal.possible

    def leave(groups: Groups) -> None:
        group = groups._do.registry.classic(others.names[0])
        for member in list(group.members):
            group.remove(member)
        group.become(State.PREPARING)
        group.become(State.EMPTY)

    drive(cluster.bootstrap, use)


def test_a_failed_plan_is_shown_in_three_parts(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("u")
        await screen.shows("no rewind of group g is in the journal")
        await screen.shows("why: the journals are in")
        await screen.shows("do: `kcli groups rewind --journal` lists the rewinds of this cluster")
        await screen.press("left", "left", "left", "enter")  # an offset, which is missing
        await screen.shows("a value is missing, as in 1200")
        await screen.press("s", "o", "o", "n", "enter")
        await screen.shows("groups rewind: --to 'soon' is not a target")
        assert offsets(cluster) == COMMITTED

    drive(cluster.bootstrap, use)


PROFILES = """
[profiles.prod]
bootstrap.servers = "{brokers}"
protected = true

[profiles.archive]
bootstrap.servers = "{brokers}"
read_only = true
"""


def test_what_is_read_only_opens_no_dialog_and_says_why(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        assert "w rewind" not in screen.text
        assert "u undo" not in screen.text
        await screen.press("w")
        await screen.shows("nothing can be changed: --read-only is given")
        await screen.press("u")
        assert not isinstance(screen.app.screen, Rewind)

    drive(cluster.bootstrap, use, read_only=True)


def test_marks_of_profiles_count_as_for_the_command(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kcli").mkdir()
    file = tmp_path / "kcli" / "config.toml"
    file.write_text(PROFILES.format(brokers=cluster.bootstrap))
    file.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    async def archive(screen: Driver) -> None:
        await screen.press("w")
        await screen.shows("nothing can be changed: profile archive is read-only")
        assert not isinstance(screen.app.screen, Rewind)

    async def prod(screen: Driver) -> None:
        await screen.press("w", "enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.shows("Profile prod is protected.")
        await screen.shows("on prod (cluster ")
        await screen.press("c")
        assert screen.app.clipboard == "kcli groups rewind g --to earliest --all-topics --wait --profile prod"

    drive(None, archive, values={"profile": "archive"})
    drive(None, prod, values={"profile": "prod"})


def test_a_rewind_that_runs_when_the_screen_is_left_is_ended_and_reported(
    cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("w", "enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.press("x")
        await screen.until_stage(Stage.CONFIRM)
        await screen.press("g")
        await screen.pause(0.2)
        await screen.press("enter")
        await screen.until_stage(Stage.RUNNING)

    drive(cluster.bootstrap, use)
    assert offsets(cluster) == [0, 0]
    told = capsys.readouterr().err
    assert "group g: 2 partitions set and read back; undo with: kcli groups rewind g --undo=" in told


def test_a_group_that_moves_after_the_plan_is_left_as_it_is(cluster: FakeCluster) -> None:
    async def use(screen: Driver) -> None:
        await screen.press("w", "enter")
        await screen.until_stage(Stage.REVIEW)
        commit(cluster, "g", {TopicPartition("t", 0): OffsetAndMetadata(17)})
        await confirm(screen)
        await screen.shows("the offsets of group g have changed since the plan was made")
        await screen.shows("do: nothing was done; review the plan again")

    drive(cluster.bootstrap, use)
    assert offsets(cluster) == [17, 16]


def test_a_live_rewind_is_ended_while_it_watches_with_a_report_of_what_is_known(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    """Its members never return, so it would watch for as long as their sessions last."""
    others = ManyGroups(cluster, 1, 2, topics=1, members=1)
    cluster.with_groups(lambda groups: others._commit(groups, 0, 1_000))

    async def use(screen: Driver) -> None:
        await screen.until(lambda: len(screen.app.listing.table.rows) == 2)
        await screen.press(
            "slash", *"group", "enter", "w", "right", "right", "right", "down", "7", "down", "down", "right"
        )
        await screen.press("enter")
        await screen.until_stage(Stage.REVIEW)
        await screen.press("x")
        await screen.until_stage(Stage.CONFIRM)
        await screen.press(*("minus" if char == "-" else char for char in others.names[0]))
        await screen.pause(0.2)
        await screen.press("enter")
        await screen.shows("watching their commits")
        assert "setting the offsets" not in screen.text
        await screen.press("escape")
        await screen.until_stage(Stage.REPORT)
        await screen.shows(
            "2 of 2 partitions of group group-00000 were set, but whether they are read from there"
        )
        assert screen.app.screen.result.undo.live

    drive(cluster.bootstrap, use)
    assert offsets(cluster, others.names[0]) == [7, 7]
    assert len(Kcli(cluster, tmp_path / "state", "groups", "rewind").journals()) == 1
