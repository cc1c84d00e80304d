"""The arguments and options that name controllers."""

import base64
import binascii

from kcli.commands.shared.options import CountType
from kcli.commands.shared.params import Word
from kcli.core.admin.quorum import Endpoint

_LAST_PORT = 65_535


def _endpoint(text: str) -> Endpoint:
    name, sep, address = text.rpartition("://")
    host, _, port = address.rpartition(":")
    if (sep and not name) or not host or not port.isascii() or not port.isdecimal() or int(port) > _LAST_PORT:
        raise ValueError(f"{text!r} is not [NAME://]HOST:PORT")
    return Endpoint(name, host.removeprefix("[").removesuffix("]"), int(port))


def _directory(text: str) -> str:
    try:
        found = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != 16:
        raise ValueError(f"{text!r} is not a directory id, as in `directory.id` of a meta.properties")
    return text


CONTROLLER = CountType(0, 2**31 - 1)
ENDPOINT = Word("endpoint", _endpoint)
DIRECTORY = Word("directory", _directory)
