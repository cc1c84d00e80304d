"""The mechanisms by name, and the checks that come before any byte is sent. A mechanism is a module with ``prepare``."""

import importlib

from kcli.core import classes
from kcli.core.classes import NamedTuple
from kcli.core.connection.sasl.exchange import Credentials
from kcli.core.connection.sasl.login import Login
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions, field_of, key_of, mechanisms_of


class Mechanism(NamedTuple):
    """``reveals``: what it sends as it is, which is everything that an eavesdropper needs; empty for none."""

    module: str
    reveals: str = ""


OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = {
    "PLAIN": Mechanism("plain", "password"),
    "SCRAM-SHA-256": Mechanism("scram"),
    "SCRAM-SHA-512": Mechanism("scram"),
    OAUTHBEARER: Mechanism("oauthbearer", "token"),
    "AWS_MSK_IAM": Mechanism("aws_msk_iam", "signed request"),
    "GSSAPI": Mechanism("gssapi"),
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
    mechanism = MECHANISMS[name]
    _check_options(options)
    encrypted = protocol == "SASL_SSL"
    if mechanism.reveals and not encrypted and not options.allow_plaintext_secrets:
        raise ConfigError(
            f"sasl.mechanism={name} over {protocol} is refused",
            why=f"the {mechanism.reveals} would be sent without encryption",
            do="use security.protocol=SASL_SSL, or allow it with --allow-plaintext-secrets",
        )
    credentials: Credentials = importlib.import_module(f"{__package__}.{mechanism.module}").prepare(options)
    return Login(name, credentials, encrypted=encrypted)


def _check_options(options: ClientOptions) -> None:
    """ConfigError for an option of another mechanism: what it was to do would not happen."""
    name = options.sasl_mechanism
    for field in classes.fields(ClientOptions):
        users = mechanisms_of(field.name)
        if users and name not in users and getattr(options, field.name) != field.default:
            raise ConfigError(
                f"{key_of(field.name)} has no effect",
                why=f"sasl.mechanism is {name}, and it is an option of {' and '.join(users)}",
                do="leave it out, or choose that mechanism",
            )
