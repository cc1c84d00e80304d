"""Arrow data that others hand out: moved in and released once, also when they are inconsistent or end in an error."""

import gc
from collections.abc import Callable
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from kcli.core.arrow.foreign import ForeignDataError, open_tables
from kcli.core.arrow.record_columns import RecordSchema
from kcli.core.arrow.structs import ArrowArray
from kcli.core.errors import ConfigError
from tests.unit.core.arrow.handed_out import AsArray, AsStream, HandedOut
from tests.unit.core.arrow.sent_rows import rows_of


def test_an_array_is_released_once_after_its_last_use() -> None:
    source = AsArray(b"a", b"", b"ccc")
    field, tables = open_tables(source)
    records = RecordSchema(field).records(next(tables))
    del tables
    gc.collect()
    assert not source.released
    assert [row[1] for row in rows_of(records)] == [b"a", b"", b"ccc"]
    del records
    gc.collect()
    assert len(source.released) == 1


def test_each_table_of_a_stream_is_released_once() -> None:
    source = AsStream(b"x", b"y", parts=3)
    field, tables = open_tables(source)
    schema = RecordSchema(field)
    for table in tables:
        assert len(source.released) < 3
        assert [row[1] for row in rows_of(schema.records(table))] == [b"x", b"y"]
    del table
    assert len(source.released) == len(set(source.released)) == 3


def test_the_words_of_a_stream_that_fails_are_reported() -> None:
    source = AsStream(b"x", parts=3, fails=1)
    _, tables = open_tables(source)
    next(tables)
    with pytest.raises(ForeignDataError, match="could not be read: der Datenträger ist voll"):
        next(tables)
    assert len(source.released) == 1


def set_(target: str, **values: Any) -> Callable[[ArrowArray, ArrowArray], None]:
    """Changes the table or its column."""

    def change(table: ArrowArray, column: ArrowArray) -> None:
        for name, value in values.items():
            setattr(table if target == "table" else column, name, value)

    return change


def drop_buffer(_: ArrowArray, column: ArrowArray) -> None:
    column.buffers[1] = None


INCONSISTENT = {
    "negative length": (set_("table", length=-1), "an array has -1 values"),
    "negative offset": (set_("column", offset=-1), "an array has 3 values from -1 on"),
    "too short": (set_("column", length=2), "a column has 2 rows, fewer than the table"),
    "beyond the column": (set_("table", offset=1), "a column has 3 rows, fewer than the table"),
    "no child": (set_("table", n_children=0), "an array has 0 children"),
    "few buffers": (set_("column", n_buffers=1), "an array has 1 buffers"),
    "no offsets": (drop_buffer, "a buffer of 16 bytes is missing"),
}


@pytest.mark.parametrize(("change", "words"), INCONSISTENT.values(), ids=INCONSISTENT.keys())
@pytest.mark.parametrize("kind", [AsArray, AsStream])
def test_inconsistent_data_are_refused_and_released_once(
    kind: type[HandedOut], change: Callable[..., None], words: str
) -> None:
    source = kind(b"a", b"b", b"c", change=change)

    def read() -> None:
        field, tables = open_tables(source)
        schema = RecordSchema(field)
        for table in tables:
            schema.records(table)

    with pytest.raises(ForeignDataError, match=words):
        read()
    gc.collect()
    assert len(source.released) == 1


def test_offsets_that_leave_their_data_are_refused_by_row() -> None:
    def backwards(_: ArrowArray, column: ArrowArray) -> None:
        import ctypes

        offsets = (ctypes.c_int32 * 4).from_address(column.buffers[1])
        offsets[1], offsets[3] = 100, -5

    field, tables = open_tables(AsArray(b"a", b"b", b"c", change=backwards))
    with pytest.raises(ValueError, match="row 0: its value is not within the data"):
        rows_of(RecordSchema(field).records(next(tables)))


def test_a_library_that_cannot_hand_out_twice_is_read_as_it_was_at_first() -> None:
    class Once:
        asked: ClassVar[list[object]] = []

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            self.asked.append(requested_schema)
            if requested_schema is not None:
                raise RuntimeError("used up")
            return pa.table({"value": pa.array(["x", "x"]).dictionary_encode()}).__arrow_c_stream__()

    field, tables = open_tables(Once())
    assert len(Once.asked) == 2
    assert field.children[0].dictionary is not None
    assert next(tables).length == 2
    with pytest.raises(ConfigError, match="the column value is of the type dictionary<utf8>"):
        RecordSchema(field)


class _Other:
    def __init__(self, handed: Any) -> None:
        self.handed = handed

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        if isinstance(self.handed, Exception):
            raise self.handed
        return self.handed


def test_what_is_no_arrow_data_is_refused() -> None:
    for nothing in ([1], b"text", None, {"value": [1]}):
        with pytest.raises(ConfigError, match="is no Arrow data"):
            open_tables(nothing)
    released = AsArray(b"a").capsules()
    open_tables(_Other(released))
    for handed, words in (
        (5, "hands out something else"),
        ((1, 2), "hands out something else"),
        (released[::-1], "hands out something else"),
        (released, "it was released"),
        (RuntimeError("no memory"), "does not hand out its Arrow data: RuntimeError: no memory"),
    ):
        with pytest.raises(ForeignDataError, match=words):
            open_tables(_Other(handed))
