"""The broker's side of an exchange, step by step. Not a test."""

from typing import Any

import pytest

from kcli.core.connection.sasl.exchange import Exchange, ExchangeError
from kcli.core.connection.steps import Compute


def computed(step: Any) -> Any:
    """The result of a ``Compute``."""
    assert isinstance(step, Compute)
    return step.fn()


def refused(exchange: Exchange, message: bytes) -> ExchangeError:
    """Why the client ends the conversation after a message of the broker."""
    with pytest.raises(ExchangeError) as caught:
        exchange.send(message)
    return caught.value


def accepted(exchange: Exchange, message: bytes) -> None:
    """The message ends the conversation well."""
    with pytest.raises(StopIteration):
        exchange.send(message)
