"""The argument and the option that name users and mechanisms."""

from collections.abc import Callable
from typing import Any, TypeVar

from kcli.commands.shared.options import option
from kcli.commands.shared.params import Word, is_text

F = TypeVar("F", bound=Callable[..., Any])

_SCRAM = ("SCRAM-SHA-512", "SCRAM-SHA-256")


def _user_name(text: str) -> str:
    if not text:
        raise ValueError("the user name is empty; perhaps a variable is not set")
    if not is_text(text):
        raise ValueError("the user name is not UTF-8")
    return text


def _mechanism_name(text: str) -> str:
    if text.upper() not in _SCRAM:
        raise ValueError(f"{text!r} is not {' or '.join(_SCRAM)}")
    return text.upper()


NAME = Word("user", _user_name)
_MECHANISM = Word("mechanism", _mechanism_name, _SCRAM)


def mechanism_option(help_text: str) -> Callable[[F], F]:
    return option("--mechanism", "mechanisms", type=_MECHANISM, multiple=True, metavar="NAME", help=help_text)
