"""Blocks of the README between ``<!-- docgen:commands -->`` and ``<!-- docgen:end -->``. Pure."""

import re
from collections.abc import Sequence

from kcli.docgen.describe import CommandDoc

_BLOCK = re.compile(r"(<!-- docgen:commands -->\n).*?(<!-- docgen:end -->)", re.DOTALL)


def filled(text: str, docs: Sequence[CommandDoc]) -> str:
    """The README with its blocks replaced; unchanged if it has no marker."""
    return _BLOCK.sub(lambda match: match[1] + _table(docs) + match[2], text)


def _table(docs: Sequence[CommandDoc]) -> str:
    rows = [f"| `{' '.join(doc.path)}` | {doc.summary} |" for doc in docs if not doc.is_group]
    return "\n".join(("| command | |", "|---|---|", *rows)) + "\n"
