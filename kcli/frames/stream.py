"""Batches of pyarrow as an Arrow stream of our own: its errors have our texts, and are the same in all libraries."""

from collections.abc import Callable, Generator, Iterator
from typing import Any

from kcli.core.arrow.table import BatchStream


class TableStream(BatchStream):
    """``batches`` are of the ``schema``. ``on_error``: see ``BatchStream``; the generator is closed with the stream."""

    def __init__(
        self, schema: Any, batches: Generator[Any], *, on_error: Callable[[BaseException], None]
    ) -> None:
        super().__init__((), _capsules(batches), on_error=on_error, on_close=batches.close)
        self._schema = schema

    def schema(self) -> object:
        """See ``export.Source``."""
        return self._schema.__arrow_c_schema__()


class _Rows:
    """A batch, as a stream hands it out."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def capsule(self) -> object:
        return self._batch.__arrow_c_array__()[1]


def _capsules(batches: Iterator[Any]) -> Iterator[Any]:
    return map(_Rows, batches)
