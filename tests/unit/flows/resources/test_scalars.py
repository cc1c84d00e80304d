"""What text without quotes means: as YAML 1.1 and 1.2 both say, or nothing."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kcli.flows.resources.scalars import Sort, meaning_of


@pytest.mark.parametrize(
    ("sort", "texts"),
    [
        (Sort.EMPTY, ("", "~", "null", "NULL")),
        (Sort.TRUTH, ("true", "False", "TRUE")),
        (Sort.WHOLE, ("0", "12", "-1", "9223372036854775807")),
        (Sort.NUMBER, ("0.5", "1e3", "1.5E-3", "-0.0")),
        (Sort.TEXT, ("a", "nULL", "y", "n", "10.0.0.1", "2026-11-29", "1.2.3", "-", ".", "1e999", "compact,delete")),
        (
            Sort.UNCLEAR,
            ("yes", "No", "on", "OFF", "010", "0o17", "0x1F", "0b11", "1_000", "1:30", "+1", ".5", "1.", "08", ".inf"),
        ),
    ],
)  # fmt: skip
def test_table(sort: Sort, texts: tuple[str, ...]) -> None:
    assert {text: meaning_of(text).sort for text in texts} == dict.fromkeys(texts, sort)


@given(st.text("0123456789+-.:_exobyYnNtTfFaAlLuUrRsSiI~", max_size=9))
def test_what_has_a_meaning_has_the_one_of_pyyaml(text: str) -> None:
    """PyYAML reads YAML 1.1; its numbers with an exponent need a dot and a sign, those of YAML 1.2 do not."""
    meaning = meaning_of(text)
    is_plain_number = meaning.sort is Sort.NUMBER and "e" not in text.lower()
    if is_plain_number or meaning.sort in (Sort.EMPTY, Sort.TRUTH, Sort.WHOLE):
        assert yaml.safe_load(text) == meaning.value
    elif meaning.sort is Sort.TEXT:
        try:
            found = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError):
            return  # no scalar at all
        assert not isinstance(found, bool | int) and found is not None  # noqa: PT018
