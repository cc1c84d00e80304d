"""What a message shows of itself: no password, token or value of a configuration, in debug lines and tracebacks alike."""

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from kcli.core.protocol import messages
from kcli.core.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kcli.core.protocol.schema import Struct

SECRET = re.compile(r"password|secret|auth_bytes|hmac|token")
CANARY = "canary-9f8e7d"


def structs() -> Iterator[type[Struct]]:
    """All messages and their parts."""
    for module in pkgutil.iter_modules(messages.__path__):
        for found in vars(import_module(f"{messages.__name__}.{module.name}")).values():
            if (
                isinstance(found, type)
                and issubclass(found, Struct)
                and found.__module__.endswith(module.name)
            ):
                yield found


NO_SECRET = {
    "token_id",
    "tokens",
    "token_requester_principal_type",
    "token_requester_principal_name",
}
"""The name of a delegation token, who asked for it, and structs of which only the HMAC is a secret."""
SECRETS = [
    (one, row.name)
    for one in structs()
    for row in one.fields
    if SECRET.search(row.name) and row.name not in NO_SECRET
]


def test_there_are_such_fields() -> None:
    assert {(one.__name__, name) for one, name in SECRETS} >= {
        ("SaslAuthenticateRequest", "auth_bytes"),
        ("ScramCredentialUpsertion", "salted_password"),
        ("DescribedDelegationToken", "hmac"),
    }


@pytest.mark.case("X19")
@pytest.mark.parametrize(("kind", "name"), SECRETS, ids=lambda one: getattr(one, "__name__", one))
def test_a_secret_is_not_shown(kind: type[Struct], name: str) -> None:
    text: Any = CANARY.encode()
    assert CANARY not in repr(kind(**{name: text}))


@pytest.mark.case("X19")
def test_values_of_configurations_are_not_shown() -> None:
    change = AlterableConfig(name="ssl.key.password", config_operation=0, value=CANARY)
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=[change])
    shown = repr(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False))
    assert "ssl.key.password" in shown
    assert CANARY not in shown
