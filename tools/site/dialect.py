"""Markdown as GitHub reads it, for Python-Markdown, which reads some of it otherwise. Pure."""

import re

_FENCE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
_ROW = re.compile(r"^ *\|.*$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")


def for_python_markdown(text: str) -> str:
    """The same page.

    What follows the language of a block of code is ignored on GitHub, and would be no block. In the code of a table a
    bar needs a backslash on GitHub, which would be shown.
    """
    text = _FENCE.sub(r"\1", text)
    return _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)
