"""A walk over a table: all rows run, the one that fails is named, fixtures stay those of the test."""

from pathlib import Path

import pytest

from tests.each import each

seen: list[tuple[int, str]] = []


@each("number, text", [(1, "one"), (2, "two")])
def test_fixtures_and_rows(number: int, tmp_path: Path, text: str) -> None:
    assert tmp_path.is_dir()
    seen.append((number, text))


def test_each_row_has_run() -> None:
    assert seen in ([], [(1, "one"), (2, "two")])  # empty where another process has run them


def test_the_row_that_fails_is_named() -> None:
    @each("number", [1, 2, 3])
    def fails(number: int) -> None:
        assert number < 2

    with pytest.raises(AssertionError) as error:
        fails()
    assert error.value.__notes__ == ["in the row 2"]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="proves nothing"):
        each("number", [])
