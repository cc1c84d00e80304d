"""Whole frames taken apart and put together again, through kcli's tables. Pure.

A frame's bytes start with its length, as they were on the wire.
"""

import struct
from typing import Any, cast

from kcli.core.protocol import codec, compiler
from kcli.core.protocol.api import Request, Response, decode_response
from kcli.core.protocol.messages.fetch import FetchResponse
from kcli.core.protocol.messages.produce import ProduceRequest, ProduceResponse
from kcli.core.records.batch import HEADER, HEADER_SIZE
from tests.proxy.exchange import BatchHead
from tests.proxy.tables import KNOWN

REQUEST_HEAD = struct.Struct(">ihhi")
ANSWER_HEAD = struct.Struct(">ii")
_SIZE = struct.Struct(">i")
_TRANSACTIONAL = 0x10


def read_request(api: int, version: int, data: bytearray) -> Request:
    """The body of a request whose API is in KNOWN."""
    table = _table(api, version)
    flexible = version >= table.flexible
    view = memoryview(data)
    _, pos = codec.read_nullable_string(view, REQUEST_HEAD.size)
    if flexible:
        pos = codec.skip_tagged(view, pos)
    body, _ = compiler.decode(table, view, pos, version, flexible=flexible)
    return body


def batch_heads(request: ProduceRequest, names: dict[bytes, str]) -> tuple[BatchHead, ...]:
    """The header of each partition's batch; ``names`` are topics by id."""
    heads = []
    for topic in request.topic_data:
        name = topic.name or names.get(topic.topic_id, topic.topic_id.hex())
        for part in topic.partition_data:
            records = cast("memoryview | None", part.records)
            if records is None or len(records) < HEADER_SIZE:
                continue
            (_, _, _, _, crc, attributes, _, _, _, producer_id, epoch, sequence, count) = HEADER.unpack_from(
                records
            )
            heads.append(
                BatchHead(
                    topic=name,
                    partition=part.index,
                    producer_id=producer_id,
                    epoch=epoch,
                    base_sequence=sequence,
                    count=count,
                    codec=attributes & 7,
                    transactional=bool(attributes & _TRANSACTIONAL),
                    crc=crc,
                    size=len(records),
                )
            )
    return tuple(heads)


def read_answer(api: int, version: int, data: bytearray) -> Response:
    """The body of an answer whose API is in KNOWN; its byte fields look into ``data``."""
    return decode_response(_table(api, version), version, memoryview(data)[4:])


def write_answer(api: int, version: int, correlation_id: int, answer: Response) -> bytearray:
    """The frame of an answer, with its length in front."""
    flexible = version >= KNOWN[api].flexible
    if isinstance(answer, FetchResponse):
        _make_encodable(answer)
    body, splices = compiler.encode(answer, version, flexible=flexible)
    head = ANSWER_HEAD.pack(0, correlation_id) + (b"\0" if flexible else b"")  # no tagged fields
    out = bytearray().join([head, *codec.join_splices(body, splices)])
    out[:4] = _SIZE.pack(len(out) - 4)
    return out


def errors_of(answer: ProduceResponse, names: dict[bytes, str]) -> dict[tuple[str, int], int]:
    """Error code by topic and partition."""
    return {
        (topic.name or names.get(topic.topic_id, topic.topic_id.hex()), part.index): part.error_code
        for topic in answer.responses
        for part in topic.partition_responses
    }


def _table(api: int, version: int) -> type[Request]:
    table = KNOWN[api]
    if not table.versions[0] <= version <= table.versions[1]:
        raise LookupError(f"kcli has no table of {table.api_name} v{version}: the proxy cannot read it")
    return table


def _make_encodable(answer: FetchResponse) -> None:
    """Records are read as one view, but written as a list of buffers."""
    for topic in answer.responses:
        for part in topic.partitions:
            records: Any = part.records
            part.records = None if records is None else [records]
