"""Capsules of Arrow data, made in C and by ctypes: what they hold, who frees it, and what happens at the end."""

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kcli.core.arrow import ctypes_export
from kcli.core.arrow.fields import COLUMNS, Field, chosen_columns, requested_fields, table_schema
from kcli.core.arrow.table import ArrowBatch, error_text
from kcli.core.errors import ConfigError
from kcli.core.types import TopicPartition
from tests.parity.conftest import load
from tests.parity.parts import ROWS, Row, part_of

TP = TopicPartition("orders", 3)


@pytest.fixture(params=["C", "ctypes"])
def exporter(request: pytest.FixtureRequest) -> Any:
    if request.param == "ctypes":
        return ctypes_export
    native = load("_native")
    return SimpleNamespace(
        schema_capsule=native._arrow_schema,
        array_capsule=native._arrow_array,
        stream_capsule=native._arrow_stream,
    )


@pytest.fixture(params=["pure", "_native"])
def kernels(request: pytest.FixtureRequest) -> ModuleType:
    return load(request.param)


def converted(kernels: ModuleType, rows: Any = ROWS) -> Any:
    codes, fields = chosen_columns(COLUMNS)
    count, *_, columns = kernels.arrow_columns([part_of(rows)], codes, None, None, None, False, b"orders", 3)
    return table_schema(fields), (count, 0, (None,), columns)


class Capsules:
    """What pyarrow accepts."""

    def __init__(self, exporter: Any, schema: Field, column: Any) -> None:
        self._made = exporter.schema_capsule(schema), exporter.array_capsule(column)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._made


class Batches:
    """A source of a stream; ``broken`` after its arrays."""

    def __init__(self, exporter: Any, schema: Field, columns: list[Any], broken: bytes | None = None) -> None:
        self.exporter, self._schema, self._columns, self._broken = exporter, schema, columns, broken
        self.closed: list[threading.Thread] = []

    def schema(self) -> object:
        return self.exporter.schema_capsule(self._schema)

    def next(self) -> object:
        if self._columns:
            return self.exporter.array_capsule(self._columns.pop(0))
        return self._broken

    def close(self) -> None:
        self.closed.append(threading.current_thread())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.exporter.stream_capsule(self)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_kept() -> Iterator[None]:
    """All that ctypes was to keep is released when the tests are over."""
    gc.collect()
    before = len(ctypes_export._kept), len(ctypes_export._structures)
    yield
    gc.collect()
    assert (len(ctypes_export._kept), len(ctypes_export._structures)) == before


def test_both_exporters_take_the_columns_of_both_kernels(exporter: Any, kernels: ModuleType) -> None:
    batch = pa.record_batch(Capsules(exporter, *converted(kernels)))
    batch.validate(full=True)
    assert batch.num_rows == 5
    assert batch["value"].to_pylist() == [row.value for row in ROWS]
    assert batch["headers"].to_pylist()[1] == [
        {"key": "h", "value": None},
        {"key": "é", "value": b""},
        {"key": "h", "value": b"\xff"},
    ]
    assert batch["timestamp"].type == pa.timestamp("ms", "UTC")
    assert all(field.nullable for field in batch.schema)


def test_capsules_that_nobody_takes_are_freed(exporter: Any, kernels: ModuleType) -> None:
    schema, column = converted(kernels, [Row(None, bytes(1 << 18))])
    before = resident()
    for _ in range(300):
        exporter.schema_capsule(schema)
        exporter.array_capsule(column)
    for _ in range(100):
        pa.record_batch(Capsules(exporter, schema, converted(kernels, [Row(None, bytes(1 << 18))])[1]))
    assert resident() - before < 25 << 20


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_a_child_outlives_its_array(exporter: Any, kernels: ModuleType) -> None:
    """A consumer moves children out of an array and releases the rest."""
    batch = pa.record_batch(Capsules(exporter, *converted(kernels)))
    values = batch["value"]
    del batch
    gc.collect()
    assert values.to_pylist() == [row.value for row in ROWS]


def test_memory_is_released_in_another_thread(exporter: Any, kernels: ModuleType) -> None:
    held = [pa.record_batch(Capsules(exporter, *converted(kernels)))]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert not held


def test_a_stream_is_closed_once_wherever_it_is_released(exporter: Any, kernels: ModuleType) -> None:
    schema, column = converted(kernels)
    source = Batches(exporter, schema, [column, column])
    assert pa.table(source).num_rows == 10
    assert len(source.closed) == 1
    for left in (None, exporter.stream_capsule(source)):
        del left
    assert len(source.closed) == 2
    reader = pa.RecordBatchReader.from_stream(source)
    thread = threading.Thread(target=reader.close)
    thread.start()
    thread.join()
    assert source.closed[2] is thread


def test_the_error_of_a_stream_has_its_text(kernels: ModuleType) -> None:
    """Only in C: ctypes loses the exception while the stream is released."""
    native = load("_native")
    exporter = SimpleNamespace(
        schema_capsule=native._arrow_schema,
        array_capsule=native._arrow_array,
        stream_capsule=native._arrow_stream,
    )
    schema, column = converted(kernels)
    with pytest.raises(OSError, match="offsets 1 to 9 are gone"):
        pa.table(Batches(exporter, schema, [column], b"t-0: offsets 1 to 9 are gone"))


def test_a_source_that_raises_is_an_error_of_the_stream() -> None:
    native = load("_native")

    class Raising:
        def schema(self) -> object:
            raise ValueError("no")

        next = close = schema

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return native._arrow_stream(self)

    with pytest.raises(OSError, match="the stream failed"):
        pa.table(Raising())


@pytest.mark.parametrize(
    "wrong",
    [
        ("_arrow_schema", (1, "a", 0, ())),
        ("_arrow_schema", ("l", "a", 0)),
        ("_arrow_schema", ("+s", "a", 0, (("l", "a", 0, ()), 5))),
        ("_arrow_array", (1, 0, ("text",), ())),
        ("_arrow_array", (1, 0, (b"x", None), (7,))),
        ("_arrow_array", (1 << 70, 0, (), ())),
    ],
    ids=str,
)
def test_wrong_trees_are_refused_and_leave_nothing(wrong: tuple[str, Any]) -> None:
    native = load("_native")
    name, tree = wrong
    with pytest.raises((TypeError, IndexError, OverflowError)):
        getattr(native, name)(tree)


AT_EXIT = """
import sys, threading
sys.path.insert(0, ".")
import pyarrow as pa
from tests.unit.core.arrow.test_export import Batches, Capsules, converted
from tests.parity.conftest import load
from kcli.core.arrow import export
kernels = load("_native")
schema, column = converted(kernels)
pa.kept = pa.record_batch(Capsules(export, schema, column))
pa.reader = pa.RecordBatchReader.from_stream(Batches(export, schema, [column] * 5))
pa.reader.read_next_batch()
sys.kept = export.array_capsule(column)
def hold(batch=pa.record_batch(Capsules(export, schema, column))):
    threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
print("end")
"""


def test_what_is_held_when_the_interpreter_ends_does_no_harm() -> None:
    """Tables, an open stream, a capsule, and a thread that never ends."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", AT_EXIT], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


# --- fields ---------------------------------------------------------------------------------------------


def test_columns_are_chosen_by_name_in_their_order() -> None:
    codes, fields = chosen_columns(["value", "timestamp"], utc_timestamps=False)
    assert [(field.name, field.format) for field in fields] == [("value", "z"), ("timestamp", "l")]
    assert len(codes) == 2
    with pytest.raises(ConfigError, match="no column 'vlaue'") as caught:
        chosen_columns(["vlaue"])
    assert "did you mean value?" in caught.value.do
    with pytest.raises(ConfigError, match="given twice"):
        chosen_columns(["value", "key", "value"])


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        (["z", "l", "z"], ["z", "l", "z"]),
        (["u", "tsm:UTC", "u"], ["u", "tsm:UTC", "z"]),
        (["u", "tsm:", "U"], ["u", "tsm:", "z"]),
        (["u", "tsu:UTC", "z"], ["u", "tsm:UTC", "z"]),
        (["l", "u", "z"], ["u", "tsm:UTC", "z"]),
    ],
)
def test_a_requested_schema_changes_only_the_meaning_of_buffers(
    requested: list[str], found: list[str]
) -> None:
    fields = chosen_columns(["value_text", "timestamp", "value"]).fields
    names = [field.name for field in fields]
    wanted = list(zip(requested, names, strict=True))
    assert [field.format for field in requested_fields(fields, wanted)] == found
    assert requested_fields(fields, wanted[:2]) == fields
    assert requested_fields(fields, wanted[::-1]) == fields


def test_a_batch_is_exported_again_and_again(kernels: ModuleType) -> None:
    _, column = converted(kernels)
    batch = ArrowBatch(TP, chosen_columns(COLUMNS).fields, column[3], 5, 100, 104)
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    assert first.equals(second)
    assert (len(batch), batch.nbytes) == (5, sum(map(size_of, column[3])))
    assert pa.schema(batch) == first.schema
    assert repr(batch) == "ArrowBatch(orders-3, offsets 100 to 104, count=5)"


def size_of(array: Any) -> int:
    return sum(len(bytes(one)) for one in array[2] if one is not None) + sum(map(size_of, array[3]))


def test_an_error_is_one_text_with_its_remedy() -> None:
    assert error_text(ConfigError("what", why="why", do="do")) == b"what: why (do)"
    assert error_text(KeyboardInterrupt()) == b"KeyboardInterrupt"
    assert error_text(ValueError("a\0b")) == b"a b"
