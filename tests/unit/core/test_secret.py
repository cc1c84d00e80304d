"""A Secret shows itself only to ``reveal``."""

import copy
import dataclasses
import json
import logging
import pickle

import pytest

from kcli.core.secret import Secret

CANARY = "c4n4ry"


def test_reveal_returns_the_text() -> None:
    assert Secret(CANARY).reveal() == CANARY


@dataclasses.dataclass
class _Options:
    password: Secret


@pytest.mark.case("X17")
@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        "{}".format,
        "{!r}".format,
        "%s".__mod__,
        lambda s: str([s, {"k": s}]),
        lambda s: logging.LogRecord("", 0, "", 0, "%s %r", (s, s), None).getMessage(),
    ],
)
def test_nothing_that_shows_it_contains_the_text(show) -> None:  # type: ignore[no-untyped-def]
    assert CANARY not in show(Secret(CANARY))
    assert CANARY not in show(_Options(Secret(CANARY)))


@pytest.mark.case("X17")
@pytest.mark.parametrize("write", [json.dumps, pickle.dumps, copy.deepcopy])
def test_it_cannot_be_written(write) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError) as caught:
        write({"password": Secret(CANARY)})
    assert CANARY not in str(caught.value)


def test_an_empty_one_is_false_and_equal_ones_are_equal() -> None:
    assert not Secret("")
    assert Secret(CANARY)
    assert Secret(CANARY) == Secret(CANARY)
    assert Secret(CANARY) != CANARY
    assert len({Secret(CANARY), Secret(CANARY)}) == 1
