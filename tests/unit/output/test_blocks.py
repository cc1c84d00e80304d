"""Blocks of rows look as if their rows were added one by one, whatever is in them."""

import io
from typing import Any

import pytest

from kcli.output.blocks import Block, Frame
from kcli.output.listing import list_rows
from kcli.output.stdout import Output
from kcli.output.tables import Column

COLUMNS = (Column("group"), Column("topic"), Column("number", "number"), Column("at", "time"), Column("note"))
FRAME = Frame(3, {"note": None}, {"topic": ["a", "b%s", "c"]})


def block(group: str, numbers: list[Any], frame: Frame = FRAME, **more: list[Any]) -> Block:
    return Block(frame, {"group": group}, {"number": numbers, **more})


def printed(form: str, blocks: list[Block], *, one_by_one: bool) -> str:
    stream = io.BytesIO()
    with list_rows(Output(stream, kind=form), "L", "I", COLUMNS) as rows:
        for some in blocks:
            if one_by_one:
                for row in some:
                    rows.add(row)
            else:
                rows.add_block(some)
    return stream.getvalue().decode()


@pytest.mark.parametrize("form", ["tsv", "csv", "name", "ndjson", "plain"])
@pytest.mark.parametrize(
    "blocks",
    [
        [block("g", [1, 2, 3]), block("h", [4, 5, 6])],
        [block("100 %d", [1, 2, 3])],
        [block('tab\tcomma,quote"back\\line\n', [1, 2, 3]), block("h", [4, 5, 6])],
        [block("g", [None, 2.5, True])],
        [block("g", [1, 2, 3], at=[0, None, 1_700_000_000_000])],
        [block("g", [1, 2, 3]), block("h", [1, 2, 3], at=[0, 1, 2]), block("i", [1, 2, 3])],
        [block("g", [1, 2, 3], Frame(3, {"note": "100 %"}, {"topic": ["a", "b\\", "c,d"]}))],
        [
            block("g", [1, 2, 3], Frame(3, {"note": "a"}, {})),
            block("g", [1, 2, 3], Frame(3, {"note": "b"}, {})),
        ],
        [block("g", ["\ud800", "b", "ä"])],
        [block("g", [1, 2, 3], Frame(3, {"note": "\udfff"}, {"topic": ["ä", "b", "c"]}))],
        [block("g", [1 << 70, -1, "3"])],
        [block("g", ["1", "2", "3,4\t5"])],
        [],
    ],
)
def test_a_block_is_its_rows(form: str, blocks: list[Block]) -> None:
    assert printed(form, blocks, one_by_one=False) == printed(form, blocks, one_by_one=True)


def test_frame_fields_are_repeated_in_each_of_its_rows() -> None:
    assert printed("tsv", [block("g", [1, 2, 3])], one_by_one=False).splitlines() == [
        "group\ttopic\tnumber\tat\tnote",
        "g\ta\t1\t\t",
        "g\tb%s\t2\t\t",
        "g\tc\t3\t\t",
    ]
