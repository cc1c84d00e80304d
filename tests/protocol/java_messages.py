"""Kafka's own message classes as a judge: they read bytes, and write what they have read. Needs a JDK. Not a test."""

import shutil
import struct
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tools.protocol.jars import jar

_PROGRAM = Path(__file__).with_name("Messages.java")


def missing() -> str:
    """Why it cannot be asked; empty if it can."""
    return "" if shutil.which("javac") and shutil.which("java") else "no JDK is installed"


class JavaMessages:
    """One process, for as many batches as are asked. ``artifacts`` are the jars that have the classes."""

    def __init__(self, kafka: str, artifacts: Iterable[str]) -> None:
        jars = [*(jar(artifact, kafka) for artifact in artifacts), jar("slf4j-api", "1.7.36")]
        command = ["java", "-cp", ":".join(map(str, jars)), str(_PROGRAM)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def rewritten(self, messages: Sequence[tuple[str, int, bytes]]) -> list[bytes | str]:
        """What Kafka's class makes of each (class, version, bytes), or why it cannot read them."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        to.write(struct.pack(">i", len(messages)))
        for name, version, data in messages:
            to.write(struct.pack(">H", len(name)) + name.encode())
            to.write(struct.pack(">hi", version, len(data)) + data)
        to.flush()
        return [_answer(back) for _ in messages]


def _answer(back: IO[bytes]) -> bytes | str:
    (size,) = _unpack(">i", back)
    if size >= 0:
        return back.read(size)
    return back.read(_unpack(">H", back)[0]).decode()


def _unpack(layout: str, back: IO[bytes]) -> tuple[Any, ...]:
    return struct.unpack(layout, back.read(struct.calcsize(layout)))
