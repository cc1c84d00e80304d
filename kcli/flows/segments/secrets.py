"""Hides the secrets in records of the metadata log: keys of SCRAM, and values of sensitive configurations. Pure."""

from collections.abc import Mapping
from typing import Any

from kcli.core.errors import ProtocolError
from kcli.core.offline.configs import SECRET_NAMES
from kcli.core.protocol.stored.metadata_records import ConfigRecord, UserScramCredentialRecord
from kcli.core.protocol.stored.reading import struct_of
from kcli.core.types import Record

HIDDEN = "(hidden)"
_SCRAM = ("salt", "stored_key", "storedKey", "server_key", "serverKey")
_FRAME = b"\1"  # a record of the metadata log begins with it, then its type and its version
_WITH_SECRETS: dict[bytes, type[ConfigRecord | UserScramCredentialRecord]] = {
    b"\4\0": ConfigRecord,
    b"\x0b\0": UserScramCredentialRecord,
}


def is_secret(record: Record) -> bool:
    """Whether a record is one of the metadata log with a secret, whatever the folder that it is in is called."""
    value = record.value
    if record.key is not None or value is None or value[:1] != _FRAME:
        return False
    cls: type[ConfigRecord | UserScramCredentialRecord] | None = _WITH_SECRETS.get(bytes(value[1:3]))
    if cls is None:
        return False
    try:
        found = struct_of(cls, value, 3, 0, 0)
    except ProtocolError:
        return False
    return not isinstance(found, ConfigRecord) or SECRET_NAMES.search(found.name) is not None


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
