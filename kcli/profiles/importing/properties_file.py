"""A file of options, Java's or librdkafka's, as one profile; kcat's ``kcat.conf`` too, where some begin with ``topic.``.
Pure.
"""

from kcli.core.errors import ConfigError
from kcli.profiles.importing.found import Found
from kcli.profiles.java_sasl import translated
from kcli.profiles.pairs import Pair
from kcli.profiles.properties import librdkafka_lines, parse_properties


def read_properties(text: str, path: str, name: str) -> list[Found]:
    """The options of the file; a JAAS configuration becomes user and password."""
    dropped: list[tuple[str, str]] = []

    def drop(error: ConfigError) -> None:
        dropped.append((error.what, error.why))

    file = parse_properties(text, path, drop)
    pairs = [(pair.key, pair.text) for pair in translated(file.pairs, drop)]
    return [Found(name, pairs, dropped, reading=file.reading, warnings=file.warnings)]


def read_kcat(text: str, path: str, name: str) -> list[Found]:
    """The file is one cluster."""
    pairs, dropped = [], []
    for number, key, value in librdkafka_lines(text):
        if not key:
            dropped.append((f"{path}:{number}", "it is not property=value"))
        else:
            pairs.append(Pair(key.removeprefix("topic."), value, f"{path}:{number}"))
    found = translated(pairs, lambda error: dropped.append((error.what, error.why)))
    return [Found(name, [(pair.key, pair.text) for pair in found], dropped)]
