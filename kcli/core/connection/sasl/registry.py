"""The mechanisms by name, and the checks that come before any byte is sent. A mechanism is a module with ``prepare``."""

import importlib
from typing import NamedTuple

from kcli.core.connection.sasl.exchange import Credentials
from kcli.core.connection.sasl.login import Login
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions, field_of


class Mechanism(NamedTuple):
    """``reveals``: what it sends as it is, which is everything that an eavesdropper needs; empty for none."""

    module: str
    reveals: str = ""


MECHANISMS = {
    "PLAIN": Mechanism("plain", "password"),
    "SCRAM-SHA-256": Mechanism("scram"),
    "SCRAM-SHA-512": Mechanism("scram"),
    "OAUTHBEARER": Mechanism("oauthbearer", "token"),
}


def login_of(options: ClientOptions) -> Login:
    """How to authenticate with ``options``. ConfigError for what is missing or not allowed."""
    protocol, name = options.security_protocol, options.sasl_mechanism
    if not name:
        known = ", ".join(filter(None, field_of("sasl.mechanism").metadata["choices"]))
        raise ConfigError(
            "sasl.mechanism is not set",
            why=f"security.protocol={protocol} authenticates, with one of {known}",
            do="set it to the one that the brokers offer, for example -X sasl.mechanism=SCRAM-SHA-512",
        )
    mechanism = MECHANISMS.get(name)
    if mechanism is None:
        raise ConfigError(
            f"sasl.mechanism={name} is not supported yet",
            why=f"this version has {', '.join(MECHANISMS)}",
            do="use one of them, if the brokers offer it",
        )
    encrypted = protocol == "SASL_SSL"
    if mechanism.reveals and not encrypted and not options.allow_plaintext_secrets:
        raise ConfigError(
            f"sasl.mechanism={name} over {protocol} is refused",
            why=f"the {mechanism.reveals} would be sent without encryption",
            do="use security.protocol=SASL_SSL, or allow it with --allow-plaintext-secrets",
        )
    credentials: Credentials = importlib.import_module(f"{__package__}.{mechanism.module}").prepare(options)
    return Login(name, credentials, encrypted=encrypted)
