"""Frames as a broker sees them: requests are read, answers are written, with kcli's own field tables."""

import struct
from dataclasses import dataclass

from kcli.core.errors import ProtocolError
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.api import API_VERSIONS, Request, Response

_HEAD = struct.Struct(">hhi")
_INT32 = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class RequestHeader:
    """What is in front of every request. ``end`` is where its tagged fields or its body begin."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str
    end: int


def read_header(frame: memoryview) -> RequestHeader:
    """The header of a request; ProtocolError for bytes that are none."""
    if len(frame) < _HEAD.size + 2:
        raise ProtocolError(f"a request of {len(frame)} bytes")
    key, version, correlation = _HEAD.unpack_from(frame)
    client, end = codec.read_nullable_string(frame, _HEAD.size)
    return RequestHeader(key, version, correlation, client or "", end)


def decode_request(kind: type[Request], header: RequestHeader, frame: memoryview) -> tuple[Request, int]:
    """The request behind ``header``, and how many bytes are left behind it: brokers do not mind those."""
    flexible = header.version >= kind.flexible
    start = codec.skip_tagged(frame, header.end) if flexible else header.end
    request, end = compiler.decode(kind, frame, start, header.version, flexible=flexible)
    return request, len(frame) - end


def encode_answer(kind: type[Request], answer: Response, version: int, correlation_id: int) -> bytes:
    """The whole frame, its length in front. ApiVersions keeps header v0 in all versions (KIP-511)."""
    flexible = version >= kind.flexible
    body, splices = compiler.encode(answer, version, flexible=flexible)
    return frame_of(kind, b"".join(codec.join_splices(body, splices)), version, correlation_id)


def frame_of(kind: type[Request], body: bytes, version: int, correlation_id: int) -> bytes:
    """A frame around the bytes of an answer."""
    head = _INT32.pack(correlation_id)
    if version >= kind.flexible and kind.api_key != API_VERSIONS:
        head += b"\0"
    return _INT32.pack(len(head) + len(body)) + head + body
