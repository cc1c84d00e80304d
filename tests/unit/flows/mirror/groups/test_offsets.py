"""What becomes of a committed offset: exact or none, never past the end, and never over what others have committed."""

import itertools
import random

import pytest

from kcli.account.outcomes import Outcome
from kcli.core.error_codes import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_MEMBER_ID
from kcli.core.errors import BrokerError, KcliError, RequestTimeoutError
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.mirror.copy.offset_map import OffsetMap
from kcli.flows.mirror.groups.offsets import (
    GroupsAccount,
    Mapped,
    SyncedOffset,
    Verdict,
    decide,
    remembered,
    settle,
)
from kcli.flows.mirror.job.state import GroupCommit

PLANNED, UNCHANGED, REFUSED, MISSING = (
    Outcome.PLANNED,
    Outcome.UNCHANGED,
    Outcome.REFUSED,
    Outcome.MISSING,
)
DONE, FAILED, UNKNOWN = Outcome.DONE, Outcome.FAILED, Outcome.UNKNOWN
COPY = TopicPartition("copy", 0)
LOST, DENIED = RequestTimeoutError("no answer"), BrokerError(TOPIC_AUTHORIZATION_FAILED, "committing")


def mapped() -> Mapped:
    """10 to 19 are at 100 on, 25 to 29 at 111 on; copied up to 40."""
    offsets = OffsetMap(10, 100)
    offsets.append(10, 100, 10)
    offsets.append(25, 111, 5)
    offsets.advance(40)
    return Mapped(COPY, offsets)


def made(*offsets: int) -> GroupCommit:
    return GroupCommit(15, "", offsets, 1)


@pytest.mark.parametrize(
    ("offset", "target", "status", "why"),
    [
        (10, 100, PLANNED, ""),
        (15, 105, PLANNED, ""),
        (20, 111, PLANNED, ""),
        (22, 111, PLANNED, ""),
        (30, 116, PLANNED, ""),
        (40, 116, PLANNED, ""),
        (0, None, REFUSED, "the mirror began at offset 10, and what is before it was not copied"),
        (9, None, REFUSED, "the mirror began at offset 10, and what is before it was not copied"),
        (41, None, MISSING, "copied so far: up to offset 40"),
    ],
)
def test_translation(offset: int, target: int | None, status: Outcome, why: str) -> None:
    found = decide(offset, mapped(), 0, None, None)
    assert (found.offset, found.status, found.why) == (target, status, why)


def test_an_offset_past_the_end_of_the_source_is_not_waited_for() -> None:
    found = decide(41, mapped()._replace(source_end=40), 0, None, None)
    assert (found.status, found.do) == (MISSING, "")
    assert found.why == "all is copied up to offset 40, the end of the source when it was seen last"
    assert decide(41, mapped()._replace(source_end=50), 0, None, None).do


def test_by_key_nothing_corresponds() -> None:
    found = decide(15, Mapped(COPY, None), 0, None, None)
    assert (found.status, found.why) == (REFUSED, "its records went to partitions by key")


LATER, MOVED = "which is later", "its consumers have moved over"


@pytest.mark.parametrize(
    ("there", "known", "status", "why"),
    [
        # nothing is committed on the target: never, or deleted, or expired
        (None, None, PLANNED, ""),
        (None, made(), PLANNED, ""),
        (None, made(105), PLANNED, ""),
        # it is where it should be, whoever committed it
        (105, None, UNCHANGED, "committed already"),
        (105, made(105), UNCHANGED, "committed already"),
        (105, made(103), UNCHANGED, "committed already"),
        # by somebody, and the job has no record: forward only
        (104, None, PLANNED, ""),
        (104, made(), PLANNED, ""),
        (106, None, UNCHANGED, LATER),
        (106, made(), UNCHANGED, LATER),
        # by the job: forward, and backward where the group was rewound on the source
        (103, made(103), PLANNED, ""),
        (109, made(109), PLANNED, ""),
        # a commit after which the run was killed, or whose answer was lost: the one before may still be there
        (101, made(101, 103), PLANNED, ""),
        (103, made(101, 103), PLANNED, ""),
        (109, made(109, 111), PLANNED, ""),
        # by its consumers: they are further, and the source has not been rewound
        (106, made(105), UNCHANGED, LATER),
        (106, made(103), UNCHANGED, LATER),
        (116, made(101, 105), UNCHANGED, LATER),
        # by its consumers, while the group was rewound on the source, or on the target
        (112, made(109), REFUSED, MOVED),
        (106, made(109), REFUSED, MOVED),
        (104, made(105), REFUSED, MOVED),
        # the same, where the commit after the rewind was refused, or nothing is known of it
        (112, made(109, 105), REFUSED, MOVED),
        (104, made(109), REFUSED, MOVED),
        (102, made(101, 103), REFUSED, MOVED),
        (104, made(103), REFUSED, MOVED),
    ],
)
def test_what_is_committed_on_the_target(
    there: int | None, known: GroupCommit | None, status: Outcome, why: str
) -> None:
    """The translation is 105."""
    found = decide(15, mapped(), 0, there, known)
    assert (found.offset, found.status) == (105, status)
    assert why in found.why
    assert bool(found.why) == (status is not PLANNED)


@pytest.mark.parametrize(("there", "known"), [(None, None), (105, None), (103, made(103)), (106, made(103))])
def test_an_offset_that_the_target_has_removed_is_refused(
    there: int | None, known: GroupCommit | None
) -> None:
    assert decide(15, mapped(), 105, there, known).status is not REFUSED
    found = decide(15, mapped(), 106, there, known)
    assert (found.status, found.why) == (
        REFUSED,
        "offset 105 was removed on the target: its log begins at 106",
    )


def test_no_commit_but_one_of_the_jobs_own_is_ever_moved_where_the_job_has_a_record() -> None:
    for there, *own in itertools.product(range(99, 118), repeat=3):
        for offset in (10, 15, 22, 40):
            found = decide(offset, mapped(), 0, there, made(*own))
            assert (found.status is PLANNED) == (there in own and there != found.offset)


@pytest.mark.parametrize(
    ("verdict", "there", "known", "expected"),
    [
        (Verdict(PLANNED, 105), None, None, (105,)),
        (Verdict(PLANNED, 105), 103, None, (103, 105)),
        (Verdict(PLANNED, 105), 103, made(101, 103), (103, 105)),
        (Verdict(PLANNED, 105), 101, made(101, 103), (101, 105)),
        (Verdict(UNCHANGED, 105), 105, None, (105,)),
        (Verdict(UNCHANGED, 105), 105, made(101, 105), (105,)),
        (Verdict(UNCHANGED, 105), 105, made(105), (105,)),
        (Verdict(UNCHANGED, 105), 105, made(103), (103,)),
        (Verdict(UNCHANGED, 105), 106, None, ()),
        (Verdict(REFUSED, 105), 104, made(103), (103,)),
        (Verdict(MISSING), None, made(103), (103,)),
        (Verdict(FAILED, 105), None, None, ()),
    ],
)
def test_what_is_remembered(
    verdict: Verdict, there: int | None, known: GroupCommit | None, expected: tuple[int, ...]
) -> None:
    new = remembered(OffsetAndMetadata(17, "note"), verdict, there, known, 9)
    assert (new.source_offset, new.metadata, new.made) == (17, "note", expected)
    assert new.made_ms == (
        9 if expected and (known is None or expected != known.made) else 1 if known else -1
    )


def test_a_kill_before_or_after_the_commit_leaves_an_offset_that_is_recognised() -> None:
    """Over a thousand syncs of a group that moves both ways; its consumers never commit on the target."""
    rng, offsets = random.Random(5), mapped()
    there, known = None, None
    for _ in range(1_000):
        seen = OffsetAndMetadata(rng.randrange(10, 41))
        verdict = decide(seen.offset, offsets, 0, there, known)
        assert verdict.status in (PLANNED, UNCHANGED), (there, known)
        if rng.random() < 0.2:
            continue  # killed before anything is written
        known = remembered(seen, verdict, there, known, 1)
        if verdict.status is PLANNED and rng.random() < 0.6:
            there = verdict.offset


@pytest.mark.parametrize(
    ("answer", "back", "status", "why"),
    [
        (None, OffsetAndMetadata(105), DONE, ""),
        (None, OffsetAndMetadata(107), DONE, "the group has committed offset 107 since"),
        (None, OffsetAndMetadata(101), FAILED, "offset 101 was read back"),
        (None, None, FAILED, "no offset was read back"),
        (None, LOST, UNKNOWN, "no answer"),
        (LOST, OffsetAndMetadata(105), DONE, ""),
        (LOST, OffsetAndMetadata(101), UNKNOWN, "no answer; offset 101 was read back"),
        (LOST, OffsetAndMetadata(107), UNKNOWN, "no answer; offset 107 was read back"),
        (LOST, None, UNKNOWN, "no answer; no offset was read back"),
        (LOST, LOST, UNKNOWN, "no answer"),
        (DENIED, None, FAILED, str(DENIED)),
        (BrokerError(UNKNOWN_MEMBER_ID, "committing"), None, REFUSED, "the group has members on the target"),
    ],
)
def test_what_became_of_a_commit(
    answer: KcliError | None, back: OffsetAndMetadata | KcliError | None, status: Outcome, why: str
) -> None:
    found = settle(Verdict(PLANNED, 105), answer, back)
    assert (found.status, found.offset) == (status, 105)
    assert found.why.startswith(why)
    assert bool(found.why) == bool(why)


def test_the_text_of_an_account() -> None:
    def some(**counts: int) -> str:
        kinds = [Outcome(name) for name, count in counts.items() for _ in range(count)]
        return GroupsAccount([SyncedOffset("g", None, None, None, Verdict(kind)) for kind in kinds], ()).text

    assert some(done=12, refused=2) == "12 of 14 committed offsets set, 2 refused"
    assert some(unchanged=1) == "0 of 1 committed offset set, 1 unchanged"
    assert (
        some(done=1, missing=1, failed=1, unknown=1)
        == "1 of 4 committed offsets set, 1 missing, 1 failed, 1 unknown"
    )


def test_a_thousand_offsets_over_holes_on_both_sides_are_exact_or_unknown() -> None:
    rng = random.Random(7)
    offsets, pairs = OffsetMap(50, 7), []
    source, target = 50, 7
    for _ in range(400):
        source, target = source + rng.choice((0, 0, 1, 9)), target + rng.choice((0, 0, 1, 2))
        length = rng.randrange(1, 6)
        offsets.append(source, target, length)
        pairs += [(source + index, target + index) for index in range(length)]
        source, target = source + length, target + length
    for _ in range(1000):
        offset = rng.randrange(0, source + 50)
        found = decide(offset, Mapped(COPY, offsets), 0, None, None)
        following = [t for s, t in pairs if s >= offset]
        if 50 <= offset <= source:
            assert found.offset == (following[0] if following else target)
        else:
            assert (found.status, found.offset) == (REFUSED if offset < 50 else MISSING, None)
