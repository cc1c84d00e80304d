"""A secret that a program prints. Loaded only where a command is configured."""

from collections.abc import Mapping

from kcli.core.net import command
from kcli.core.net.command import CommandError
from kcli.profiles.secret_keys import LIMIT, SecretSource, unreadable


def command_output(source: SecretSource, environ: Mapping[str, str], seconds: float) -> bytes:
    """What the command prints; ConfigError if it fails, hangs or prints too much."""
    try:
        return command.command_output(
            source.text, environ, seconds=seconds, limit=LIMIT, wanted="the secret", longer="--timeout"
        )
    except CommandError as error:
        raise unreadable(source, error.why, error.do) from None


def command_words(source: SecretSource) -> list[str]:
    """The program and its arguments; ConfigError for a command line that cannot be split."""
    try:
        return command.command_words(source.text)
    except CommandError as error:
        raise unreadable(source, error.why, error.do) from None
