"""Values that other programs would replace by something else, as ``${env:PASSWORD}``: kcli never does, and sent as they
are they would be wrong credentials. Pure.
"""

import re

from kcli.core.errors import ConfigError
from kcli.profiles.secret_keys import is_secret_key

_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_][\w.-]*:[^{}]*\}|^\$\{[^{}]*\}$")
"""``${PROVIDER:…}`` of Java's config providers anywhere, ``${NAME}`` as the whole value."""
_PREFIXES = ("file:", "env:", "cmd:", "command:")


def check_literal(key: str, text: str, origin: str) -> None:
    """ConfigError for a placeholder, which is not in the error: what is around it may be a part of a password."""
    secret = is_secret_key(key)
    instead = (
        f"use {key}_file or {key}_command"
        if secret
        else "write the value itself, or set it with -X or a variable"
    )
    if _PLACEHOLDER.search(text):
        raise ConfigError(
            f"{key} has a placeholder ${{…}} (from {origin})",
            why="kcli does not replace placeholders: it would be used as it is written",
            do=instead,
        )
    prefix = next((one for one in _PREFIXES if text.startswith(one)), "")
    if secret and prefix:
        raise ConfigError(
            f"{key} begins with {prefix} (from {origin})",
            why="kcli would use it as it is written, and not what it points to",
            do={
                "file:": f"name the file with {key}_file",
                "env:": f"set the variable KCLI_X_{key.upper().replace('.', '_')}",
            }.get(prefix, f"give the command with {key}_command"),
        )
