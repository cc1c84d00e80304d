"""The arguments and options that name tokens and principals."""

from kcli.commands.shared.params import Word, is_text
from kcli.core.admin.delegation_tokens import Principal

_USER = "User"


def _principal(text: str) -> Principal:
    kind, colon, name = text.partition(":")
    if not is_text(text):
        raise ValueError("it is not UTF-8")
    if not colon or not name:
        raise ValueError(f"{text!r} is not TYPE:NAME; did you mean {_USER}:{name or kind or 'NAME'}?")
    if kind != _USER:
        raise ValueError(f"brokers have tokens of users only; did you mean {_USER}:{name}?")
    return Principal(kind, name)


def _token_id(text: str) -> str:
    if not text.strip():
        raise ValueError("the id is empty; perhaps a variable is not set")
    return text


PRINCIPAL = Word("principal", _principal)
TOKEN_ID = Word("token", _token_id)
