"""A profile: the options of one cluster under a name, and the marks that protect it; options as pairs of texts, as every
source

gives them. Pure.
"""

from collections.abc import Callable, Mapping

from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.errors import ConfigError, KcliError
from kcli.core.exit_codes import ExitCode

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


class ReadOnlyError(KcliError):
    """The profile allows reading only."""

    exit_code = ExitCode.REFUSED


def read_only_refusal(profile: Profile | None, what: str) -> ReadOnlyError | None:
    """The error for ``what`` under a read-only profile; None under any other."""
    if profile is None or not profile.read_only:
        return None
    return ReadOnlyError(
        f"{what} is refused: profile {profile.name} is read-only",
        why=f"read_only = true in {profile.mark_origins.get('read_only', profile.origin)}; nothing was done",
        do="use another profile, or change read_only there",
    )
