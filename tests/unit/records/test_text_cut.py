"""Text is cut behind whole delimiters, counted from the left."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.core.records.text_cut import last_line_end, line_length


@pytest.mark.parametrize(
    ("text", "delimiter", "end"),
    [
        (b"", b"\n", 0),
        (b"ab", b"\n", 0),
        (b"a\nb", b"\n", 2),
        (b"a\r\nb\r\n\r", b"\r\n", 6),
        (b"a\n\n\nb", b"\n\n", 3),
        (b"\n\n\n\n\n", b"\n\n", 4),
        (b"xabababab", b"aba", 8),
    ],
)
def test_the_end_of_the_last_whole_line(text: bytes, delimiter: bytes, end: int) -> None:
    assert last_line_end(text, 0, len(text), delimiter) == end


@given(st.text("ab\n", max_size=30).map(str.encode), st.sampled_from([b"\n", b"\n\n", b"aba", b"ab"]))
def test_it_is_where_splitting_from_the_left_ends(text: bytes, delimiter: bytes) -> None:
    end = last_line_end(text, 0, len(text), delimiter)
    *whole, rest = text.split(delimiter)
    assert text[:end].split(delimiter) == [*whole, b""]
    assert text[end:] == rest


def test_the_length_of_a_line() -> None:
    assert line_length(b"ab\ncd", 0, 5, b"\n") == 2
    assert line_length(b"ab\ncd", 3, 5, b"\n") == 2
    assert line_length(b"ab\ncd", 3, 4, b"\n") == 1
