"""Batches of every format and codec, and runs of them, as columns of Arrow: the rows are those of ``records``."""

import pyarrow as pa
import pytest

from kcli.core.arrow.fields import RECORD_COLUMNS, chosen_columns
from kcli.core.arrow.table import ArrowBatch
from kcli.core.kernels.active import arrow_columns
from kcli.core.records.batch import split_batches
from kcli.core.records.run import BatchRun, plain_run
from kcli.core.records.view import BatchView
from kcli.core.types import Record, TopicPartition
from tests.batches import batch_of
from tests.unit.records.samples import JAVA

TYPES = {-1: None, 0: "CreateTime", 1: "LogAppendTime"}
ALL = (0, 1 << 62)


def rows_of(batches: list[BatchView], first: int, stop: int) -> list[dict[str, object]]:
    codes, fields = chosen_columns(RECORD_COLUMNS, utc_timestamps=False)
    parts = [batch.arrow_part(first, stop) for batch in batches]
    count, _, *ends, columns = arrow_columns(parts, codes, None, None, None, False, b"t", 3)
    batch = pa.record_batch(ArrowBatch(TopicPartition("t", 3), fields, columns, count, *ends))
    batch.validate(full=True)
    return batch.to_pylist()


def expected(batches: list[BatchView], first: int, stop: int) -> list[dict[str, object]]:
    return [
        {
            "topic": "t",
            "partition": 3,
            "offset": record.offset,
            "timestamp": None if record.timestamp == -1 else record.timestamp,
            "timestamp_type": TYPES[record.timestamp_type],
            "key": record.key,
            "value": record.value,
            "headers": [{"key": name, "value": value} for name, value in record.headers],
            "leader_epoch": None if record.leader_epoch < 0 else record.leader_epoch,
        }
        for batch in batches
        for record in batch.records("t", 3)
        if first <= record.offset < stop
    ]


@pytest.mark.parametrize("name", [name for name in JAVA if name.startswith(("magic", "gaps"))])
@pytest.mark.parametrize("span", [ALL, (77, 80)], ids=["all", "some"])
def test_java_batches(name: str, span: tuple[int, int]) -> None:
    batches: list[BatchView] = list(split_batches(JAVA[name]))
    assert rows_of(batches, *span) == expected(batches, *span) != []


@pytest.mark.parametrize("span", [ALL, (3, 4), (3, 8), (9, 9)], ids=str)
def test_a_run(span: tuple[int, int]) -> None:
    """Its batches differ in type and time; the last one has a gap before it."""
    rows = [
        Record("t", 3, at, 1000 * at, at % 3 == 1, b"k" if at % 2 else None, b"v%d" % at, (("h", b""),), 7)
        for at in (0, 1, 2, 3, 4, 5, 6, 9)
    ]
    raw = b"".join(bytes(batch_of([row]).raw) for row in rows)
    run = plain_run(memoryview(raw), 0, transactional=True, verify=True)
    assert isinstance(run, BatchRun)
    assert rows_of([run], *span) == expected([run], *span)
    assert len(rows_of([run], *ALL)) == 8
