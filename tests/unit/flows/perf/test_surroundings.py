"""The configuration in a report has what matters and what was set, and no secret."""

from __future__ import annotations

import json
from typing import Any

from kcli.core.options import ProducerOptions
from kcli.core.secret import Secret
from kcli.flows.perf.surroundings import client_configuration


def configuration(options: ProducerOptions, *given: str, **test: Any) -> dict[str, Any]:
    return client_configuration(options, given, ("acks", "linger_ms"), test)


def test_it_has_what_was_set_and_what_matters_by_kafkas_names() -> None:
    options = ProducerOptions(bootstrap_servers="b:1", acks="1", client_id="load")
    assert configuration(options, "client_id") == {"acks": "1", "client.id": "load", "linger.ms": 5.0}


def test_it_has_the_flags_of_the_test_that_were_given() -> None:
    options = ProducerOptions(bootstrap_servers="b:1")
    found = configuration(options, processes=2, duration=None)
    assert found["processes"] == 2
    assert "duration" not in found


def test_it_has_no_secret() -> None:
    options = ProducerOptions(bootstrap_servers="b:1", sasl_password=Secret("tell-no-one"), sasl_username="u")
    found = configuration(options, "sasl_password", "sasl_username")
    assert found["sasl.username"] == "u"
    assert "sasl.password" not in found
    assert "tell-no-one" not in json.dumps(found)


def test_options_of_other_clients_are_left_out() -> None:
    assert "group.id" not in configuration(ProducerOptions(bootstrap_servers="b:1"), "group_id")
