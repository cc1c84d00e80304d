"""What needs the order of values at a path into JSON: refused by both engines, since a path is text. Pure.

As texts, 101.2 comes before 21.5: ``max(value:temp)`` would have a result, and a wrong one. Whether numbers or texts are
meant is only known to who writes the query. Equality, groups and joins compare what the JSON says, and are allowed.
"""

import re

from kcli.core.errors import ConfigError

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def no_order(path: str, what: str) -> ConfigError:
    """The error. ``path``: as the user wrote it; ``what``: a function, a clause or a sign."""
    return ConfigError(
        f"the SQL has {what} of {path}, which has no type",
        why="a path into JSON is text, and among texts 101.2 comes before 21.5",
        do=f"write {path}::double for numbers, {path}::string for texts, {path}::timestamp for times",
    )


def is_number(text: str) -> bool:
    """Whether a literal text is a number in quotes: beside it, texts of JSON are meant as numbers."""
    return _NUMBER.fullmatch(text) is not None
