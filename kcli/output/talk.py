"""The messages on stderr: notes, warnings, details, debug lines. Any thread may call it.

Everything passes the sanitiser, since it may hold text made by a broker. Each line is one write, so lines of
two threads never mix.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from kcli.output.sanitise import visible
from kcli.output.terminal import heading_start, is_terminal, terminal_size, wants_colour

YELLOW, DIM, RESET = "\x1b[33m", "\x1b[2m", "\x1b[0m"


class Talk:
    """The stderr of one run. ``verbose`` counts ``-v``; ``quiet`` leaves only warnings and errors."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        *,
        quiet: bool = False,
        verbose: int = 0,
        color: str | None = None,
        environ: Mapping[str, str] | None = None,
        isatty: bool | None = None,
    ) -> None:
        self.stream = stream if stream is not None else sys.stderr
        self.quiet = quiet
        self.verbose = verbose
        self.isatty = is_terminal(self.stream) if isatty is None else isatty
        self.colour = wants_colour(self.stream, environ or {}, color)
        self.warnings: list[str] = []
        self.before_line: Callable[[], None] | None = None

    def note(self, text: str) -> None:
        """Information in a normal run: a summary, what was used, the next step."""
        if not self.quiet:
            self.write(text)

    def remark(self, text: str) -> None:
        """A note on how complete a result is; also added to the warnings of a JSON document."""
        self.warnings.append(text)
        self.note(text)

    def warn(self, text: str) -> None:
        """A problem that does not end the run; also added to the warnings of a JSON document."""
        self.warnings.append(text)
        self.write(f"warning: {text}", YELLOW)

    def detail(self, text: str, *, level: int = 1) -> None:
        """Prints with ``-v`` (level 1) or ``-vv`` (2) only."""
        if self.verbose >= level:
            self.write(text, DIM)

    def plain(self, text: str) -> None:
        """Context of a question, or requested output: printed even with ``-q``."""
        self.write(text)

    def plan(self, text: str, color: str) -> None:
        """A plan; its heading has the profile's colour."""
        first, sign, rest = visible(text).partition("\n")
        if not (color and self.colour):
            self.write(text)
            return
        self.write(first, heading_start(color))
        if sign:
            self.write(rest)

    def debug(self, text: str) -> None:
        """A trace line, with the time of day; the caller checks the area."""
        now = time.time()
        stamp = time.strftime("%H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03d}"
        self.write(f"{stamp} {text}", DIM, fold=False)

    @contextmanager
    def sent_to(self, stream: IO[str]) -> Iterator[None]:
        """Writes to another stream meanwhile, without colour: a screen has the terminal."""
        before = self.stream, self.isatty, self.colour
        self.stream, self.isatty, self.colour = stream, False, False
        try:
            yield
        finally:
            self.stream, self.isatty, self.colour = before

    def _width(self) -> int:
        return terminal_size(self.stream).columns

    def write(self, text: str, colour: str = "", *, fold: bool = True) -> None:
        """Writes lines, on a terminal folded to its width; a stderr that is closed or full is no reason to fail."""
        if self.before_line is not None:
            self.before_line()
        text = visible(text)
        if self.isatty and fold:
            from kcli.output.folding import folded_text  # few runs need it

            text = folded_text(text, self._width())
        if colour and self.colour:
            text = f"{colour}{text}{RESET}"
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except (OSError, ValueError, AttributeError):
            pass
