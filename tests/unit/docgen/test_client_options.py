"""The client options that files and command lines can set are the same wherever they are listed."""

import re
from typing import Any

import pytest

from kcli.core.options import ALL_OPTIONS, default_text, parse_value, written_fields
from kcli.docgen import completed, manual
from kcli.docgen.option_pages import options_text
from kcli.serde.registry.options import RegistryOptions


def test_the_manual_and_the_completion_list_the_client_options_that_can_be_written() -> None:
    shown = set(re.findall(r"^  ([a-z0-9.]+)", options_text().split("Marks of a profile")[0], re.M))
    assert {key for _, terms in manual.option_terms() for key, _ in terms} == shown
    assert completed._client_keys() == shown
    assert "sasl.oauthbearer.token.provider" not in shown  # an object of a program


@pytest.mark.parametrize("options", [*ALL_OPTIONS, RegistryOptions])
def test_the_default_that_is_shown_is_what_one_writes(options: type[Any]) -> None:
    for field in written_fields(options):
        text = default_text(field)
        assert not text or parse_value(field, text) == field.default, field.name
        assert not text.endswith(".0"), field.name
