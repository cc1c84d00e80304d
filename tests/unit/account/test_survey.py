"""What is missing: named by the part where that is known, with the place and the code of its error."""

from kcli.account.survey import Missing, Survey
from kcli.core.cluster.metadata import PartitionView, no_coordinator
from kcli.core.errors import AuthError, ConnectError, KcliError


def test_a_part_is_named_by_the_error_else_by_who_asked_else_by_what_failed() -> None:
    error = ConnectError("listing the groups of broker 2: gave up", why="no response")
    assert Missing.of(error).what == "listing the groups of broker 2: gave up"
    assert Missing.of(error, "group g").what == "group g"
    error.part, error.place = "the groups of broker 2", "broker 2"
    assert Missing.of(error, "group g").entry() == {
        "what": "the groups of broker 2",
        "where": "broker 2",
        "why": "no response",
        "code": 3,
    }


def test_a_place_that_is_not_known_is_null_and_a_cause_that_is_not_known_what_failed() -> None:
    assert Missing.of(KcliError("it failed"), "a thing").entry() == {
        "what": "a thing", "where": None, "why": "it failed", "code": 1,
    }  # fmt: skip
    assert Missing.of(AuthError("x")).code == 4


def test_coordinators_without_a_leader_are_a_place() -> None:
    parts = [PartitionView(17, -1, 0, (1, 2), (), (2,)), PartitionView(20, -1, 0, (2,), (), (2,))]
    error = no_coordinator("groups", "__consumer_offsets", parts, 50)
    assert Missing.of(error).entry() == {
        "what": "groups of 2 of 50 partitions of __consumer_offsets",
        "where": "__consumer_offsets-17,20",
        "why": "no leader: broker 2 is down",
        "code": 3,
    }


def test_a_survey_is_complete_if_nothing_is_missing() -> None:
    assert Survey([1]).complete
    assert not Survey([1], [Missing.of(KcliError("x"))]).complete
