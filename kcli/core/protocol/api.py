"""Requests and responses: which API a message belongs to, its versions, its headers (KIP-482).

A response is read with the version of its request; ApiVersions responses always have header v0, so that a client can
read the rejection of an unsupported version (KIP-511).
"""

import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from kcli.core.errors import ProtocolError, UnsupportedError
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.codec import Buffer
from kcli.core.protocol.schema import Struct

R = TypeVar("R", bound="Response")

Decode = Callable[..., tuple[Any, int]]
"""As ``compiler.decode``."""

API_VERSIONS = 18
_METADATA, _VOTE = 3, 52
"""Of every broker, and of every controller."""
_WRITES = frozenset((0, 8, 11, 19, 22))
"""Produce, OffsetCommit, JoinGroup, CreateTopics and InitProducerId: log directories offer none of them."""

_HEADER = struct.Struct(">ihhi")
"""Size, API, version, correlation id."""


class Releasable(Protocol):
    """A receive buffer that can be reused."""

    def lend(self, most: int) -> bool: ...

    def release(self) -> None: ...


class Response(Struct):
    """The base of all responses. Byte fields are views into its frame, valid until ``release``."""

    _frame: ClassVar[Releasable | None] = None

    def attach(self, frame: Releasable) -> None:
        """Sets the receive buffer that the byte fields refer to."""
        self.__dict__["_frame"] = frame

    def lend(self, most: int) -> bool:
        """Whether views into this response may be read after ``release`` as well, of ``most`` lent bytes at most."""
        return self._frame is not None and self._frame.lend(most)

    def release(self) -> None:
        """Releases the buffer: views into this response must not be read any more, unless they are lent."""
        if self._frame is not None:
            self._frame.release()


class Request(Struct):
    """The base of all requests. Class options: ``key``, ``versions`` (first, last), ``flexible`` (from), ``no_news``.

    ``no_news``: a version that differs from the one before in its form only (KIP-482). It is not used: librdkafka's mock
    cluster, whose newest version it is, closes the connection.
    """

    api_key: ClassVar[int]
    api_name: ClassVar[str]
    versions: ClassVar[tuple[int, int]]
    flexible: ClassVar[int]
    no_news: ClassVar[int]
    response: ClassVar[type[Response]]

    def __init_subclass__(
        cls,
        *,
        key: int = -1,
        versions: tuple[int, int] = (0, 0),
        flexible: int = 0x7FFF,
        no_news: int = -1,
        response: type[Response] = Response,
        **options: Any,
    ) -> None:
        super().__init_subclass__(**options)
        cls.no_news = no_news
        cls.api_key, cls.versions, cls.flexible, cls.response = key, versions, flexible, response
        cls.api_name = cls.__name__.removesuffix("Request")

    decoder: ClassVar[Decode] = staticmethod(compiler.decode)

    def decode_with(self, decoder: Decode) -> None:
        """Has the body of the response decoded by another one, which takes what the compiled one does."""
        self.__dict__["decoder"] = decoder

    version_cap: ClassVar[int] = 0x7FFF

    def cap_version(self, highest: int) -> None:
        """Limits the version of this request because of its content (e.g. topics without ids)."""
        self.__dict__["version_cap"] = min(highest, self.version_cap)

    version_floor: ClassVar[int] = 0

    def require_version(self, lowest: int) -> None:
        """Requires a minimum version for this request: older ones would omit essential fields."""
        self.__dict__["version_floor"] = lowest

    @property
    def expects_response(self) -> bool:
        """False only for Produce with acks=0."""
        return True


def choose_version(
    request: type[Request],
    offered: Mapping[int, tuple[int, int]],
    where: object,
    *,
    highest: int = 0x7FFF,
    lowest: int = 0,
) -> int:
    """The newest version that both sides support, or the one before it if that says the same; UnsupportedError names the
    API and both ranges.
    """
    ours = request.versions
    theirs = offered.get(request.api_key)
    if theirs is None:
        is_controller = _METADATA not in offered and _VOTE in offered
        if _METADATA in offered and not offered.keys() & _WRITES:
            raise UnsupportedError(
                f"{where} does not offer {request.api_name}",
                why="log directories are only read",
                do="name brokers: -b HOST:PORT, or another profile",
            )
        raise UnsupportedError(
            f"{where} does not offer {request.api_name}",
            why="it is a controller, and only brokers do"
            if is_controller
            else "the broker is too old, or it is switched off",
            do="name a broker: -b HOST:PORT" if is_controller else "",
        )
    version = min(ours[1], theirs[1], highest)
    if version < ours[0] or version < theirs[0]:
        raise UnsupportedError(
            f"{where} and kcli share no version of {request.api_name}",
            why=f"the broker offers {theirs[0]} to {theirs[1]}, kcli knows {ours[0]} to {ours[1]}",
        )
    if version < lowest:
        raise UnsupportedError(
            f"{where} cannot do what this {request.api_name} requests",
            why=f"the broker offers {theirs[0]} to {theirs[1]}, version {lowest} is needed",
        )
    if version == request.no_news and max(ours[0], theirs[0], lowest) < version:
        return version - 1
    return version


def encode_request(request: Request, version: int, correlation_id: int, client_id: str) -> list[Buffer]:
    """The whole frame, prefixed with its length, as buffers to be sent in order."""
    flexible = version >= request.flexible
    head = bytearray(_head(flexible, client_id))
    frame, splices = compiler.encode(request, version, flexible=flexible, head=head)
    size = len(frame)
    for _, buffers in splices:
        size += sum(map(len, buffers))
    _HEADER.pack_into(frame, 0, size - 4, request.api_key, version, correlation_id)
    return codec.join_splices(frame, splices)


@functools.lru_cache(8)
def _head(flexible: bool, client_id: str) -> bytes:
    """The header of a request; its numbers are 0."""
    head = bytearray(_HEADER.size)
    codec.write_string(head, client_id)
    return bytes(head + b"\0" if flexible else head)


_NO_TAGS = b"\0"
"""An empty section of tagged fields. A second one is ignored: librdkafka's mock cluster ends Metadata v13 with two."""


def decode_response(
    request: type[Request], version: int, frame: memoryview, decode: Decode = compiler.decode
) -> Response:
    """The response in ``frame``, which starts with the correlation id (already checked by the connection)."""
    pos, flexible = _behind_header(request, version, frame), version >= request.flexible
    response: Response
    response, end = decode(request.response, frame, pos, version, flexible=flexible)
    if end != len(frame) and not (flexible and frame[end:] == _NO_TAGS):
        raise ProtocolError(
            f"malformed response: {len(frame) - end} extra bytes after {request.api_name} v{version}",
            why="the response is longer than its content",
        )
    return response


def leading_error_code(request: type[Request], version: int, frame: memoryview) -> int:
    """The code of a response that begins with one, whatever follows it; 0 if there is none."""
    pos = _behind_header(request, version, frame)
    starts_with_it = request.response.fields[0].name == "error_code" and len(frame) >= pos + 2
    return int.from_bytes(frame[pos : pos + 2], "big", signed=True) if starts_with_it else 0


def _behind_header(request: type[Request], version: int, frame: memoryview) -> int:
    """Responses to ApiVersions have no tagged fields in their header (KIP-511)."""
    if version < request.flexible or request.api_key == API_VERSIONS:
        return 4
    try:
        return codec.skip_tagged(frame, 4) if frame[4] else 5
    except IndexError:
        raise ProtocolError(f"malformed response: {request.api_name} v{version} ends in its header") from None
