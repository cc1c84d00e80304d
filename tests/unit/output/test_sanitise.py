"""What a peer wrote cannot act on a terminal, and what is harmless is left alone."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.output.sanitise import visible, visible_json, visible_line

pytestmark = pytest.mark.case("C13", "X21")


def test_controls_are_shown() -> None:
    assert visible("\x1b[31mred\x07\x9b\x7f\r") == r"\x1b[31mred\x07\x9b\x7f\x0d"
    assert visible("\u202egnp.exe\u200b\ufeff\u2066") == r"\u202egnp.exe\u200b\ufeff\u2066"
    assert visible("\U000e0041\ud800") == r"\U000e0041\ud800"


def test_harmless_text_is_the_same_object() -> None:
    text = "Grüße, 世界 → 🎉\ttab\nline"
    assert visible(text) is text


def test_a_line_stays_a_line() -> None:
    assert visible_line("a\tb\nc") == r"a\tb\nc"


@given(st.text())
def test_nothing_unsafe_is_left(text: str) -> None:
    for sign in visible(text):
        assert sign in "\t\n" or unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(sign) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )


def test_every_control_and_format_character_of_unicode() -> None:
    """Cf has visible ones too (Arabic number signs, interlinear marks are not all invisible): a short list stays."""
    left = [
        code for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf") and visible(chr(code)) == chr(code) and chr(code) not in "\t\n"
    ]  # fmt: skip
    assert all(
        code in (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2) or code > 0x11000 for code in left
    )


@given(st.text())
def test_json_keeps_its_value(text: str) -> None:
    made = visible_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(made) == text
    assert visible(made) == made
