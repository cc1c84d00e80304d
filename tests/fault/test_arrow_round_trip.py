"""What ``read_topic`` reads, ``send_arrow`` writes again: the same records, without a library of Arrow in between."""

import pyarrow as pa
import pytest

from kcli.core import Producer, read_topic
from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster

HEADERS = (("h", None), ("é", b""), ("h", b"\xff"))
CONTENT = [(None, None), (b"", b""), (b"k", b"v"), (b"\xff", b"\x00" * 300)]
COLUMNS = ["offset", "timestamp", "key", "value", "headers"]


@pytest.mark.parametrize("headers", ["headers", "headers_packed"])
def test_records_that_are_read_and_written_are_the_same(headers: str) -> None:
    rows = [
        Record("a", 0, at, 1_700_000_000_000 + at, 0, *CONTENT[at % 4], HEADERS if at % 3 else ())
        for at in range(40)
    ]
    with FakeCluster(1, topics={"a": 1, "b": 1}) as cluster:
        cluster.append("a", 0, bytes(batch_of(rows).raw))
        with (
            read_topic(
                "a", bootstrap_servers=cluster.bootstrap, columns=["timestamp", "key", "value", headers]
            ) as read,
            Producer(bootstrap_servers=cluster.bootstrap) as producer,
        ):
            assert producer.send_arrow("b", read) == 40
            producer.flush()
        there, back = (
            pa.table(read_topic(topic, bootstrap_servers=cluster.bootstrap, columns=COLUMNS))
            for topic in ("a", "b")
        )
    assert there.num_rows == 40
    assert back == there
