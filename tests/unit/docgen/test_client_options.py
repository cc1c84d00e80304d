"""The client options that files and command lines can set are the same wherever they are listed."""

import re

from kcli.commands._options_help import options_text
from kcli.docgen import completed, manual


def test_the_manual_and_the_completion_list_the_client_options_that_can_be_written() -> None:
    shown = set(re.findall(r"^  ([a-z0-9.]+)", options_text().split("Marks of a profile")[0], re.M))
    assert {key for _, terms in manual.option_terms() for key, _ in terms} == shown
    assert completed._client_keys() == shown
    assert "sasl.oauthbearer.token.provider" not in shown  # an object of a program
