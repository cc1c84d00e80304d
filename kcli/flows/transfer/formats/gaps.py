"""How a file of offsets says that it does not have all that was asked for: in comments before its first line. Pure.

Files that have everything are as other tools write them. kcli's ndjson has a document in this place.
"""

from collections.abc import Mapping, Sequence

from kcli.output.sanitise import visible_line

_BEGIN = "# not complete: "


def comments(missing: Sequence[Mapping[str, object]], warning: str) -> str:
    """A line for each part that is missing, and one for a warning that there may be more; empty without both."""
    texts = [": ".join(dict.fromkeys((str(part["what"]), str(part["why"])))) for part in missing]
    texts += [warning] * bool(warning)
    return "".join(f"{_BEGIN}{visible_line(text)}\n" for text in texts)


def without_comments(text: str) -> str:
    """The text with empty lines in place of the comments, so that the others keep their numbers."""
    lines = text.split("\n")
    count = next((at for at, line in enumerate(lines) if not line.startswith(_BEGIN)), 0)
    return "\n".join([*[""] * count, *lines[count:]])
