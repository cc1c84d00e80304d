"""What the steps of ``kcli demo`` share: the throw-away cluster, the lines that they print, and the proofs."""

import textwrap
from pathlib import Path
from typing import Any, TypeVar

from kcli.commands.shared.context import Invocation
from kcli.core.admin.admin import Admin
from kcli.core.classes import dataclass
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.core.options import ClientOptions
from kcli.flows.stop import Stop
from kcli.output.progress import counted, size_text
from kcli.output.talk import RESET

TOPIC, COPY, GROUP = "kcli-demo", "kcli-demo-copy", "readers"
_WIDTH = 80
_BOLD = "\x1b[1m"

O = TypeVar("O", bound=ClientOptions)  # noqa: E741


class ProofError(KcliError):
    """A step did not do what it shows."""

    exit_code = ExitCode.CHECK


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of the demo. ``records`` are in the topic; ``folder`` is removed with the cluster."""

    inv: Invocation
    admin: Admin
    servers: str
    folder: Path
    records: int
    stop: Stop

    def options(self, kind: type[O], **own: Any) -> O:
        """The options of a client of this cluster, independent of what the user has configured."""
        return kind(**{"bootstrap_servers": self.servers, "client_id": "kcli-demo", **own})

    def command(self, *words: str) -> None:
        """Prints the command line that a step stands for, in lines that a shell continues."""
        lines = textwrap.wrap(
            " ".join(("$ kcli", *words)), _WIDTH - 6, break_long_words=False, break_on_hyphens=False
        )
        text = " \\\n    ".join(lines)
        self.inv.out.text(f"\n{_BOLD}{text}{RESET}\n" if self.inv.out.colour else f"\n{text}\n")
        self.inv.out.flush()

    def line(self, word: str, text: str) -> None:
        """Prints a result."""
        self.inv.out.text(f"{word:<9} {text}\n")
        self.inv.out.flush()

    def figures(self, done: str, records: int, size: int, seconds: float) -> None:
        """Prints how much was done, and how fast."""
        rate = records / seconds if seconds else 0
        speed = f"{rate:,.0f} records/s, {size_text(size / seconds if seconds else 0)}/s"
        self.line(done, f"{counted(records, 'record')}, {size_text(size)}, in {seconds:.1f} s: {speed}")

    def text(self, text: str) -> None:
        """Prints a text of several lines; those that are longer than the terminal are broken between words."""
        self.inv.out.shown(f"{text}\n", fold=True)
        self.inv.out.flush()

    def check(self, step: str, what: str, expected: object, found: object) -> None:
        """Raises ProofError unless what was found is what the step promises."""
        if expected != found:
            raise ProofError(
                f"the step {step} of the demo failed its proof: {what}",
                why=f"{_shown(found)} was found, {_shown(expected)} was expected",
                do="report this",
            )


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
