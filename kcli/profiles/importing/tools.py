"""The tools whose files are read: where each keeps its file, and which reader understands it."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kcli.core.errors import ConfigError
from kcli.profiles.importing.found import Found
from kcli.profiles.importing.kaf import read_kaf
from kcli.profiles.importing.kafkactl import read_kafkactl
from kcli.profiles.importing.kcl import read_kcl
from kcli.profiles.importing.rpk import read_rpk
from kcli.profiles.java_sasl import translated
from kcli.profiles.profile import Pair
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


Reader = Callable[[str, str, str], list[Found]]
"""(text, path, name for a cluster without one) → the clusters."""

READERS: dict[str, Reader] = {
    "kcat": read_kcat,
    "kafkactl": read_kafkactl,
    "rpk": read_rpk,
    "kaf": read_kaf,
    "kcl": read_kcl,
    "properties": read_properties,
}
TOOLS = tuple(name for name in READERS if name != "properties")


def default_paths(tool: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Where the tool looks for its file, first choice first."""
    home = Path(environ.get("HOME") or "~").expanduser()
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    variables = {
        "kcat": "KCAT_CONFIG",
        "kafkactl": "KAFKA_CTL_CONFIG",
        "rpk": "RPK_CONFIG",
        "kcl": "KCL_CONFIG_PATH",
    }
    if environ.get(variables.get(tool, "")):
        yield environ[variables[tool]]
    paths = {
        "kcat": (home / ".config/kcat.conf", home / ".config/kafkacat.conf"),
        "kafkactl": (
            home / ".config/kafkactl/config.yml",
            home / ".kafkactl/config.yml",
            Path("/etc/kafkactl/config.yml"),
        ),
        "rpk": (config / "rpk/rpk.yaml",),
        "kaf": (home / ".kaf/config",),
        "kcl": (
            Path(environ.get("KCL_CONFIG_DIR") or config / "kcl")
            / environ.get("KCL_CONFIG_FILE", "config.toml"),
        ),
    }
    yield from map(str, paths[tool])


def tool_of(path: str, text: str) -> str:
    """The tool whose file it is, by its name and content; ConfigError if that is not clear."""
    name = os.path.basename(path)
    if name.endswith(".toml"):
        return "kcl"
    if name in ("kcat.conf", "kafkacat.conf"):
        return "kcat"
    tops = {line.split(":")[0] for line in text.splitlines() if line[:1].isalpha() and ":" in line}
    if name.endswith((".yml", ".yaml")) or name == "config":
        for top, tool in (("contexts", "kafkactl"), ("clusters", "kaf"), ("profiles", "rpk")):
            if top in tops:
                return tool
        raise ConfigError(
            f"{path} is of no tool that kcli knows",
            why="it has none of contexts (kafkactl), clusters (kaf) and profiles (rpk)",
            do=f"say whose it is: --format {'|'.join(READERS)}",
        )
    return "properties"
