"""A schema in a file, as ``kcli registry register`` and ``check`` take it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kcli.core.errors import ConfigError
from kcli.core.exit_codes import ExitCode
from kcli.flows.registry.names import Named
from kcli.serde.errors import RegistryError
from kcli.serde.json_text import NotJsonError, parse_json
from kcli.serde.registry.admin import RegistryAdmin
from kcli.serde.registry.client import Reference, Schema

STDIN = "-"


def read_text(path: str, nothing: str = "nothing was done") -> str:
    """The text of a file or of stdin; ConfigError, whose remedy ends with ``nothing``."""
    name = "stdin" if path == STDIN else path
    try:
        if path == STDIN and sys.stdin is None:
            raise ConfigError("cannot read stdin", why="it is closed", do="name a file")
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return data.decode()
    except UnicodeDecodeError:
        why = "it is not UTF-8"
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    raise ConfigError(
        f"cannot read {name}", why=why, do=f"check the name, and that you may read it; {nothing}"
    )


def read_schema(path: str, kind: str) -> Schema:
    """The schema without references; ConfigError for what is no JSON where it has to be."""
    text = read_text(path)
    name = "stdin" if path == STDIN else path
    if not text.strip():
        raise ConfigError(f"there is no schema in {name}", why="it is empty", do="name the file of a schema")
    if kind != "PROTOBUF":
        try:
            parse_json(text)
        except NotJsonError as error:
            raise ConfigError(
                f"{name} is no schema of the type {kind.lower()}",
                why=f"it is not JSON: {error}",
                do="correct it, or give its type: --type avro, protobuf or json",
            ) from None
    return Schema(-1, kind, text.strip() if kind != "PROTOBUF" else text)


def resolved(registry: RegistryAdmin, wanted: Sequence[tuple[str, Named]]) -> tuple[Reference, ...]:
    """References with the numbers of their versions; RegistryError for one that does not exist."""
    found = []
    for name, target in wanted:
        version = "latest" if target.version == -1 else str(target.version)
        try:
            schema = registry.version(target.subject, version)
        except RegistryError as error:
            if error.status == 404:
                error.exit_code = ExitCode.FAILED
                error.do = f"`kcli registry describe {target.subject}` shows its versions"
            raise
        found.append(Reference(name, target.subject, schema.version))
    return tuple(found)
