"""A library ``gssapi`` without cryptography: its first token says who wants to speak to which service. Not a test.

``installed(monkeypatch)`` puts it in the place of the real one, for clients of a fake cluster; ``make test-kerberos``
tries the real one.
"""

import json
import sys
from enum import IntFlag
from types import ModuleType, SimpleNamespace
from typing import Any


class GSSError(Exception):
    """As in the library."""


class RequirementFlag(IntFlag):
    mutual_authentication = 2
    integrity = 32


class SecurityContext:
    """Established after the broker's token ``AP-REP``."""

    def __init__(self, *, name: str, creds: Any, mech: str, flags: RequirementFlag, usage: str) -> None:
        assert (mech, usage) == ("krb5", "initiate")
        assert flags == RequirementFlag.mutual_authentication | RequirementFlag.integrity
        self._request = {"service": name, **(creds or {"principal": "", "keytab": ""})}
        self.complete = False

    def step(self, token: bytes | None) -> bytes | None:
        if token is None:
            return json.dumps(self._request).encode()
        if token != b"AP-REP":
            raise GSSError("the token is not valid")
        self.complete = True
        return None

    def wrap(self, message: bytes, encrypt: bool) -> SimpleNamespace:
        assert not encrypt
        return SimpleNamespace(message=b"<" + message + b">")

    def unwrap(self, message: bytes) -> SimpleNamespace:
        return SimpleNamespace(message=message[1:-1])


def _credentials(*, name: str, usage: str, store: dict[str, str] | None) -> dict[str, str]:
    assert usage == "initiate"
    return {"principal": name, "keytab": (store or {}).get("client_keytab", "")}


def installed(monkeypatch: Any) -> None:
    """For the duration of a test."""
    module: Any = ModuleType("gssapi")
    module.RequirementFlag = RequirementFlag
    module.NameType = SimpleNamespace(hostbased_service="service", kerberos_principal="principal")
    module.MechType = SimpleNamespace(kerberos="krb5")
    module.Name = lambda name, _kind: name
    module.Credentials = _credentials
    module.SecurityContext = SecurityContext
    module.exceptions = SimpleNamespace(GSSError=GSSError)
    monkeypatch.setitem(sys.modules, "gssapi", module)
