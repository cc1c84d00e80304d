"""Values of configuration keys mean the same to brokers although they are written differently."""

import pytest

from kcli.flows.configs.values import is_valid, is_written_alike, same_value


@pytest.mark.parametrize(
    ("kind", "value", "other", "same"),
    [
        ("double", "0.5", "0.50", True),
        ("long", "1000", "01000", True),
        ("long", "1000", "1_000", False),
        ("long", "1000", "1001", False),
        ("int", "1000", " +1000 ", True),
        ("short", "-1", "-01", True),
        ("long", "9223372036854775807", "9223372036854775806", False),
        ("double", "0.5", ".5", True),
        ("double", "5.0", "5.", True),
        ("double", "0.5", " 0.5d ", True),
        ("double", "0.5", "0.5f", True),
        ("double", "1.0E-7", "0.0000001", True),
        ("double", "0.12345678901234568", "0.1234567890123456789", True),
        ("double", "Infinity", "1.7E3080", True),
        ("double", "0.5", "0.6", False),
        ("boolean", "true", "TRUE", True),
        ("boolean", "true", "false", False),
        ("string", "1.0", "1.00", False),
        ("string", "gzip", " gzip ", True),
        ("list", "a,b", "b, a", True),
        ("list", "a,b", "a", False),
        ("", "0.5", "0.50", True),
        ("", None, "x", False),
    ],
)
def test_values_are_compared_as_brokers_do(kind: str, value: str | None, other: str, same: bool) -> None:
    assert same_value(kind, value, other) is same


@pytest.mark.parametrize(
    ("value", "other", "alike"),
    [
        ("SASL_SSL", "sasl_ssl", True),
        ("A:PLAINTEXT,B:SSL", " a:plaintext, b:ssl ", True),
        ("A:SSL", "A:PLAINTEXT", False),
    ],
)
def test_texts_that_differ_in_case_and_blanks_only(value: str, other: str, alike: bool) -> None:
    assert is_written_alike(value, other) is alike


@pytest.mark.parametrize(
    ("kind", "value", "valid"),
    [
        ("boolean", " TRUE ", True),
        ("boolean", "yes", False),
        ("int", " 007", True),
        ("short", "1.0", False),
        ("long", "1h", False),
        ("double", ".5d", True),
        ("double", "half", False),
        ("string", "x", True),
        ("list", "", True),
        ("", "x", True),
    ],
)
def test_what_no_broker_can_read(kind: str, value: str, valid: bool) -> None:
    assert is_valid(kind, value) is valid
