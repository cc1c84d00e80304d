"""Text as Markdown: what is plain stays plain, and what it names is a link where there is a page."""

import pytest

from kcli.docgen.describe import sentence
from kcli.docgen.site import markdown

KNOWN = {"--undo": "#opt-undo", "-o": "kcli.md#opt-output", "kcli help times": "times.md"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a_b * <c> [d] | e & `f`", r"a\_b \* &lt;c\> \[d\] \| e &amp; `f`"),
        ("for --undo, or --watch", "for [`--undo`](#opt-undo), or `--watch`"),
        ("-o json, +N or -N", "[`-o`](kcli.md#opt-output) json, +N or -N"),
        ("see `kcli help times`", "see [`kcli help times`](times.md)"),
        ("read-back of T1--T2", "read-back of T1--T2"),
    ],
)
def test_options_and_code_in_prose(text: str, expected: str) -> None:
    assert markdown.prose(text, KNOWN.get) == expected


def test_code_may_hold_a_backtick() -> None:
    assert markdown.code("a`b") == "`` a`b ``"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("reference/kcli.md", "reference/times.md", "times.md"),
        ("reference/commands/groups/lag.md", "reference/kcli.md#opt-output", "../../kcli.md#opt-output"),
        ("reference/kcli.md", "reference/kcli.md#opt-output", "#opt-output"),
        ("reference/kcli.md", "perf.md", "../perf.md"),
    ],
)
def test_links_are_relative(source: str, target: str, expected: str) -> None:
    assert markdown.between(source, target) == expected


def test_a_sentence_has_a_capital_and_a_full_stop_once() -> None:
    assert sentence("read it") == "Read it."
    assert sentence("Read it.") == "Read it."
