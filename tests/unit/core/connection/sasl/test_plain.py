"""PLAIN: one message."""

import pytest

from kcli.core.connection.sasl.plain import plain, prepare
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from tests.unit.core.connection.sasl.conversing import accepted


def test_user_and_password_are_one_message() -> None:
    exchange = plain("jürgen", Secret("a b=,"))
    assert next(exchange) == b"\0j\xc3\xbcrgen\0a b=,"
    accepted(exchange, b"")


@pytest.mark.parametrize(
    ("user", "password", "what"),
    [
        ("", "x", "sasl.username is not set"),
        ("me", "", "sasl.password is not set"),
        ("m\0e", "hunter2", "sasl.username has a character"),
        ("me", "hunter2\0", "sasl.password has a character"),
        ("me", "hunter2\udcff", "sasl.password has a character"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_without_showing_them(
    user: str, password: str, what: str
) -> None:
    options = ClientOptions(sasl_mechanism="PLAIN", sasl_username=user, sasl_password=Secret(password))
    with pytest.raises(ConfigError, match=what) as caught:
        prepare(options)
    assert "hunter2" not in f"{caught.value.what}{caught.value.why}{caught.value.do}"
