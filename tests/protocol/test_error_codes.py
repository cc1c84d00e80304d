"""Our table of error codes against those of two other clients: kafka-python and librdkafka."""

from typing import Any

import pytest

from kcli.core import error_codes
from kcli.core.error_codes import NUMBERS, error_code

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # kafka-python reads its files the old way

RENAMED_IN_KAFKA_PYTHON = {
    -1: "UNKNOWN",
    0: "NO_ERROR",
    6: "NOT_LEADER_FOR_PARTITION",
    10: "MESSAGE_SIZE_TOO_LARGE",
    17: "INVALID_TOPIC",
    39: "INVALID_REPLICATION_ASSIGNMENT",
}

RENAMED_IN_LIBRDKAFKA = {
    0: "NO_ERROR",
    2: "INVALID_MSG",
    3: "UNKNOWN_TOPIC_OR_PART",
    4: "INVALID_MSG_SIZE",
    6: "NOT_LEADER_FOR_PARTITION",
    10: "MSG_SIZE_TOO_LARGE",
    11: "STALE_CTRL_EPOCH",
    17: "TOPIC_EXCEPTION",
}

ONLY_KAFKA_PYTHON_REFRESHES = {75}
"""UNKNOWN_LEADER_EPOCH: Java's exception is retriable, and not one of invalid metadata: the broker is behind."""

CODES = {number: error_code(number) for number in NUMBERS}


def kafka_python_errors() -> dict[int, Any]:
    from kafka import errors

    found = {}
    for value in vars(errors).values():
        number = getattr(value, "errno", None)
        if isinstance(value, type) and isinstance(number, int) and isinstance(value.message, str):
            found[number] = value
    return found


def librdkafka_names() -> dict[int, str]:
    """librdkafka's own negative codes are not the broker's; −1 is its UNKNOWN."""
    from confluent_kafka import KafkaError

    numbers = {getattr(KafkaError, name): name for name in dir(KafkaError) if name.isupper()}
    return {number: name for number, name in numbers.items() if isinstance(number, int) and number >= 0}


def test_the_oracles_say_something() -> None:
    assert len(kafka_python_errors()) > 80
    assert len(librdkafka_names()) > 100


def test_every_code_of_kafka_python_is_in_the_table_with_its_name() -> None:
    theirs = {number: error.message for number, error in kafka_python_errors().items()}
    ours = {number: CODES[number].name for number in theirs if number in CODES}
    assert {n: name for n, name in theirs.items() if ours.get(n) != name} == RENAMED_IN_KAFKA_PYTHON


def test_every_code_of_librdkafka_is_in_the_table() -> None:
    missing = {number: name for number, name in librdkafka_names().items() if number not in CODES}
    assert missing == {}


def test_names_are_librdkafkas_where_it_did_not_choose_others() -> None:
    theirs = {n: name for n, name in librdkafka_names().items() if n not in RENAMED_IN_LIBRDKAFKA}
    differ = {n: (CODES[n].name, name) for n, name in theirs.items() if CODES[n].name != name}
    assert differ == {}


def test_what_kafka_python_retries_is_retriable() -> None:
    theirs = {number for number, error in kafka_python_errors().items() if error.retriable}
    ours = {number for number, row in CODES.items() if row.retriable}
    assert {n: CODES[n].name for n in theirs - ours} == {}


def test_what_makes_kafka_python_ask_for_metadata_makes_us_ask_too() -> None:
    theirs = {number for number, error in kafka_python_errors().items() if error.invalid_metadata}
    theirs -= ONLY_KAFKA_PYTHON_REFRESHES
    ours = {number for number, row in CODES.items() if row.refresh == "metadata"}
    assert {n: CODES[n].name for n in theirs - ours} == {}


def test_only_retriable_errors_request_a_refresh() -> None:
    assert [row for row in CODES.values() if row.refresh and not row.retriable] == []


def test_numbers_and_names_are_unique() -> None:
    assert len({row.name for row in CODES.values()}) == len(CODES)
    assert sorted(CODES) == list(range(-1, max(CODES) + 1))


@pytest.mark.parametrize(
    "name", [n for n in vars(error_codes) if n.isupper() and isinstance(getattr(error_codes, n), int)]
)
def test_constants_are_the_numbers_of_the_table(name: str) -> None:
    assert error_code(getattr(error_codes, name)).name == name


@pytest.mark.case("B16")
@pytest.mark.parametrize("number", [-32768, -3, 9999])
def test_an_unknown_code_is_shown_by_its_number_and_never_retried(number: int) -> None:
    row = error_code(number)
    assert str(number) in row.name
    assert not row.retriable
    assert row.number == number
