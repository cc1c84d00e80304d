"""Lines from templates: both twins fill in the same bytes, and refuse the same cells."""

import enum
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


class Number(enum.IntEnum):
    ONE = 1


def test_cells_fill_the_gaps_row_by_row(kernels: ModuleType) -> None:
    pieces = [b"<", b"=", b">\n<", b"=", b">\n"]
    assert (
        kernels.fill_lines(pieces, ["ä", [-5, 1 << 70]], b"")
        == "<ä=-5>\n<ä=1180591620717411303424>\n".encode()
    )


def test_a_template_without_gaps_is_its_text(kernels: ModuleType) -> None:
    assert kernels.fill_lines([b"text"], [], b"") == b"text"


@pytest.mark.parametrize("cell", [None, True, 1.5, b"x", Number.ONE, "a\tb", "\ud800", "\n"])
def test_other_cells_are_refused(kernels: ModuleType, cell: Any) -> None:
    assert kernels.fill_lines([b"<", b">", b"."], [["usual", cell]], b"\t\n") is None


def test_a_shared_text_is_refused_for_its_bytes(kernels: ModuleType) -> None:
    assert kernels.fill_lines([b"<", b">"], ["a\tb"], b"\t") is None


@pytest.mark.parametrize(
    ("pieces", "columns"),
    [([], [[1]]), ([b"", b""], []), ([b"", b"", b""], [[1]]), ([b""], [[1]]), ([b"", b""], [[1, 2]])],
)
def test_cells_that_do_not_fit_the_gaps_are_an_error(
    kernels: ModuleType, pieces: list[bytes], columns: list[list[int]]
) -> None:
    with pytest.raises(ValueError, match=r"pieces do not fit|a column has"):
        kernels.fill_lines(pieces, columns, b"")


CELLS = st.integers() | st.integers(-(1 << 64), 1 << 64) | st.text(st.characters(), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data(), st.integers(0, 4), st.integers(1, 3))
def test_twins_agree(
    twins: tuple[ModuleType, ModuleType], data: st.DataObject, rows: int, width: int
) -> None:
    pure, native = twins
    pieces = data.draw(st.lists(st.binary(max_size=3), min_size=rows * width + 1, max_size=rows * width + 1))
    columns = [
        data.draw(st.text(max_size=3) | st.lists(CELLS, min_size=rows, max_size=rows).map(tuple))
        for _ in range(width)
    ]
    assert native.fill_lines(pieces, columns, b"\t\\") == pure.fill_lines(pieces, columns, b"\t\\")
