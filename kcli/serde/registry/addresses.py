"""Registry addresses from ``schema.registry.url``, and credentials. Pure; ``str`` never shows secrets."""

from kcli.core.errors import ConfigError
from kcli.core.net.http_address import HttpAddress, basic, parse_http, refuse_plaintext
from kcli.serde.registry.bearer import sends_token
from kcli.serde.registry.options import SASL_INHERIT, RegistryOptions


def addresses(options: RegistryOptions, *, allow_plaintext_secrets: bool = False) -> tuple[HttpAddress, ...]:
    """The registries to use, in order; ConfigError for an invalid address, and for secrets over plain HTTP."""
    common, token = _user_info(options), sends_token(options)
    found = []
    for text in options.schema_registry_url.split(","):
        if text.strip():
            address = _parse(text.strip(), common, options.basic_auth_credentials_source, token=token)
            if (token or address.authorization) and not allow_plaintext_secrets:
                refuse_plaintext(address, "the address")
            found.append(address)
    if not found:
        raise ConfigError(
            "no schema registry is named",
            why="this serde reads its schemas from a registry",
            do="-X schema.registry.url=http://HOST:8081, or a schema in a file: file=FILE",
        )
    return tuple(found)


def _parse(text: str, common: str, source: str, *, token: bool) -> HttpAddress:
    found = parse_http(text)
    if found is None or "?" in found.path:
        raise ConfigError(
            f"schema.registry.url={without_secrets(text)!r} is no address",
            why="it is http or https, a host, and perhaps a port and a path",
            do="http://HOST:8081, for example",
        )
    if found.authorization and token:
        raise ConfigError(
            f"a name in schema.registry.url={without_secrets(text)!r} and a token (bearer.auth.*) together",
            why="a registry accepts only one of them",
            do="leave one out",
        )
    of_url = found.authorization if source in ("", "URL") else ""
    return found._replace(path=found.path.rstrip("/"), authorization=of_url or common)


def _user_info(options: RegistryOptions) -> str:
    """The Authorization header for every registry, by basic.auth.user.info."""
    source = options.basic_auth_credentials_source
    if options.basic_auth_user_info and source != "URL":
        name, colon, password = options.basic_auth_user_info.reveal().partition(":")
        if not colon:
            raise ConfigError(
                "basic.auth.user.info is not NAME:PASSWORD", why="there is no colon in it", do="add it"
            )
        return basic(name, password)
    if source in ("USER_INFO", SASL_INHERIT):
        raise ConfigError(
            f"basic.auth.credentials.source={source} without "
            + ("basic.auth.user.info" if source == "USER_INFO" else "sasl.username and sasl.password"),
            why="there is nothing to send",
            do="set basic.auth.user.info",
        )
    return ""


def without_secrets(text: str) -> str:
    """``schema.registry.url`` without names and passwords. Several such addresses become one, so that no part
    may leak.
    """
    scheme, mark, rest = text.partition("://")
    return f"{scheme}{mark}(hidden)@{rest.rpartition('@')[2]}" if "@" in rest else text
