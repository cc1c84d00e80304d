"""Client options in environment variables: KCLI_* are kcli's own, KAFKA_* are shared with other tools. Pure."""

from collections.abc import Iterator, Mapping

from kcli.core.near_names import near_names
from kcli.core.options import is_option
from kcli.profiles.profile import MARKS, Pair
from kcli.profiles.secret_keys import is_secret_key

KCLI_FLAGS = {
    "KCLI_BOOTSTRAP_SERVER": "bootstrap.servers",
    "KCLI_BOOTSTRAP_SERVERS": "bootstrap.servers",
    "KCLI_CLIENT_ID": "client.id",
}
KCLI_OTHER = frozenset(
    ("KCLI_COMMAND_CONFIG", "KCLI_TIMEOUT", "KCLI_COLOR", "KCLI_PROGRESS", "KCLI_PAGER", "KCLI_PROFILE")
) | {"KCLI_IMPL", "KCLI_NO_EXT", "KCLI_CACHE"}
KCLI_PREFIX = "KCLI_X_"
KAFKA_PREFIX = "KAFKA_"
KAFKA_PREFIXES = ("KAFKA_SSL_", "KAFKA_SASL_")
KAFKA_NAMES = ("KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SECURITY_PROTOCOL")
_SUFFIXES = (".file", ".command")


def kcli_pairs(environ: Mapping[str, str], warnings: list[str]) -> Iterator[Pair]:
    """The options of KCLI_* variables; a variable that means nothing to kcli adds a warning."""
    for name in sorted(environ):
        text = environ[name]
        if not name.startswith("KCLI_") or not text:
            continue
        if name.startswith(KCLI_PREFIX):
            yield Pair(_spelled(name, KCLI_PREFIX), text, name)
        elif name in KCLI_FLAGS:
            yield Pair(KCLI_FLAGS[name], text, name)
        elif name not in KCLI_OTHER and not name.startswith("KCLI_TEST_"):
            mark = name.removeprefix("KCLI_").lower()
            near = near_names(name, [*KCLI_FLAGS, *KCLI_OTHER])
            hint = f"; did you mean {near[0]}?" if near else ""
            if mark in MARKS:
                hint = f"; {mark} is a mark of a profile, below [profiles.NAME] in config.toml"
            warnings.append(f"the environment variable {name} means nothing to kcli{hint}")


def kafka_pairs(environ: Mapping[str, str]) -> Iterator[Pair]:
    """The KAFKA_* variables that may be options of a client. Others set them for their own use, so a name that is no
    option is no error.
    """
    for name in sorted(environ):
        if environ[name] and (name in KAFKA_NAMES or name.startswith(KAFKA_PREFIXES)):
            yield Pair(_spelled(name, KAFKA_PREFIX), environ[name], name)


def _spelled(name: str, prefix: str) -> str:
    """``KCLI_X_SASL_MECHANISM`` → ``sasl.mechanism``, ``KCLI_X_SASL_PASSWORD_FILE`` → ``sasl.password_file``."""
    key = name.removeprefix(prefix).lower().replace("_", ".")
    stem, dot, last = key.rpartition(".")
    if f"{dot}{last}" in _SUFFIXES and not is_option(key) and is_secret_key(stem):
        return f"{stem}_{last}"
    return key
