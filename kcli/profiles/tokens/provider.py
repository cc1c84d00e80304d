"""The token provider that a client's options describe: exactly one of file, command and token endpoint."""

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError
from kcli.core.options import ClientOptions
from kcli.profiles.tokens.bearer import LONGEST, token_of

COMMAND_TIMEOUT = 30.0
_SOURCES = (
    "sasl.oauthbearer.token.endpoint.url",
    "sasl.oauthbearer.token.file",
    "sasl.oauthbearer.token.command",
)


def token_provider(options: ClientOptions) -> Callable[[], Token]:
    """The provider; ConfigError unless one source is given, with all that it needs. Nothing is fetched yet."""
    extensions = parse_extensions(options.sasl_oauthbearer_extensions)
    given = [key for key in _SOURCES if getattr(options, key.replace(".", "_"))]
    if len(given) != 1:
        raise ConfigError(
            "SASL/OAUTHBEARER needs one source of tokens",
            why=f"{' and '.join(given)} are given" if given else "no source of tokens is given",
            do=f"give one of {', '.join(_SOURCES)}",
        )
    if options.sasl_oauthbearer_token_file:
        path = options.sasl_oauthbearer_token_file
        return lambda: token_from_file(path, extensions)
    if options.sasl_oauthbearer_token_command:
        command = options.sasl_oauthbearer_token_command
        return lambda: token_from_command(command, extensions)
    return _endpoint(options, extensions)


def parse_extensions(text: str) -> dict[str, str]:
    """``logicalCluster=lkc-1,identityPoolId=pool-2`` by name; ConfigError for another form (KIP-342)."""
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        if not equals or not name.isalpha() or not name.isascii() or name == "auth" or not value.isprintable():
            raise ConfigError(
                "sasl.oauthbearer.extensions cannot be used",
                why="it has NAME=VALUE pairs separated by commas; a name consists of letters and is not auth",
                do="for example logicalCluster=lkc-1,identityPoolId=pool-2",
            )
        found[name] = value
    return found


def token_from_file(path: str, extensions: Mapping[str, str]) -> Token:
    """The token in the file. A link is followed: Kubernetes replaces the tokens of service accounts by links."""
    origin = f"sasl.oauthbearer.token.file {path}"
    try:
        with open(path, "rb") as file:
            data = file.read(LONGEST + 2)
    except OSError as error:
        raise ConfigError(f"cannot read {path}", why=error.strerror or str(error), do="check sasl.oauthbearer.token.file") from None
    return token_of(data.decode("ascii", "replace"), origin, extensions)


def token_from_command(command: str, extensions: Mapping[str, str]) -> Token:
    """The token that ``command`` writes, alone or as the JSON of RFC 6749. No shell; stderr is the terminal's."""
    origin = "sasl.oauthbearer.token.command"
    try:
        words = shlex.split(command)
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=COMMAND_TIMEOUT, check=False)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"cannot run {origin}", why=why, do="it is a program with its arguments, without a shell") from None
    except subprocess.TimeoutExpired:
        raise AuthError(f"{origin} wrote no token", why=f"it did not end within {COMMAND_TIMEOUT:.0f} s", do="run it by hand") from None
    if done.returncode:
        raise AuthError(f"{origin} wrote no token", why=f"it ended with exit status {done.returncode}", do="run it by hand")
    text = done.stdout[: LONGEST + 2].decode("ascii", "replace")
    if text.lstrip().startswith("{"):
        return _token_of_json(text, origin, extensions)
    return token_of(text, origin, extensions)


def _token_of_json(text: str, origin: str, extensions: Mapping[str, str]) -> Token:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = {}
    seconds = found.get("expires_in")
    usable = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    token = found.get("access_token")
    expires_at = time.time() + seconds if usable else None
    return token_of(token if isinstance(token, str) else "", origin, extensions, expires_at=expires_at)


def _endpoint(options: ClientOptions, extensions: Mapping[str, str]) -> Callable[[], Token]:
    # Loads http.client and ssl: only where a token endpoint is used.
    from kcli.profiles.tokens.token_endpoint import URL_KEY, Grant, TokenEndpoint, parse_endpoint

    for key in ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"):
        if not getattr(options, key.replace(".", "_")):
            raise ConfigError(f"{URL_KEY} without {key}", why="the endpoint identifies the client by it", do=f"give {key}")
    grant = Grant(
        options.sasl_oauthbearer_client_id,
        options.sasl_oauthbearer_client_secret,
        options.sasl_oauthbearer_scope,
        extensions,
        options.sasl_oauthbearer_header_urlencode,
    )
    return TokenEndpoint(
        parse_endpoint(options.sasl_oauthbearer_token_endpoint_url),
        grant,
        timeout=options.socket_connection_setup_timeout_ms / 1000,
        authorities=options.sasl_oauthbearer_ca_location,
    ).fetch
