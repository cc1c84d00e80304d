"""The environment that kcli's children get: without the variables that may hold a password. Pure."""

from collections.abc import Mapping

_OPTIONS = ("KCLI_X_", "KAFKA_SASL_", "KAFKA_SSL_")
"""Prefixes of variables that are client options, see ``kcli/profiles/environment.py``."""


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` without client options."""
    return {name: text for name, text in environ.items() if not name.startswith(_OPTIONS)}
