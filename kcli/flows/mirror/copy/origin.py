"""``--headers``: a header that says where a record was copied from, which also ends loops between clusters. Pure.

``kcli-origin: CLUSTER/TOPIC/PARTITION/OFFSET``. Records that a mirror copied from the cluster that is now the target are
not copied back: each cluster adds its own header, so a record that has been on the target names it.
"""

from kcli.core.kernels.active import decode_headers, encode_headers
from kcli.core.kernels.shapes import Row
from kcli.core.types import TopicPartition

NAME = "kcli-origin"


def with_origin(row: Row, cluster: str, tp: TopicPartition, offset: int) -> Row:
    """The row with one more header, behind its own."""
    key, value, block, timestamp = row
    headers = [
        *decode_headers(block, 0, len(block)),
        (NAME, f"{cluster}/{tp.topic}/{tp.partition}/{offset}".encode()),
    ]
    return key, value, encode_headers(headers), timestamp


def was_on(row: Row, cluster: str) -> bool:
    """Whether one of its headers says that it was copied from this cluster."""
    block = row[2]
    if NAME.encode() not in block:
        return False
    prefix = f"{cluster}/".encode()
    return any(
        name == NAME and value is not None and value.startswith(prefix)
        for name, value in decode_headers(block, 0, len(block))
    )


def without_origin(row: Row, cluster: str) -> Row:
    """The row without the header that ``with_origin`` added for this cluster: the last one, if it is that."""
    key, value, block, timestamp = row
    if NAME.encode() not in block:
        return row
    headers = decode_headers(block, 0, len(block))
    name, origin = headers[-1]
    if name != NAME or origin is None or not origin.startswith(f"{cluster}/".encode()):
        return row
    return key, value, encode_headers(headers[:-1]), timestamp
