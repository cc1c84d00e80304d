"""The provider of tokens that a client's options describe: exactly one of file, program and token endpoint.

What can be checked without a token is checked when the provider is made (ConfigError); why there is no token later is an
AuthError, or a ConnectError for an endpoint that does not respond. Providers are called in the worker thread of a loop.
"""

import json
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kcli.core import classes, clock, tokens
from kcli.core.connection.sasl.token import Token
from kcli.core.errors import AuthError, ConfigError
from kcli.core.net.command import CommandError, command_output, command_words
from kcli.core.options import ClientOptions
from kcli.core.tokens.bearer import LONGEST, expiry_of, token_of

if TYPE_CHECKING:
    from kcli.core.tokens import endpoint  # noqa: F401 - imported on use

FILE = "sasl.oauthbearer.token.file"
COMMAND = "sasl.oauthbearer.token.command"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
_SOURCES = (ENDPOINT, FILE, COMMAND)
_OF_SETUP = 0.9
"""The part of the time for a connection's setup that a token may take: its own error comes before that of the setup."""
_FOR_ENDPOINT = (
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.header.urlencode",
    "sasl.oauthbearer.ca.location",
)


def with_tokens(options: ClientOptions) -> ClientOptions:
    """``options`` with a provider of tokens; ConfigError for none, or more than one."""
    given = [key for key in _SOURCES if _value(options, key)]
    if options.sasl_oauthbearer_token_provider is None:
        return classes.replace(options, sasl_oauthbearer_token_provider=token_provider(options))
    if given:
        raise ConfigError(
            f"{given[0]} has no effect",
            why="the program gives sasl_oauthbearer_token_provider",
            do="leave one of them out",
        )
    return options


def token_provider(options: ClientOptions) -> Callable[[], Token]:
    """The provider; ConfigError unless one source is given, with all that it needs. Nothing is fetched yet."""
    extensions = parse_extensions(options.sasl_oauthbearer_extensions)
    given = [key for key in _SOURCES if _value(options, key)]
    if len(given) != 1:
        raise ConfigError(
            "sasl.mechanism=OAUTHBEARER needs one source of tokens",
            why=f"{' and '.join(given)} are given" if given else "no source of tokens is given",
            do=f"give one of {', '.join(_SOURCES)}",
        )
    seconds = _OF_SETUP * options.socket_connection_setup_timeout_ms / 1000
    if given == [ENDPOINT]:
        return _endpoint(options, extensions, seconds)
    for key in _FOR_ENDPOINT:
        if _value(options, key):
            raise ConfigError(
                f"{key} has no effect",
                why=f"the tokens come from {given[0]}",
                do=f"leave it out, or give {ENDPOINT}",
            )
    if given == [FILE]:
        path = os.path.expanduser(options.sasl_oauthbearer_token_file)
        _check_file(path)
        return lambda: token_from_file(path, extensions)
    command = options.sasl_oauthbearer_token_command
    _check_command(command)
    return lambda: token_from_command(command, extensions, seconds)


def parse_extensions(text: str) -> dict[str, str]:
    """``logicalCluster=lkc-1,identityPoolId=pool-2`` by name; ConfigError for another form (KIP-342)."""
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = part.partition("=")
        legal = name.isalpha() and name.isascii() and name != "auth"
        if not equals or not legal or not value or not value.isprintable() or not value.isascii():
            raise ConfigError(
                "sasl.oauthbearer.extensions cannot be used",
                why="it has NAME=VALUE pairs with commas between: a name of letters that is not auth, a value in ASCII",
                do="for example logicalCluster=lkc-1,identityPoolId=pool-2",
            )
        found[name] = value
    return found


def token_from_file(path: str, extensions: Mapping[str, str]) -> Token:
    """The token in the file. A link is followed: Kubernetes replaces the tokens of service accounts by links."""
    try:
        fd = os.open(
            path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        )  # opening a pipe would wait
        with open(fd, "rb") as file:
            data = file.read(LONGEST + 2) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError as error:
        raise AuthError(
            f"cannot read the token in {path}", why=error.strerror or str(error), do=f"check {FILE}"
        ) from None
    return token_of(data.decode("ascii", "replace"), f"{FILE} {path}", extensions)


def token_from_command(command: str, extensions: Mapping[str, str], seconds: float) -> Token:
    """The token that the program prints within ``seconds``, alone or as the JSON of RFC 6749."""
    try:
        longer = "--timeout and -X socket.connection.setup.timeout.ms"
        data = command_output(
            command, os.environ, seconds=seconds, limit=LONGEST, wanted="the token", longer=longer
        )
    except CommandError as error:
        raise AuthError(f"{COMMAND} gave no token", why=error.why, do=error.do) from None
    text = data.decode("ascii", "replace")
    if text.lstrip().startswith("{"):
        return _token_of_json(text, extensions)
    return token_of(text, COMMAND, extensions)


def _token_of_json(text: str, extensions: Mapping[str, str]) -> Token:
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = {}
    token = found.get("access_token")
    expires_at = expiry_of(found.get("expires_in"), clock.wall())
    return token_of(token if isinstance(token, str) else "", COMMAND, extensions, expires_at=expires_at)


def _endpoint(options: ClientOptions, extensions: Mapping[str, str], seconds: float) -> Callable[[], Token]:
    found = tokens.endpoint.parse_endpoint(options.sasl_oauthbearer_token_endpoint_url)
    for key in _FOR_ENDPOINT[:2]:
        if not _value(options, key):
            raise ConfigError(
                f"{ENDPOINT} without {key}", why="the endpoint identifies the client by it", do=f"give {key}"
            )
    grant = tokens.endpoint.Grant(
        options.sasl_oauthbearer_client_id,
        options.sasl_oauthbearer_client_secret,
        options.sasl_oauthbearer_scope,
        extensions,
        options.sasl_oauthbearer_header_urlencode,
    )
    authorities = options.sasl_oauthbearer_ca_location
    return tokens.endpoint.TokenEndpoint(found, grant, timeout=seconds, authorities=authorities).fetch


def _check_file(path: str) -> None:
    why = ""
    if not os.path.exists(path):
        why = "there is no such file"
    elif not os.path.isfile(path):
        why = "it is not a regular file"
    elif not os.access(path, os.R_OK):
        why = "permission denied"
    if why:
        raise ConfigError(
            f"{FILE} names {path}, which cannot be read", why=why, do="correct the path, or its permissions"
        )


def _check_command(command: str) -> None:
    try:
        program = command_words(command)[0]
    except CommandError as error:
        raise ConfigError(f"{COMMAND} cannot be run", why=error.why, do=error.do) from None
    if shutil.which(program) is None:
        raise ConfigError(
            f"{COMMAND}: there is no program {program}",
            why="it is not in PATH, or not executable",
            do="install it, or name it with its path",
        )


def _value(options: ClientOptions, key: str) -> Any:
    return getattr(options, key.replace(".", "_"))
