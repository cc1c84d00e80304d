"""A Java ``.properties`` file as one profile. Pure."""

from kcli.profiles.importing.found import Found
from kcli.profiles.java_sasl import translated
from kcli.profiles.properties import parse_properties


def read_properties(text: str, path: str, name: str) -> list[Found]:
    """The options of the file; a JAAS configuration becomes user and password."""
    dropped: list[tuple[str, str]] = []
    pairs = translated(
        parse_properties(text, path, lambda error: dropped.append((error.what, error.why))),
        lambda error: dropped.append((error.what, error.why)),
    )
    return [Found(name, [(pair.key, pair.text) for pair in pairs], dropped)]
