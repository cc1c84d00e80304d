"""Values of Spark as a query prints them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from kcli.pipeline.result_values import HEADERS, item_maker, plain, with_text_cells


class Row(tuple[Any, ...]):
    def asDict(self) -> dict[str, Any]:
        return dict(zip("ab", self, strict=True))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (b"\xc3\xa4", "ä"),
        (bytearray(b"\xff"), "/w=="),
        (Decimal("12.50"), 12.5),
        (Decimal("12"), 12),
        (Decimal("1234567890123456789.5"), "1234567890123456789.5"),
        (date(2026, 11, 23), "2026-11-23"),
        ([Row((1, b"x"))], [{"a": 1, "b": "x"}]),
        ({1: [None]}, {"1": [None]}),
    ],
)
def test_any_value_is_one_of_json(value: Any, shown: Any) -> None:
    assert plain(value) == shown


def test_base64_is_marked_and_headers_are_pairs() -> None:
    item = item_maker([("key", "binary"), ("value", "binary"), ("headers", HEADERS), ("n", "bigint")])
    row = (b"k", b"\xff", [("a", b"1"), ("b", None), ("c", b"\xff")], 3)
    assert item(row) == {
        "key": "k",
        "value": "/w==",
        "value_encoding": "base64",
        "headers": [["a", "1"], ["b", None], ["c", "/w==", "base64"]],
        "n": 3,
    }
    assert item((None, b"", None, None)) == {"key": None, "value": "", "headers": None, "n": None}


def test_lists_and_structs_are_json_in_a_cell() -> None:
    item = {"n": 1, "headers": [["a", None], ["ä", "1"]], "struct": {"x": [1]}, "none": None}
    assert with_text_cells(item) == {
        "n": 1,
        "headers": '[["a",null],["ä","1"]]',
        "struct": '{"x":[1]}',
        "none": None,
    }
