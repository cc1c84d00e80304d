"""Values of configuration keys mean the same to brokers although they are written differently."""

import pytest

from kcli.flows.config_values import same_value


@pytest.mark.parametrize(
    ("kind", "value", "other", "same"),
    [
        ("double", "0.5", "0.50", True),
        ("long", "1000", "01000", True),
        ("long", "1000", "1_000", False),
        ("long", "1000", "1001", False),
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
