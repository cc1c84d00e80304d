"""One test for all rows of a table, where a row takes less time than what pytest does for a test. Not a test."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``parametrize``, but all rows are one test, which ends at the first that fails and names it.

    Fixtures are those of the one test: what a row leaves behind is there for the next one.
    """
    wanted, table = [name.strip() for name in names.split(",")], list(rows)
    assert table, "a table without rows proves nothing"

    def walked(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def walk(**fixtures: Any) -> None:
            for row in table:
                values = row if len(wanted) > 1 else (row,)
                try:
                    test(**dict(zip(wanted, values, strict=True)), **fixtures)
                except BaseException as error:
                    error.add_note(f"in the row {', '.join(map(_shown, values))}")
                    raise

        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in wanted]
        walk.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return walk

    return walked


def _shown(value: object) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)
