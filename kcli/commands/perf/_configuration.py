"""What a report says of the configuration of its test: client options that were set or matter, no secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from kcli.commands.shared.context import Invocation
from kcli.core.options import ClientOptions, key_of

_LONG = "ssl_certificate_pem"  # a text of many lines


def client_configuration(
    inv: Invocation, options: ClientOptions, matter: Sequence[str], test: Mapping[str, Any]
) -> dict[str, Any]:
    """``matter``: fields that are listed in any case. ``test``: flags of the test, by their names; None: not given."""
    given = [name for name in inv.resolved.values if hasattr(options, name)]
    known = {one.name for one in fields(options) if not one.metadata.get("secret")} - {_LONG}
    found = {key_of(name): getattr(options, name) for name in sorted({*matter, *given} & known)}
    return {**found, **{name: value for name, value in test.items() if value is not None}}
