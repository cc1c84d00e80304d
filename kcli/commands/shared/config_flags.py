"""The flags that change configurations, of ``topics alter`` and ``configs alter``."""

from __future__ import annotations

from collections.abc import Iterable

from kcli.commands.shared.params import config_value
from kcli.commands.shared.usage import usage
from kcli.core.admin.configs import LOG_LEVELS, ConfigChange, ConfigOp
from kcli.flows.configs.key_changes import WORDS
from kcli.flows.configs.values import list_words

_EXAMPLES = {ConfigOp.SET: "retention.ms=3600000"} | dict.fromkeys(
    (ConfigOp.APPEND, ConfigOp.SUBTRACT), "cleanup.policy=compact"
)


def config_changes(
    command: str, sets: Iterable[str], unsets: Iterable[str], appends: Iterable[str], removes: Iterable[str]
) -> list[ConfigChange]:
    """The changes of the flags; a usage error for one that is malformed, and for two of a key that contradict."""
    given = [change for text in sets for change in _set(command, text)]
    given += [_unset(command, text) for text in unsets]
    given += [_pair(command, ConfigOp.APPEND, text) for text in appends]
    given += [_pair(command, ConfigOp.SUBTRACT, text) for text in removes]
    found: dict[str, ConfigChange] = {}
    for change in given:
        before = found.get(change.name)
        if before is None:
            found[change.name] = change
        elif before.op == change.op and change.op in (ConfigOp.APPEND, ConfigOp.SUBTRACT):
            found[change.name] = ConfigChange(change.name, f"{before.value},{change.value}", change.op)
        elif before != change:
            raise usage(
                f"{command}: {change.name} is changed twice, by --{WORDS[before.op]} and --{WORDS[change.op]}",
                why="a key can be changed once in a request",
                do=f"leave one of them out; several elements of a list: --append {change.name}=A,B",
            )
    return list(found.values())


def _set(command: str, text: str) -> list[ConfigChange]:
    """One key, or with ``@FILE`` those of a properties file."""
    if not text.startswith("@"):
        return [_pair(command, ConfigOp.SET, text)]
    # Only where there is such a file.
    from kcli.files.user_file import read_bounded
    from kcli.profiles.properties import parse_java

    path = text[1:]
    try:
        content = read_bounded(path)[0].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise usage(
            f"{command}: --set {text}: {path or 'a file without a name'} cannot be read",
            why=getattr(error, "strerror", None) or str(error),
            do="write --set KEY=VALUE, or --set @FILE with lines KEY=VALUE in FILE",
        ) from None
    pairs = parse_java(content, path)
    if not pairs:
        raise usage(
            f"{command}: --set {text}: {path} sets nothing",
            why="there is no KEY=VALUE in it",
            do="write one on each line",
        )
    return [
        ConfigChange(pair.key, config_value(command, f"--set ({pair.origin})", pair.key, pair.text))
        for pair in pairs
    ]


def _pair(command: str, op: ConfigOp, text: str) -> ConfigChange:
    key, sign, value = text.partition("=")
    flag = f"--{WORDS[op]}"
    if not sign or not key.strip():
        raise usage(
            f"{command}: {flag}{'' if sign else f' {key!r}'} is not KEY=VALUE",
            why="there is no = in it" if not sign else "there is no key before the =",
            do=f"write {flag} {_EXAMPLES[op]}"
            + (f"; --unset {key} restores the default" if op is ConfigOp.SET and not sign else ""),
        )
    if op is not ConfigOp.SET and not list_words(value):
        raise usage(
            f"{command}: {flag} {text!r} names no element",
            why=f"{flag} changes the elements of a list",
            do=f"write {flag} {_EXAMPLES[op]}",
        )
    if op is ConfigOp.SET:
        value = config_value(command, flag, key.strip(), value)
    return ConfigChange(key.strip(), value, op)


def levels(changes: Iterable[ConfigChange]) -> list[ConfigChange]:
    """The changes of loggers, with levels in upper case; a usage error for a level that there is not, and for lists."""
    return [_level(change) for change in changes]


def _level(change: ConfigChange) -> ConfigChange:
    if change.op is ConfigOp.DELETE:
        return change
    level = (change.value or "").strip().upper()
    if change.op is not ConfigOp.SET or level not in LOG_LEVELS:
        raise usage(
            f"configs alter: --{WORDS[change.op]} {change.name}={change.value} of broker-loggers",
            why=f"a logger has one level, of {', '.join(LOG_LEVELS)}",
            do=f"write --set {change.name}=DEBUG; --unset {change.name} gives it the level of the logger above it",
        )
    return ConfigChange(change.name, level)


def _unset(command: str, text: str) -> ConfigChange:
    key, sign, _ = text.partition("=")
    if sign or not key.strip():
        raise usage(
            f"{command}: --unset {key or text!r} is not a configuration key",
            why="--unset restores the default and needs no value" if sign else "it is empty",
            do=f"write --unset {key.strip() or 'retention.ms'}; --remove KEY=VALUE removes an element of a list",
        )
    return ConfigChange(key.strip(), None, ConfigOp.DELETE)
