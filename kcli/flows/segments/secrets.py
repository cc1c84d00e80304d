"""Hides the secrets in records of the metadata log: keys of SCRAM, and values of sensitive configurations. Pure."""

from collections.abc import Mapping
from typing import Any

from kcli.core.offline.configs import SECRET_NAMES

HIDDEN = "(hidden)"
_SCRAM = ("salt", "stored_key", "storedKey", "server_key", "serverKey")


def without_secrets(value: Any) -> Any:
    """What the serde of the metadata log has made of a value, without secrets; also without what has no table."""
    if not isinstance(value, Mapping):
        return value
    if value.get("data_encoding") == "base64":
        return {**value, "data": HIDDEN, "data_encoding": None}
    name, data = value.get("name"), dict(value["data"])
    if name == "UserScramCredential":
        data.update((key, HIDDEN) for key in _SCRAM if data.get(key) is not None)
    elif name == "Config" and data.get("value") is not None and SECRET_NAMES.search(str(data.get("name"))):
        data["value"] = HIDDEN
    return {**value, "data": data}
