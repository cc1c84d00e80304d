"""Holds that a command which was run in a test has returned a code that its help lists. Not a test.

``tests/command.py`` and ``tests/in_process.py`` pass on what they ran. A code that is missing belongs to ``exits=`` of
the command, with what it means there.
"""

import functools
from collections.abc import Sequence

from kcli.cli import cli
from kcli.docgen.describe import CommandDoc, walk


def check_returned(words: Sequence[str], code: int) -> None:
    """``words`` are what follows ``kcli``. A process that was killed has returned nothing."""
    doc = _called(words)
    if doc.is_group or code < 0:
        return
    listed = {one for codes, _ in doc.exit_codes for one in codes.split()}
    assert str(code) in listed, (
        f"{' '.join(doc.path)} returned {code}, which its help does not list: see exits="
    )


def _called(words: Sequence[str]) -> CommandDoc:
    docs = _docs()
    path: tuple[str, ...] = ("kcli",)
    for word in words:
        doc = docs[path]
        name = dict(doc.aliases).get(word, word)
        if (*path, name) in docs:
            path = (*path, name)
    return docs[path]


@functools.cache
def _docs() -> dict[tuple[str, ...], CommandDoc]:
    return {doc.path: doc for doc in walk(cli, "kcli")}
