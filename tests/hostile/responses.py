"""Targets: the response to every request, in every version, with its header; and a whole conversation in frames.

The samples are encoded here a second time, field by field, because the product's encoder does not say where it wrote a
length; ``test_samples.py`` holds that both write the same bytes. Not a test.
"""

from collections.abc import Iterator
from functools import cache, partial
from random import Random
from typing import Any

from kcli.core.protocol.api import API_VERSIONS, Request, decode_response
from kcli.core.protocol.schema import BYTES, FIXED, RECORDS, STRING, Array, Field, Struct
from kcli.core.protocol.table import Table
from tests.hostile.mutator import Mark, Sample, mutate, packed, uvarint
from tests.hostile.target import Family, Target
from tests.protocol.tables import requests
from tests.protocol.values import fill

_SAMPLES = 6
_MOST = 600  # bytes of a sample: many small ones find more than a few large ones
_INTEGERS = {"b": "b", "h": "h", "i": "i", "q": "q", "H": "h", "I": "i"}


class Writer:
    """Encodes a struct and notes where its numbers are."""

    def __init__(self, version: int, flexible: bool) -> None:
        self.out = bytearray()
        self.marks: list[Mark] = []
        self._version = version
        self._flexible = flexible

    def sample(self) -> Sample:
        return Sample(bytes(self.out), tuple(self.marks))

    def struct(self, value: Struct) -> None:
        present = [row for row in value.fields if row.present(self._version)]
        for row in present:
            if row.tag is None:
                self._field(row, getattr(value, row.name))
        if self._flexible:
            self._tags([row for row in present if row.tag is not None], value)

    def _tags(self, rows: list[Field], value: Struct) -> None:
        sections = []
        for row in sorted(rows, key=lambda one: one.tag or 0):
            one = getattr(value, row.name)
            if _same(one, row.default_value()):
                continue
            inner = Writer(self._version, True)
            inner._field(row, one)
            sections.append((row.tag or 0, inner))
        self._uvarint(len(sections))
        for tag, inner in sections:
            self._uvarint(tag)
            self._uvarint(len(inner.out))
            self.marks += [Mark(mark.at + len(self.out), mark.kind) for mark in inner.marks]
            self.out += inner.out

    def _field(self, row: Field, value: Any) -> None:
        if isinstance(row.type, Array):
            self._length(value, "i")
            for item in () if value is None else value:
                self._one(row.type.element, item)
        elif isinstance(row.type, type) and row.may_be_null(self._version):
            self._mark("b")
            self.out += b"\xff" if value is None else b"\x01"
            if value is not None:
                self._one(row.type, value)
        else:
            self._one(row.type, value)

    def _one(self, kind: Any, value: Any) -> None:
        if isinstance(kind, type):
            self.struct(value)
        elif kind in FIXED:
            if kind in _INTEGERS:
                self._mark(_INTEGERS[kind])
            self.out += packed(kind, value)
        else:
            data = value
            if kind == STRING:
                data = None if value is None else value.encode()
            elif kind == RECORDS:
                data = None if value is None else b"".join(value)
            assert kind in (STRING, BYTES, RECORDS)
            self._length(data, "h" if kind == STRING else "i")
            self.out += data or b""

    def _length(self, value: Any, kind: str) -> None:
        size = -1 if value is None else len(value)
        if self._flexible:
            self._uvarint(size + 1)
        else:
            self._mark(kind)
            self.out += packed(kind, size)

    def _uvarint(self, value: int) -> None:
        self._mark("u")
        self.out += uvarint(value)

    def _mark(self, kind: str) -> None:
        self.marks.append(Mark(len(self.out), kind))


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, Struct) and isinstance(default, Struct):
        return all(_same(getattr(value, row.name), getattr(default, row.name)) for row in value.fields)
    return bool(value == default)


def body_sample(cls: type[Struct], version: int, flexible: bool, rng: Random) -> Sample:
    """A filled ``cls``; of several tries the first that is not large."""
    for _ in range(20):
        writer = Writer(version, flexible)
        writer.struct(fill(cls, version, rng))
        if len(writer.out) <= _MOST:
            break
    return writer.sample()


@cache
def response_samples(request: type[Request], version: int) -> tuple[Sample, ...]:
    """Frames with their header: the correlation id, and the tagged fields of flexible versions."""
    rng = Random(f"{request.__name__} {version}")
    flexible = version >= request.flexible
    head = Sample(packed("i", 7), ())
    if flexible and request.api_key != API_VERSIONS:
        head = Sample(head.data + b"\0", (Mark(4, "u"),))
    return tuple(after(head, body_sample(request.response, version, flexible, rng)) for _ in range(_SAMPLES))


def after(head: Sample, body: Sample) -> Sample:
    """One behind the other."""
    moved = tuple(Mark(mark.at + len(head.data), mark.kind) for mark in body.marks)
    return Sample(head.data + body.data, head.marks + moved)


def _make(request: type[Request], version: int, rng: Random) -> bytes:
    samples = response_samples(request, version)
    return mutate(rng.choice(samples), rng, samples)


def _run(request: type[Request], version: int, data: bytes) -> None:
    if len(data) >= 4:  # the framing refuses shorter ones
        touch(decode_response(request, version, memoryview(data)))


def touch(value: Any) -> None:
    """Everything that was decoded, including what is only made on access."""
    if isinstance(value, Struct):
        for row in value.fields:
            if not isinstance(row.type, str):
                touch(getattr(value, row.name))
    elif isinstance(value, list | Table):
        for item in value:
            if not isinstance(item, Struct):
                return
            touch(item)


def _every_response() -> Iterator[Target]:
    for request in requests():
        for version in range(request.versions[0], request.versions[1] + 1):
            yield Target(
                f"{request.response.__name__}-v{version}",
                "responses",
                partial(_make, request, version),
                partial(_run, request, version),
            )


def family() -> Family:
    """All of them."""
    return Family("responses", 0.5, tuple(_every_response()))
