"""What is suggested for a mistyped name: what was probably meant, and nothing that merely shares letters with it."""

import pytest

from kcli.core.near_names import near_names, typing_errors


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("topcis", "topics", 1), ("max-lagg", "max-lag", 1),
     ("ca", "abc", 3), ("strat", "start", 1), ("count", "context", 4)],
)  # fmt: skip
def test_typing_errors(one: str, other: str, errors: int) -> None:
    assert typing_errors(one, other) == typing_errors(other, one) == errors


@pytest.mark.parametrize(
    ("name", "known"),
    [("topcis", "topics"), ("lst", "list"), ("max-lagg", "max-lag"), ("max_messages", "max-messages"),
     ("frombeginning", "from-beginning"), ("part", "partitions"), ("strng", "str"), ("nobody", "nobodies"),
     ("tt", "t"), ("p98", "p99")],
)  # fmt: skip
def test_mistyped_and_shortened_names_are_near(name: str, known: str) -> None:
    assert near_names(name, ["unrelated", known]) == [known]


@pytest.mark.parametrize(
    ("name", "known"),
    [("count", "context"), ("limit", "delimiter"), ("bogus", "verbose"), ("start", "status"), ("list", "logs"),
     ("a", "b"), ("x", "exit"), ("to", "topic"), ("view", "show")],
)  # fmt: skip
def test_names_that_share_letters_are_not_near(name: str, known: str) -> None:
    assert near_names(name, [known]) == []


def test_the_nearest_come_first_and_not_more_than_asked_for() -> None:
    known = ["orders-eu-archive", "orders-eu", "orders", "orders-us", "payments"]
    assert near_names("order", known, 3)[0] == "orders"
    assert len(near_names("order", known, 3)) == 3
    assert "payments" not in near_names("order", known, 9)
