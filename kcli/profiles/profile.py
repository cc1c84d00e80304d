"""A profile: the options of one cluster under a name, and the marks that protect it; options as pairs of texts, as every
source

gives them. Pure.
"""

from collections.abc import Callable, Mapping

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import ConfigError

COMMAND_LINE = "-X"


class Pair(NamedTuple):
    """``origin``: the option, variable or ``file:line`` that gave it."""

    key: str
    text: str
    origin: str


Report = Callable[[ConfigError], None]
"""Is called with each error. It raises it, or keeps it (``kcli config check`` lists them all)."""


def raise_error(error: ConfigError) -> None:
    """The ``Report`` of a run: the first error ends it."""
    raise error


COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan")
RECORD_FORMATS = ("value", "pretty", "table", "ndjson", "hex")
MARKS = {
    "color": f"colour of headings and prompts: {', '.join(COLORS)}",
    "read_only": "true refuses every command that changes the cluster",
    "protected": "true requires --confirm NAME in place of --yes",
    "record_format": f"format of consume on a terminal: {', '.join(RECORD_FORMATS)}",
    "description": "shown by kcli profile list -o wide",
}
"""Keys of a profile that are no options of a client, with their meaning. ``cluster_id`` is one: cluster.id."""


@dataclass(frozen=True, slots=True)
class Profile:
    """``origin``: the file, and the line where it begins; ``mark_origins`` those of its marks.

    ``color`` is that of headings and prompts. ``read_only``: commands that change anything are refused.
    ``protected``: --yes does not confirm. ``record_format``: of ``consume`` on a terminal, empty for the usual one.
    """

    name: str
    origin: str
    pairs: tuple[Pair, ...] = ()
    color: str = ""
    read_only: bool = False
    protected: bool = False
    record_format: str = ""
    description: str = ""
    mark_origins: Mapping[str, str] = field(default_factory=dict)

    def text(self, key: str) -> str:
        """The value of a key as it was written, empty without it."""
        return next((pair.text for pair in reversed(self.pairs) if pair.key == key), "")
