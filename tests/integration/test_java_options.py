"""A file of options for Kafka's own clients, of the default version, has no key that kcli calls unknown."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import _kafka_tools as tools
from kcli.core.foreign_options import is_foreign
from kcli.core.options import is_option
from kcli.profiles.sifting import is_unsupported

SOURCE = Path(__file__).with_name("OptionNames.java")
TRANSLATED = {"sasl.jaas.config", "sasl.oauthbearer.jwt.retriever.class"}
"""``kcli/profiles`` makes other options of them."""


def test_each_option_of_the_java_clients_is_known() -> None:
    command = tools.tool(str(SOURCE))
    if command is None:
        pytest.skip("there is no Java to ask Kafka's clients")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    names = set(done.stdout.split())
    assert {"bootstrap.servers", "acks", "group.id"} < names, done.stderr
    unknown = {name for name in names if not (is_option(name) or is_foreign(name) or is_unsupported(name))}
    assert unknown == TRANSLATED
