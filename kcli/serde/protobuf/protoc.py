"""Compiles ``.proto`` text to descriptors, by the protoc of grpcio-tools, in a separate process.

A process, because the text may come from a registry: protoc's output, run time and crashes must not affect kcli.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from kcli.core.extras import library
from kcli.core.secret import child_environment
from kcli.serde.protobuf.well_known import CONFLUENT_FILES, include_folders

_SECONDS = 60.0


def compile_texts(texts: Mapping[str, str], main: str) -> bytes:
    """The FileDescriptorSet of ``main`` and all its imports, from texts by import name; ValueError with protoc's
    messages.
    """
    with tempfile.TemporaryDirectory(prefix="kcli-proto-") as folder:
        top = Path(folder)
        for name, text in {**CONFLUENT_FILES, **texts}.items():
            target = top / _safe(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return _run(top / main, [top])


def compile_path(path: Path, imports: Iterable[Path]) -> bytes:
    """The same for a user's file; ``imports`` are the folders of imported files."""
    with tempfile.TemporaryDirectory(prefix="kcli-proto-") as folder:
        for name, text in CONFLUENT_FILES.items():
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        folders = [folder.resolve() for folder in imports] or [path.resolve().parent]
        return _run(path.resolve(), [*folders, path.resolve().parent, Path(folder)])


def _safe(name: str) -> PurePosixPath:
    """An import name as a path below a folder; names from a registry are untrusted."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name or "\\" in name:
        raise ValueError(f"a reference named {name[:100]!r} is no file to import")
    return path


def _run(file: Path, folders: list[Path]) -> bytes:
    library("grpc_tools", extra="protobuf", wanted_by="a .proto file")
    with tempfile.TemporaryDirectory(prefix="kcli-proto-") as folder:
        out = Path(folder, "set")
        includes = [f"-I{target}" for target in dict.fromkeys([*folders, *include_folders()])]
        command = [sys.executable, "-P", "-m", "grpc_tools.protoc", *includes]
        command += [f"--descriptor_set_out={out}", "--include_imports", str(file)]
        try:
            done = subprocess.run(  # noqa: S603 - no shell; names are checked, options are ours
                command,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
                env=child_environment(os.environ),
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"protoc did not end within {_SECONDS:.0f} s") from None
        if done.returncode or not out.exists():
            raise ValueError(_first_lines(done.stderr.decode(errors="replace"), folders))
        return out.read_bytes()


def _first_lines(text: str, folders: list[Path]) -> str:
    for folder in folders:
        text = text.replace(f"{folder}/", "")
    lines = [line.strip() for line in text.splitlines() if line.strip() and "warning" not in line]
    return "; ".join(lines[:3])[:500] or "protoc failed without a word"
