"""Errors of Spark as kcli's: what failed, why, what to do.

Spark reports an error of Python as the text of a traceback, wrapped by each layer that it passed. An error of kcli that
has to cross Spark is raised as a ``CarriedError``: a sentence and what to do, for people who read it in a notebook, and
behind them a word that ``carried`` makes an error of again. Spark Connect brings the same text to its clients.
"""

import base64
import binascii
import json
import re
import sys
from typing import Any

from kcli.core.errors import KcliError
from kcli.pipeline.job import TaskError, task_error

_MARK = re.compile(r"\[kcli-error ([A-Za-z0-9_-]+={0,2})\]")
_OTHER_PYTHON = re.compile(r"PYTHON_VERSION_MISMATCH.*?(\d+\.\d+).*?(\d+\.\d+)", re.DOTALL)
_CONDITION = re.compile(r"^\[[A-Z_.0-9]+\] ?")
_JAVA_CLASS = re.compile(r"^(?:[a-z_]\w*\.)+([A-Z][\w$]*): ?")
_WRAPPER = "Exception thrown in awaitResult:"
"""What Spark says of the thread that waited; the line after it says why."""
_INTERNAL = 8  # lines of a cause that are worth showing


class SparkError(KcliError):
    """Spark failed, or ended."""


class CarriedError(Exception):
    """An error of kcli, to be raised in code that Spark calls; ``kcli_error`` restores it on the driver. ``what``,
    ``why`` and ``do`` are those of the error.
    """

    def __init__(self, error: BaseException) -> None:
        found = task_error(error)
        self.what, self.why, self.do = found.what, found.why, found.do
        sentence = f"{found.what}: {found.why}" if found.why else found.what
        word = base64.urlsafe_b64encode(json.dumps(list(found), separators=(",", ":")).encode()).decode()
        super().__init__(
            "\n".join(filter(None, [sentence, found.do and f"do: {found.do}", f"[kcli-error {word}]"]))
        )


def carried(text: str) -> TaskError | None:
    """The first error of kcli in a text of Spark."""
    match = _MARK.search(text)
    try:
        return None if match is None else TaskError(*json.loads(base64.urlsafe_b64decode(match[1])))
    except (ValueError, TypeError, binascii.Error):
        return None


def kcli_error(error: BaseException) -> KcliError | None:
    """The error of kcli, with ``what``, ``why``, ``do`` and ``exit_code``, that an exception of Spark has in its text, or
    was raised from; None if there is none.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KcliError):
            return seen
        found = carried(message_of(seen))
        if found is not None:
            return found.error()
        seen = seen.__cause__ or seen.__context__
    return None


def spark_error(error: BaseException, what: str, *, do: str = "") -> KcliError:
    """The error of a call of pyspark. ``what`` says what was done; ``do`` is for what has no remedy of its own."""
    if isinstance(error, KcliError):
        return error
    text = message_of(error)
    found = carried(text)
    if found is not None:
        return found.error()
    mismatch = _OTHER_PYTHON.search(text)
    if mismatch is not None:
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        theirs = next((version for version in mismatch.groups() if version != own), "another version")
        return SparkError(
            f"the executors run Python {theirs}, and kcli runs Python {own}",
            why="code passes between them, which needs the same minor version",
            do=f"set PYSPARK_PYTHON to a Python {own} of the executors, or run kcli with Python {theirs}",
        )
    return SparkError(what, why=cause_of(text), do=do)


def is_statement_error(error: BaseException) -> bool:
    """Whether a statement of SQL is wrong: its message says all."""
    return not {"AnalysisException", "ParseException"}.isdisjoint(
        each.__name__ for each in type(error).__mro__
    )


def message_of(error: BaseException) -> str:
    """All that an error of pyspark or py4j says, causes included."""
    java: Any = getattr(error, "java_exception", None)
    if java is not None:
        parts: list[str] = []
        try:
            while java is not None and len(parts) < _INTERNAL:
                parts.append(str(java.toString()))
                java = java.getCause()
        except Exception:  # noqa: BLE001 - the JVM may be gone
            parts.append(str(error))
        return "\n".join(parts)
    return str(error) or type(error).__name__


def cause_of(text: str) -> str:
    """The sentence that says why, without classes of Java and frames of stacks."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "... ", "Driver stacktrace"))]
    lines = [line.removeprefix("Caused by: ") for line in lines if not line.endswith(_WRAPPER)] or lines
    python = [
        line for line in lines if re.match(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b(?::|$)", line)
    ]
    head = lines[0] if lines else ""
    if "Traceback (most recent call last)" in text and python:
        head = python[-1] if "aborted" not in python[-1] else head
    if "most recent failure: " in head:
        head = head.partition("most recent failure: ")[2]
    head = re.sub(r"^Lost task \S+ in stage \S+ \(TID \d+\) \([^)]*\): ", "", head)
    for pattern in (_JAVA_CLASS, _CONDITION, _JAVA_CLASS, _CONDITION):
        head = pattern.sub("", head)
    return head.rstrip()
