"""Reads what ``kcli perf -o json`` and ``-o ndjson`` have written: the runs of a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcli.core.errors import ConfigError
from kcli.flows.perf.series import KIND, Series, series_of
from kcli.output.envelope import API
from kcli.serde.json_text import json_integer

STDIN = "-"
_WRITE = "kcli perf produce … -o json > FILE writes one"


def read_runs(path: str) -> list[Series]:
    """The runs in a file, or in stdin (``-``), at least one; ConfigError with what is wrong."""
    name = "stdin" if path == STDIN else path
    try:
        runs = [series_of(item) for item in _items(_text(path, name))]
    except ValueError as error:
        raise ConfigError(f"{name} is no {KIND}", why=str(error), do=_WRITE) from None
    if not runs:
        raise ConfigError(f"{name} is no {KIND}", why="there is no run in it", do=_WRITE)
    return runs


def _text(path: str, name: str) -> str:
    if path == STDIN and sys.stdin is None:
        raise ConfigError("cannot read stdin", why="it is closed", do="name a file")
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(
            f"cannot read {name}",
            why=(error.strerror or str(error)).lower(),
            do="check the name, and that you may read it",
        ) from None
    return data.decode("utf-8", "replace")


def _items(text: str) -> Iterator[dict[str, Any]]:
    """Of documents and of bare items, in any order: a file to which each run has appended its own."""
    decoder, at, end = json.JSONDecoder(parse_int=json_integer), 0, len(text)
    while at < end:
        if text[at].isspace():
            at += 1
            continue
        try:
            found, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not JSON: {error}") from None
        kind = found.get("kind") if isinstance(found, dict) else None
        if kind != KIND:
            raise ValueError(f"its kind is {kind}" if kind else "it has no kind")
        if (api := found.get("api", API)) != API:
            raise ValueError(f"it is of {api}, and this kcli reads {API}")
        items = found.get("items", [found])
        if not isinstance(items, list):
            raise ValueError("its items are no list")
        yield from items
