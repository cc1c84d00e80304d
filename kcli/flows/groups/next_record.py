"""The next record of a group in a partition: what it looks like, and whether it can be decoded. Pure.

A consumer that stops at one record mostly stops at one that it cannot decode (a poison record). Which serde it uses, only
its program knows: it is said where the record does not look like the one before, or fails with a serde that is given.
"""

from __future__ import annotations

import json

from kcli.core.classes import NamedTuple
from kcli.core.types import Record
from kcli.serde.errors import DecodeError
from kcli.serde.opening import Serdes
from kcli.serde.serde import Serde, SerdeContext

NULL, EMPTY, JSON, TEXT, BYTES, SCHEMA = "null", "empty", "json", "text", "bytes", "schema"
_PREFIX = 5
"""Bytes of the header of a schema registry: 0, and the id of the schema."""


class NextRecord(NamedTuple):
    """``looks``: see ``looks_of``. ``decodable``: by the serdes that were given; None without any. ``trouble``: why it
    cannot be decoded, or in what it differs from the record before; empty where nothing is to be said.
    """

    offset: int
    timestamp: int
    key: bytes | None
    size: int
    looks: str
    decodable: bool | None
    trouble: str


def next_record(record: Record, before: Record | None, serdes: Serdes | None) -> NextRecord:
    """``before``: the record that was read last, None if there is none any more."""
    size = len(record.key or b"") + len(record.value or b"")
    looks = looks_of(record.value)
    decodable, trouble = None, ""
    if serdes is not None and (serdes.key or serdes.value):
        trouble = _failure(serdes.key, "key", record) or _failure(serdes.value, "value", record)
        decodable = not trouble
    if not trouble and before is not None and differs(looks, looks_of(before.value)):
        trouble = f"it is {looks}, and the record before it is {looks_of(before.value)}"
    return NextRecord(record.offset, record.timestamp, record.key, size, looks, decodable, trouble)


def looks_of(value: bytes | None) -> str:
    """``null``, ``empty``, ``json``, ``text`` (UTF-8), ``schema`` (the header of a schema registry) or ``bytes``."""
    if value is None:
        return NULL
    if not value:
        return EMPTY
    if len(value) > _PREFIX and value[0] == 0:
        return SCHEMA
    try:
        text = bytes(value).decode()
    except UnicodeDecodeError:
        return BYTES
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return TEXT
    return JSON


def differs(looks: str, before: str) -> bool:
    """Whether a consumer that decodes the one may fail with the other; text may happen to be JSON."""
    return looks != before and (looks, before) != (JSON, TEXT) and looks != NULL


def _failure(serde: Serde | None, part: str, record: Record) -> str:
    data = record.key if part == "key" else record.value
    if serde is None or data is None:
        return ""
    try:
        serde.decode(data, SerdeContext(record.topic, part, tuple(record.headers), record.key))
    except DecodeError as error:
        return f"its {part} cannot be decoded: {error}"
    return ""
