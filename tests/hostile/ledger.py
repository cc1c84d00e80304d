"""Which inputs a campaign has judged already, so that it goes on where it was stopped. Not a test.

A file of lines, to which each finished piece is added: what ran, which inputs, under which code. Pieces of other code
stay in it and are counted apart: they say nothing about the code of today.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
JUDGED = ("kcli/core", "kcli/serde", "kcli/flows", "tests/hostile", "tests/fake")
"""What the results depend on, besides the version of Python."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Inputs ``first`` up to ``last``, which is not one of them, and what became of them. ``what`` says who got them."""

    what: str
    first: int
    last: int
    code: str = ""
    refused: int = 0
    findings: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return self.last - self.first

    @property
    def place(self) -> tuple[str, int, int]:
        """Which inputs, given to whom."""
        return self.what, self.first, self.last


class Ledger:
    """``file`` None: nothing is remembered."""

    def __init__(self, file: Path | None, code: str) -> None:
        self._file, self.code = file, code
        text = file.read_text() if file is not None and file.exists() else ""
        self.pieces = [Piece(**json.loads(line)) for line in text.splitlines() if line.endswith("}")]

    def has(self, piece: Piece) -> bool:
        """Whether these inputs were judged under this code."""
        return piece.place in (one.place for one in self.own())

    def add(self, piece: Piece) -> None:
        """A piece that is finished."""
        self.pieces.append(piece)
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                file.write(json.dumps(asdict(piece)) + "\n")

    def own(self) -> list[Piece]:
        """The pieces of this code."""
        return [piece for piece in self.pieces if piece.code == self.code]

    def earlier(self) -> str:
        """What was judged under other code, for a message; empty if nothing was."""
        others = [piece for piece in self.pieces if piece.code != self.code]
        found = sum(len(piece.findings) for piece in others)
        inputs = sum(piece.inputs for piece in others)
        return f"under earlier code: {inputs:,} inputs, {found} findings" if others else ""


def state_of(folders: Iterable[str]) -> str:
    """A digest of the sources below these folders, and of the version of Python."""
    found = hashlib.sha256(sys.version.encode())
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".c", ".h", ".toml", ".json"):
                found.update(f"{path.relative_to(ROOT)}\0".encode())
                found.update(path.read_bytes())
    return found.hexdigest()[:16]
