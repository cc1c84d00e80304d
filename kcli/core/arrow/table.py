"""Record batches and streams of them as objects that pyarrow, polars, DuckDB and pandas accept."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kcli.core.arrow.export import array_capsule, schema_capsule, stream_capsule
from kcli.core.arrow.fields import Field, requested_fields, table_schema
from kcli.core.arrow.structs import SCHEMA, ArrowSchema, address_in
from kcli.core.kernels.arrow_ops import Array
from kcli.core.types import TopicPartition


class ArrowBatch:
    """Records of one partition as columns of Arrow; immutable, and exported any number of times without a copy.

    ``count`` rows; ``nbytes`` of all buffers; ``first_offset`` and ``last_offset`` of its rows.
    """

    __slots__ = ("columns", "count", "fields", "first_offset", "last_offset", "tp")

    def __init__(
        self,
        tp: TopicPartition,
        fields: Sequence[Field],
        columns: tuple[Array, ...],
        count: int,
        first_offset: int,
        last_offset: int,
    ) -> None:
        self.tp = tp
        self.fields = tuple(fields)
        self.columns = columns
        self.count = count
        self.first_offset = first_offset
        self.last_offset = last_offset

    def __repr__(self) -> str:
        return f"ArrowBatch({self.tp}, offsets {self.first_offset} to {self.last_offset}, count={self.count})"

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        """The size of all buffers in bytes."""
        return sum(map(_size_of, self.columns))

    def __arrow_c_schema__(self) -> object:
        """The schema as a capsule."""
        return schema_capsule(table_schema(self.fields))

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Schema and data as capsules; a requested schema is followed where the buffers have that meaning too."""
        fields = fields_for(self.fields, requested_schema)
        return schema_capsule(table_schema(fields)), self.capsule()

    def capsule(self) -> object:
        """The data as a capsule."""
        return array_capsule((self.count, 0, (None,), self.columns))


def _size_of(array: Array) -> int:
    _, _, buffers, children = array
    return sum(len(buffer) for buffer in buffers if buffer is not None) + sum(map(_size_of, children))


def fields_for(fields: Sequence[Field], requested_schema: object) -> tuple[Field, ...]:
    """The fields as a consumer requests them by a capsule, as far as the buffers allow (``requested_fields``)."""
    if requested_schema is None:
        return tuple(fields)
    schema = ArrowSchema.from_address(address_in(requested_schema, SCHEMA))
    children: Any = schema.children
    found = [children[index].contents for index in range(schema.n_children)]
    wanted = [(child.format.decode(), (child.name or b"").decode()) for child in found]
    return requested_fields(fields, wanted)


class BatchStream:
    """A stream of batches for an ``arrow_array_stream``: errors become texts, which the consumer's own error then has.

    ``on_error`` is called with each exception, ``on_close`` once, in the thread that releases the stream.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        batches: Iterator[ArrowBatch],
        *,
        on_error: Callable[[BaseException], None],
        on_close: Callable[[], None],
    ) -> None:
        self._fields = tuple(fields)
        self._batches = batches
        self._on_error = on_error
        self._on_close = on_close

    def capsule(self) -> object:
        """The stream."""
        return stream_capsule(self)

    def schema(self) -> object:
        """See ``export.Source``."""
        return schema_capsule(table_schema(self._fields))

    def next(self) -> object:
        """See ``export.Source``."""
        try:
            batch = next(self._batches, None)
            return None if batch is None else batch.capsule()
        except BaseException as error:  # noqa: BLE001 - it would end in C: it is handed to the consumer
            self._on_error(error)
            return error_text(error)

    def close(self) -> None:
        """See ``export.Source``."""
        self._on_close()


def error_text(error: BaseException) -> bytes:
    """An error in one text: what, why, and what to do about it."""
    remedy = getattr(error, "do", "")
    text = str(error) or type(error).__name__
    return (f"{text} ({remedy})" if remedy else text).replace("\0", " ").encode()
