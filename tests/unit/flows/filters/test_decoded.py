"""--where, --grep and --key where ``-s`` names a serde."""

from typing import Any

import pytest

from kcli.commands.consume.decoding import Decoding
from kcli.commands.consume.options import ConsumeOptions
from kcli.commands.consume.scope import selection
from kcli.commands.shared.usage import Refused
from kcli.core.positions import RangeSpec
from kcli.core.types import Record
from kcli.serde.names import parse_serdes
from kcli.serde.opening import open_serdes
from tests.batches import fetched_of, wanted_by

ROWS = [
    Record("t", 0, 0, 0, 0, b"\0\1", b'{"n":1}'),
    Record("t", 0, 1, 0, 0, b"\0\2", b"not json"),
    Record("t", 0, 2, 0, 0, None, None),
    Record("t", 0, 3, 0, 0, b"odd", b'{"n":2}'),
]


def chosen(serdes: tuple[str, ...], *, first: int = 0, **flags: Any) -> tuple[list[int], Any]:
    asked = ConsumeOptions(("t",), **flags)
    found, where, _ = selection(asked, RangeSpec(None), Decoding(open_serdes(parse_serdes(serdes))))
    return wanted_by(found, fetched_of(ROWS)._replace(first=first)), where


def test_where_sees_keys_and_values_of_the_serdes() -> None:
    serdes = ("key=short", "value=json")
    assert chosen(serdes, where="value.n == `1` && key == `1`")[0] == [0]
    found, where = chosen(serdes, where="key == `null` && value == `null`")
    assert found == [2]
    assert (where.undecoded, where.not_json) == (1, 0)
    assert where.first.startswith("t-0@1: the value is not JSON")


def test_a_key_that_cannot_be_decoded_is_what_it_is_without_a_serde() -> None:
    assert chosen(("key=short", "value=json"), where="key == 'odd'")[0] == [3]


def test_records_that_were_not_requested_are_not_counted() -> None:
    found, where = chosen(("value=json",), first=2, where="value.n")
    assert (found, where.undecoded) == ([3], 0)


def test_grep_searches_the_text_and_bytes_that_have_none() -> None:
    assert chosen(("key=short",), grep=("k:^1$",))[0] == [0]
    assert chosen(("key=short",), grep=("k:odd",))[0] == [3]
    assert chosen(("key=short",), grep=("!k:1",))[0] == [1, 2, 3]
    assert chosen(("value=hex",), grep=("v:^7b22",))[0] == [0, 3]
    assert chosen(("value=hex",), grep=("k:odd",))[0] == [3]


def test_a_key_is_looked_for_as_its_serde_writes_it() -> None:
    assert chosen(("key=short",), key="2")[0] == [1]
    assert chosen(("value=short",), key="odd")[0] == [3]
    assert chosen(("key=short",), key="N", null_marker="N")[0] == [2]
    with pytest.raises(Refused):
        chosen(("key=short",), key="x")
