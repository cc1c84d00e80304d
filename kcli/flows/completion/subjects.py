"""Requests the names of a schema registry's subjects: one request, without another try."""

from kcli.core import classes
from kcli.core.errors import KcliError
from kcli.flows.completion.names_request import ListedNames, row_of
from kcli.serde.registry.addresses import addresses
from kcli.serde.registry.options import RegistryOptions
from kcli.serde.registry.transport import Transport


def limited(options: RegistryOptions, seconds: float) -> RegistryOptions:
    """The options for one request within so many seconds."""
    limit = round(seconds * 1000)
    return classes.replace(
        options,
        schema_registry_max_retries=0,
        schema_registry_request_timeout_ms=limit,
        schema_registry_api_timeout_ms=limit,
    )


def request_subjects(options: RegistryOptions, plaintext: bool, seconds: float) -> ListedNames:
    """The names; KcliError where the registry does not answer within ``seconds``. ``plaintext``: credentials need not be
    encrypted.
    """
    found = addresses(options, allow_plaintext_secrets=plaintext)
    with_limit = limited(options, seconds)
    transport = Transport(found, with_limit)
    try:
        names = transport.ask("GET", "/subjects")
    finally:
        transport.close()
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise KcliError(f"the answer of {found[0]} is no list of subjects")
    return ListedNames([row_of(name, "") for name in names], whole=True)
