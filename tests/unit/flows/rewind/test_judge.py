"""What a judge says of a live rewind, from what can be seen of it: sequences of commits, arrivals and rebalances."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kcli.core.admin.group_description import GroupDescription, MemberDescription
from kcli.core.group.barrier.arrivals import Arrival, ListedMember
from kcli.core.types import TopicPartition
from kcli.flows.rewind.attendance import Attendance, EvictedMember
from kcli.flows.rewind.judge import HELD, OPEN, OVERWRITTEN, UNKNOWN, Judge, Observation
from kcli.flows.rewind.trail import Rewound

A, B = TopicPartition("a", 0), TopicPartition("a", 1)
Member = tuple[str, str, Sequence[TopicPartition]]
"""Member id, client id, partitions."""


class Scene:
    """A group of members, each with one partition, that was sent out ``held`` seconds before it was released, at 0.

    ``back``: client ids of those waiting to rejoin by then. Looks come every tenth of a second, as ``look`` says.
    """

    def __init__(
        self,
        *clients: str,
        old: int | None = 1_000,
        new: int = 400,
        end: int | None = 1_200,
        held: float = 12.0,
        back: Sequence[str] | None = None,
        came_at: float | None = None,
        protocol: str = "classic",
        assignor: str = "range",
        pace: float = 0.5,
        session: float = 10.0,
        kept: Mapping[str, Sequence[TopicPartition]] | None = None,
        unassigned_since: float | None = None,
    ) -> None:
        self._modern = protocol == "consumer"
        clients = clients or ("one", "two")
        partitions = (A, B)[: len(clients)]
        evicted = [
            EvictedMember(ListedMember(f"{name}-{n}", None, name, "/h"), frozenset({tp}), pace, session)
            for n, (name, tp) in enumerate(zip(clients, partitions, strict=True))
        ]
        came = -held + 0.5 if came_at is None else came_at
        self.members: list[Member] = []
        arrivals = []
        for n, name in enumerate(clients if back is None else back):
            member_id = f"{name}-{n}" if self._modern else f"{name}-{n}-again"
            self.members.append((member_id, name, [partitions[n % len(partitions)]]))
            arrivals.append(Arrival(ListedMember(member_id, None, name, "/h"), came, unassigned_since))
        attendance = Attendance(evicted, -held, arrivals, keeps_id=self._modern)
        rewound = {tp: Rewound(new, old, end) for tp in partitions}
        self.judge = Judge(rewound, attendance, assignor="" if self._modern else assignor)
        self.now, self._end = 0.0, 5_000
        self.committed: dict[TopicPartition, int | None] = dict.fromkeys(partitions, new)
        self.log: dict[TopicPartition, list[int | None]] = {tp: [old, new] for tp in partitions}
        self.owned = kept or {}
        self.state = "Stable"
        self.look()

    def look(self, until: float = 0.0, **commits: int | None) -> "Scene":
        """At the next tenth, and on to ``until``; ``a`` and ``b`` are commits that are seen first then."""
        for name, offset in commits.items():
            tp = A if name == "a" else B
            self.committed[tp] = offset
            self.log[tp].append(offset)
        while True:
            self.now = round(self.now + 0.1, 3)
            self.judge.observe(
                Observation(self.now, dict(self.committed), self._group(), dict.fromkeys((A, B), self._end))
            )
            if self.now >= until:
                return self

    def _group(self) -> GroupDescription:
        members = tuple(
            MemberDescription(
                one, None, name, "/h", assignment=tuple(own), owned=tuple(self.owned.get(one, ()))
            )
            for one, name, own in self.members
        )
        kind = "consumer" if self._modern else "classic"
        return GroupDescription("g", kind, self.state, "consumer", "range", 1, members)

    def rebalance(self, *members: Member) -> "Scene":
        """These are in the group when it is over."""
        self.state = "PreparingRebalance"
        self.look()
        self.state = "Stable"
        if members:
            self.members = list(members)
        return self.look()

    def said(self, tp: TopicPartition = A) -> str:
        """When the history of commits was asked, if it is the only thing that is waited for."""
        verdict = self.judge.verdict(tp, self.now)
        if verdict.awaited is not None and verdict.awaited.history:
            self.judge.confirm(self.log)
            verdict = self.judge.verdict(tp, self.now)
        return verdict.status


# --- what commits say when nobody can have anything old in hand ------------------------------------------------


@pytest.mark.case("O11")
@pytest.mark.parametrize(
    ("old", "new", "seen", "said"),
    [
        (1_000, 400, [], OPEN),
        (1_000, 400, [401], HELD),
        (1_000, 400, [999], HELD),
        (1_000, 400, [1_000], UNKNOWN),
        (1_000, 400, [3_000], HELD),
        (1_000, 400, [399], OVERWRITTEN),
        (1_000, 400, [401, 399], OVERWRITTEN),
        (1_000, 400, [None], OVERWRITTEN),
        (1_000, 1_400, [], OPEN),
        (1_000, 1_400, [1_500], HELD),
        (1_000, 1_400, [999], OVERWRITTEN),
        (1_000, 1_000, [1_001], UNKNOWN),
        (None, 400, [450], UNKNOWN),
        (None, 400, [3_000], HELD),
        (None, 400, [3], OVERWRITTEN),
    ],
)
def test_a_group_that_was_held_for_long_enough(
    old: int | None, new: int, seen: list[int | None], said: str
) -> None:
    scene = Scene("one", old=old, new=new)
    for commit in seen:
        scene.look(a=commit)
    assert scene.look(until=1.0).said() == said


@pytest.mark.parametrize(
    ("logged", "said"),
    [
        ([1_000, 400, 400, 3_000], HELD),
        ([700, 1_000, 400, 400, 1_050, 3_000], UNKNOWN),
        ([1_000, 400, 1_050, 450, 3_000], HELD),
        ([1_000, 400, 450, 1_050, 3_000], HELD),
        ([3_000], HELD),
        (None, UNKNOWN),
    ],
)
def test_a_commit_that_no_poll_has_seen_is_read_from_the_log(
    logged: list[int | None] | None, said: str
) -> None:
    """aiokafka keeps a worker's commit until it has joined again; milliseconds later the next one is there."""
    scene = Scene("one", old=1_000, new=400).look(a=3_000)
    assert scene.judge.unconfirmed
    scene.judge.confirm(None if logged is None else {A: logged})
    assert scene.said() == said


def test_a_first_commit_that_shows_where_reading_began_needs_no_log() -> None:
    assert not Scene("one", old=1_000, new=400).look(a=450).look(a=3_000).judge.unconfirmed
    assert not Scene("one", old=1_000, new=400).look(until=10.0).look(a=3_000).judge.unconfirmed


@pytest.mark.parametrize(
    ("unassigned_since", "said"), [(-11.0, HELD), (-2.0, HELD), (-1.9, UNKNOWN), (None, UNKNOWN)]
)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_without_partitions_has_committed_before_the_group_is_released(
    protocol: str, unassigned_since: float | None, said: str
) -> None:
    scene = Scene("one", old=1_000, new=400, protocol=protocol, unassigned_since=unassigned_since)
    assert scene.look(until=0.8).look(a=1_100).look(until=13.0).said() == said


def test_what_is_kept_until_there_are_partitions_again_is_sent_at_once() -> None:
    """librdkafka holds back the commits of worker threads for so long."""
    scene = Scene("one", old=1_000, new=400, unassigned_since=-11.0)
    assert scene.look(until=0.4).look(a=1_100).look(until=13.0).said() == UNKNOWN


def test_the_history_shows_commits_that_were_too_quick_to_be_seen() -> None:
    scene = Scene("one", old=1_000, new=400)
    scene.log[A].append(401)
    assert scene.look(a=1_100).look(until=13.0).said() == HELD


def test_an_old_commit_of_what_was_read_again_already_does_no_harm() -> None:
    scene = Scene("one", old=1_000, new=400, unassigned_since=-11.0).look(a=900).look(a=1_150)
    scene.rebalance(("one-0-again", "one", [A]), ("late", "one", []))
    scene.look(a=1_050)
    assert scene.rebalance(("one-0-again", "one", []), ("late", "one", [A])).look(until=20.0).said() == HELD


def test_a_member_that_was_missed_while_the_group_was_held_may_come_again() -> None:
    """It was stopped for longer than its session. Whoever never came back is given its session only."""
    member = ListedMember("one-0", None, "one", "/h")
    for arrivals, due in (([Arrival(member, -11.0, -11.0, left_at=-5.0)], 7.0), ([], 0.0)):
        evicted = [EvictedMember(member, frozenset({A}), 0.5, session=6.0)]
        (party,) = Attendance(evicted, -12.0, arrivals, keeps_id=False).parties.values()
        assert party.due(at_work=False) == due
        assert not party.all_here


# --- 9: never a false held ---------------------------------------------------------------------------------


@pytest.mark.case("O11")
def test_a_newcomer_is_not_taken_for_the_slow_member_whose_name_it_has() -> None:
    """aiokafka: one is still at work, another joins; the late commit comes when the slow one is back."""
    scene = Scene("app", "app", held=8.0, back=["app"], pace=0.3, session=10.0)
    scene.look(a=450, b=450)
    scene.rebalance(("app-0-again", "app", [A]), ("newcomer", "app", [B]))
    scene.look(a=600, b=700).look(until=9.0)
    assert scene.said(B) == OPEN
    scene.rebalance(("app-0-again", "app", [A]), ("newcomer", "app", []), ("slow", "app", [B]))
    scene.look(b=1_100)
    scene.rebalance(("app-0-again", "app", [A]), ("newcomer", "app", [B]), ("slow", "app", []))
    scene.look(b=1_500).look(until=80.0)
    assert scene.said(B) == UNKNOWN


def test_even_a_newcomer_that_comes_at_once_does_not_close_the_account() -> None:
    """The slow one has 12 seconds to show that there was one too many."""
    scene = Scene("app", "app", held=1.0, back=["app", "app"], came_at=-0.5)
    scene.look(a=450, b=450).look(until=9.0)
    assert scene.said(B) == OPEN
    scene.members.append(("slow", "app", []))
    scene.look(until=15.0)
    assert scene.said(B) == OPEN


def test_a_worker_thread_that_commits_late_and_dies_moves_its_partition() -> None:
    """Cooperative: its main thread reads on, so that commits come from the new offset on; then the late one."""
    scene = Scene(held=1.0, assignor="cooperative-sticky", pace=0.5)
    scene.look(a=450, b=450).look(until=4.0)
    assert scene.said(A) == OPEN, "what is committed now may be overwritten by an old batch still"
    scene.look(a=1_113).rebalance(("two-1-again", "two", [A, B]))
    scene.look(a=1_500, b=1_500).look(until=60.0)
    assert (scene.said(A), scene.said(B)) == (UNKNOWN, HELD)


@pytest.mark.case("O13")
def test_an_old_batch_in_the_new_epoch_is_what_its_partition_is_read_on_from() -> None:
    """KIP-848, Java: it asks where to begin when its batch is done, and has committed that just before."""
    scene = Scene(protocol="consumer", held=1.0, pace=2.5)
    scene.look(until=2.0, a=1_150).look(until=20.0, a=1_600, b=450)
    assert (scene.said(A), scene.said(B)) == (UNKNOWN, HELD)


def test_a_commit_before_any_member_owns_the_partition_is_not_its_readers() -> None:
    scene = Scene("one", protocol="consumer", held=5.0, came_at=-0.5, pace=3.0)
    scene.members = [("one-0", "one", [])]
    scene.look(a=1_150)
    scene.members = [("one-0", "one", [A])]
    scene.look(a=2_000).look(until=60.0)
    assert scene.said() == UNKNOWN


def test_a_late_commit_that_its_reader_corrects_does_no_harm() -> None:
    scene = Scene(held=1.0)
    scene.look(a=450, b=450).look(until=5.0, a=1_150).look(until=6.0, a=700).look(until=30.0)
    assert scene.said(A) == HELD


def test_a_member_that_was_stopped_and_comes_again_has_time_to_show_it() -> None:
    scene = Scene(protocol="consumer", held=12.0, came_at=-11.0)
    scene.members = scene.members[:1]
    scene.look(until=1.0, a=450)
    assert scene.said(B) == OPEN
    scene.look(until=11.0)
    assert scene.said(B) == OPEN


def test_what_kcli_could_not_see_proves_nothing() -> None:
    """A broker stood still for 25 s: a late commit and a rebalance may have come in between."""
    scene = Scene("one")
    scene.now += 25.0
    scene.look(a=2_000).look(until=60.0)
    assert scene.said() == UNKNOWN
    scene = Scene("one")
    scene.now += 25.0
    scene.look(a=700)
    assert scene.said() == HELD, "below the old offset nobody commits who has not begun at the new one"


@pytest.mark.case("O12")
def test_a_cooperative_member_that_has_kept_a_partition_proves_nothing_of_that_one() -> None:
    """It says so when it joins (kafka-python in the middle of a commit)."""
    scene = Scene(assignor="cooperative-sticky", came_at=-11.95, kept={"one-0-again": [A]})
    scene.look(a=3_000, b=3_000).look(until=60.0)
    assert (scene.said(A), scene.said(B)) == (OPEN, HELD)
    assert scene.look(a=700).said(A) == HELD


def test_a_member_that_noticed_its_eviction_has_kept_nothing() -> None:
    """Kafka-python tells in JoinGroup what it owned when it joined before."""
    scene = Scene(assignor="cooperative-sticky", came_at=-9.0, kept={"one-0-again": [A]})
    scene.look(a=3_000, b=3_000)
    assert (scene.said(A), scene.said(B)) == (HELD, HELD)


def test_a_rewind_forward_that_an_old_batch_undoes_is_overwritten_unless_it_is_corrected() -> None:
    scene = Scene(new=1_400, old=1_000, end=1_500).look(until=3.0)
    scene.look(until=4.0, a=1_450, b=1_450).look(a=1_100, b=1_100)
    scene.look(until=5.0, b=1_600).look(until=30.0)
    assert (scene.said(A), scene.said(B)) == (OVERWRITTEN, HELD)
    scene = Scene(new=1_400, old=1_000, end=1_500).look(until=3.0)
    scene.look(until=4.0, a=1_450).look(a=1_100).rebalance()
    assert scene.said(A) == OVERWRITTEN


# --- 10: unknown only where nothing can be known ------------------------------------------------------------


def test_partitions_of_others_do_not_wait_for_a_member_that_was_killed() -> None:
    scene = Scene(back=["one"], session=45.0)
    scene.look(a=450).look(a=3_000)
    assert (scene.said(A), scene.said(B)) == (HELD, OPEN)
    awaited = scene.judge.verdict(B, scene.now).awaited
    assert awaited is not None
    assert [one.client_id for one in awaited.away] == ["two"]
    assert awaited.until == pytest.approx(-12 + 45)
    scene.members = [("one-0-again", "one", [A, B])]
    scene.look(b=600).look(until=34.0)
    assert scene.said(B) == HELD


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_quick_members_in_calm_are_decided_with_their_first_commits(protocol: str) -> None:
    scene = Scene(protocol=protocol, new=800)
    scene.look(a=1_300, b=3_000)
    assert (scene.said(A), scene.said(B)) == (HELD, HELD)


def test_a_newcomer_after_a_long_hold_changes_nothing() -> None:
    scene = Scene("app", "app")
    scene.look(a=450, b=450)
    scene.rebalance(("app-0-again", "app", [A]), ("app-1-again", "app", [B]), ("newcomer", "app", []))
    assert (scene.said(A), scene.said(B)) == (HELD, HELD)


def test_where_all_was_read_no_member_has_records_in_hand() -> None:
    scene = Scene("one", old=1_200, end=1_200, held=1.0)
    scene.look(a=1_201)
    assert scene.look(until=2.0).said() == HELD


def test_where_nothing_is_left_to_be_read_nothing_has_to_be_seen() -> None:
    scene = Scene("one", new=1_200)
    scene._end = 1_200
    assert scene.look().said() == HELD
    scene = Scene("one", new=1_200)
    assert scene.look().said() == OPEN


def test_with_no_member_left_a_new_one_begins_at_the_new_offset() -> None:
    scene = Scene("one", session=6.0)
    scene.members = []
    scene.state = "Empty"
    assert scene.look(until=30.0).said() == HELD


def test_the_new_owner_of_an_unowned_partition_begins_at_the_new_offset() -> None:
    """Members of kafka-python take a partition for theirs that nobody was given."""
    scene = Scene(assignor="cooperative-sticky", came_at=-11.95, kept={"two-1-again": [A, B]})
    scene.members = [("one-0-again", "one", []), ("two-1-again", "two", [B])]
    scene.look(b=450).look(until=40.0)
    assert (scene.said(A), scene.said(B)) == (HELD, HELD)
    scene.members = [("one-0-again", "one", [A]), ("two-1-again", "two", [B])]
    assert scene.look().said(A) == OPEN, "it has one who may commit"


def test_a_partition_without_a_commit_stays_open_and_its_owner_is_named() -> None:
    scene = Scene("one").look(until=60.0)
    verdict = scene.judge.verdict(A, scene.now)
    assert verdict.status == OPEN
    assert verdict.awaited is not None
    owner: Any = verdict.awaited.owner
    assert (verdict.awaited.until, owner.client_id) == (None, "one")


def test_the_first_commit_after_a_long_silence_needs_another_one() -> None:
    """Whoever was at work on one batch for that long may have committed just that."""
    scene = Scene("one", pace=0.5).look(until=25.0)
    scene.look(a=1_100)
    assert scene.said() == OPEN
    assert scene.look(a=1_200).said() == HELD
