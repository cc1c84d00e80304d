"""A record as JSON: what ``consume -o ndjson`` writes and ``produce -i ndjson`` reads.

Written as the parts of a render program: no object per record is made on the way.
"""

from datetime import UTC, datetime, timedelta

from kcli.core.kernels import render_ops as op
from kcli.output.template import PARTITION, TOPIC, Part

RECORD: tuple[Part, ...] = (
    (op.LITERAL, b'{"topic":"'),
    TOPIC,
    (op.LITERAL, b'","partition":'),
    PARTITION,
    (op.LITERAL, b',"offset":'),
    (op.NUMBER, op.OFFSET),
    (op.LITERAL, b',"timestamp":'),
    (op.NUMBER, op.TIMESTAMP, b"null"),
    (op.LITERAL, b',"timestamp_type":'),
    (op.TIMESTAMP_TYPE, b"null", b'"CreateTime"', b'"LogAppendTime"'),
    (op.LITERAL, b',"time":'),
    (op.TIME, b'"', b'"', b"null"),
    (op.LITERAL, b',"key":'),
    (op.BYTES, op.KEY, op.JSON, b"null", b',"key_encoding":"base64"'),
    (op.LITERAL, b',"value":'),
    (op.BYTES, op.VALUE, op.JSON, b"null", b',"value_encoding":"base64"'),
    (op.LITERAL, b',"headers":'),
    (op.HEADERS, op.HEADERS_JSON),
    (op.LITERAL, b',"leader_epoch":'),
    (op.NUMBER, op.LEADER_EPOCH, b"null"),
)
"""All but the closing brace: the marker of a transaction has one more field."""


def closing(marker: str | None) -> tuple[Part, ...]:
    """What ends the object; ``marker`` is COMMIT or ABORT where it is no record but the end of a transaction."""
    return ((op.LITERAL, b"}" if marker is None else b',"control":"%b"}' % marker.encode()),)


def rfc3339(timestamp: int) -> str | None:
    """A timestamp in ms as UTC with milliseconds; None for −1 and for what no calendar has."""
    if timestamp < 0:
        return None
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp)
    except OverflowError:
        return None
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp % 1000:03d}Z"
