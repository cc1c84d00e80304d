"""Errors: their text, their exit codes, what a caller can tell apart."""

import pytest

from kcli.core import errors
from kcli.core.error_codes import NUMBERS, error_code
from kcli.core.errors import (
    BrokerError,
    ConnectError,
    DamagedFileError,
    KcliError,
    OutcomeUnknownError,
    PartlyFailedError,
    PartlyQueuedError,
    RequestTimeoutError,
    StoppedError,
)

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, KcliError)]


def test_the_text_is_what_and_why() -> None:
    assert str(KcliError("topic t", why="it is gone", do="create it")) == "topic t: it is gone"
    assert str(KcliError("topic t")) == "topic t"


@pytest.mark.parametrize("code", sorted(NUMBERS))
def test_a_broker_error_shows_name_and_number(code: int) -> None:
    error = BrokerError(code, "produce to t-0")
    assert error_code(code).name in str(error)
    assert f"({code})" in str(error)
    assert error.code == code
    assert 1 <= error.exit_code <= 7


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        (1, 5),
        (29, 4),
        (30, 4),
        (31, 4),
        (58, 4),
        (35, 7),
        (36, 7),
        (90, 7),
        (7, 3),
        (100, 5),
        (3, 1),
        (-1, 1),
    ],
)
def test_exit_codes_of_broker_errors(code: int, exit_code: int) -> None:
    assert BrokerError(code, "x").exit_code == exit_code


def test_a_message_of_the_broker_takes_precedence_over_the_table() -> None:
    assert "Topic is marked for deletion" in str(BrokerError(36, "x", message="Topic is marked for deletion"))


@pytest.mark.case("B16")
def test_an_unknown_code_shows_its_number() -> None:
    assert "4242" in str(BrokerError(4242, "x"))


def test_an_unknown_outcome_is_an_error_of_the_connection() -> None:
    assert issubclass(RequestTimeoutError, OutcomeUnknownError)
    assert issubclass(OutcomeUnknownError, ConnectError)


def test_a_damaged_file_is_corrupt_data() -> None:
    error = DamagedFileError("orders-3/0.log", 512, why="its checksum differs")
    assert (error.exit_code, error.position) == (5, 512)
    assert "orders-3/0.log" in str(error)


def test_many_failures_end_with_the_code_of_the_first() -> None:
    error = PartlyFailedError("2 of 3 topics", BrokerError(29, "topic t", do="ask for permission"))
    assert error.exit_code == 4
    assert error.do == "ask for permission"
    assert "TOPIC_AUTHORIZATION_FAILED" in str(error)
    queued = PartlyQueuedError(3, BrokerError(29, "topic t"))
    assert (queued.rows, queued.exit_code) == (3, 4)


@pytest.mark.parametrize(
    "cls",
    [
        c
        for c in CLASSES
        if c not in (BrokerError, DamagedFileError, PartlyFailedError, PartlyQueuedError, StoppedError)
    ],
)
def test_every_class_has_a_legal_exit_code(cls: type[KcliError]) -> None:
    error = cls(87, "what") if issubclass(cls, BrokerError) else cls("what")
    assert 1 <= error.exit_code <= 7
