"""A file of options, Java's or librdkafka's, as one profile. Pure."""

from kcli.core.errors import ConfigError
from kcli.profiles.importing.found import Found
from kcli.profiles.java_sasl import translated
from kcli.profiles.properties import parse_properties


def read_properties(text: str, path: str, name: str) -> list[Found]:
    """The options of the file; a JAAS configuration becomes user and password."""
    dropped: list[tuple[str, str]] = []

    def drop(error: ConfigError) -> None:
        dropped.append((error.what, error.why))

    file = parse_properties(text, path, drop)
    pairs = [(pair.key, pair.text) for pair in translated(file.pairs, drop)]
    return [Found(name, pairs, dropped, reading=file.reading, warnings=file.warnings)]
