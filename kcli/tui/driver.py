"""Textual's driver of the terminal, which survives a terminal that goes away and input that is not UTF-8."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import termios
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Mapping
from contextlib import suppress
from threading import Event
from typing import IO, TYPE_CHECKING, Any

from textual import constants
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from kcli.tui.background import QUESTION, Answers, answers_questions
from kcli.tui.charset import in_charset

if TYPE_CHECKING:
    from textual.app import App

_CHUNK = 4_096
_PATIENCE = 0.1  # seconds between two looks at whether the driver has to end
_ESCAPE = 0.025  # seconds after which a lone escape is a key
_LAST_PATIENCE = 1.0  # seconds for a terminal to take what gives it back
_LATE = 5.0  # seconds after the question from which on an answer is hardly expected
_ANSWERED_WITHIN = 0.3  # seconds after the question for which an end waits for the answer
_AS_BEFORE = (
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l"
    "\x1b[<u\x1b[0m\x1b[?1049l\x1b[?25h"
)
"""Ends what the driver begins: synchronized output, bracketed paste, mouse, focus, keyboard protocol, the alternate
screen, a hidden cursor.
"""


class TopDriver(LinuxDriver):
    """Calls ``terminal_gone`` of the application, once it cannot be read from or written to any more.

    Textual's own one reads an end of file over and over, waits without end for a writer that has failed, and ends at a
    byte that is not UTF-8.
    """

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._file = self._guarded = _Guarded(sys.__stderr__, self._gone)  # type: ignore[assignment]
        self.exit_event = self._ending = _Ending()
        self._is_gone = False
        self._has_to_stop = self._is_suspended = False
        self._answers, self._answered = Answers(), threading.Event()
        self._asked_at = 0.0
        self._asks = bool(getattr(app, "follows_background", False)) and answers_questions(os.environ)

    def start_application_mode(self) -> None:
        """Asks for the background too. The answer comes through the thread that reads keys, at any time."""
        self._answers.awaited = self._asks
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._asks and self._writer_thread is not None and self._writer_thread.is_alive():
            self._answered.clear()
            self._asked_at = time.monotonic()
            self.write(QUESTION)
            self.flush()
        else:
            self._answered.set()

    def disable_input(self) -> None:
        """An answer that is on its way is not left to the shell, which would take it for typed."""
        self._answered.wait(max(0.0, self._asked_at + _ANSWERED_WITHIN - time.monotonic()))
        super().disable_input()

    # A signal handler runs between two steps of whatever the main thread does, also of another handler: it only schedules
    # the work. Done in the handlers, as by Textual, a stop that came while the screen was continued was lost, or left the
    # terminal as neither the screen nor the shell has it.

    def _sigtstp_application(self, *_: object) -> None:
        self._has_to_stop = True
        asyncio.get_running_loop().call_soon_threadsafe(self._stop)

    def _sigcont_application(self, *_: object) -> None:
        asyncio.get_running_loop().call_soon_threadsafe(self._continue)

    def _stop(self) -> None:
        """Gives the terminal back, and stops the process until SIGCONT."""
        if not self._has_to_stop:
            return
        if self._auto_restart and not self._is_suspended:
            self.suspend_application_mode()
            self._is_suspended = self._must_signal_resume = True
        self._has_to_stop = False
        os.kill(os.getpid(), signal.SIGSTOP)

    def _continue(self) -> None:
        """Takes the terminal again. Continued in the background (``bg``), the process is stopped by the attempt, and
        tries again when it is continued the next time.
        """
        if self._is_suspended:
            self.resume_application_mode()
            self._is_suspended = self._writer_thread is None or not self._writer_thread.is_alive()

    def _get_terminal_size(self) -> tuple[int, int]:
        """The size of the terminal itself: stdout may be redirected, and variables of the environment may be wrong."""
        with suppress(OSError):
            size = os.get_terminal_size(self.fileno)
            if size.columns and size.lines:
                return size.columns, size.lines
        return super()._get_terminal_size()

    def run_input_thread(self) -> None:
        """Keys and mouse, until the driver ends or the terminal does."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder(getattr(sys.__stderr__, "encoding", None) or "utf-8")("replace").decode
        escape = escape_delay(os.environ)
        poll = select.poll()
        poll.register(self.fileno, select.POLLIN)
        poll.register(self._ending, select.POLLIN)
        while True:
            is_begun = parser._timeout_time is not None
            ready = poll.poll(1_000 * (escape if is_begun else _PATIENCE))
            if self.exit_event.is_set():
                return
            if ready:
                try:
                    data = os.read(self.fileno, _CHUNK)
                except OSError:
                    data = b""
                if not data:
                    self._gone()
                    return
                if text := self._typed(decode(data)):
                    for message in parser.feed(text):
                        self.process_message(message)
            elif text := self._answers.kept():
                for message in parser.feed(text):
                    self.process_message(message)
            if is_begun and not ready:
                parser._timeout_time = 0.0
            for message in parser.tick():
                self.process_message(message)

    def _typed(self, text: str) -> str:
        """Without the terminal's answers."""
        before = self._answers.light
        typed = self._answers.typed(text, late=time.monotonic() - self._asked_at > _LATE)
        if self._answers.light is not None and self._answers.light != before:
            self._app.call_later(self._app.suit, light=self._answers.light)  # type: ignore[attr-defined]
        if not self._answers.awaited:
            self._answered.set()
        return typed

    def _run_input_thread(self) -> None:
        try:
            self.run_input_thread()
        except Exception as error:  # noqa: BLE001 - the application reports it
            self._app.call_later(self._app._handle_exception, error)

    def _gone(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            self._app.call_later(self._app.terminal_gone)  # type: ignore[attr-defined]

    def restore_at_once(self) -> None:
        """Gives the terminal back without waiting for any thread: for the end of the process inside a signal handler.

        The end of a frame that is still on its way to a slow terminal is waited for, for a second: the terminal is
        opened anew, as only a descriptor of its own may be made non-blocking (the shell shares the others).
        """
        self._guarded.silence()
        with suppress(OSError, ValueError, termios.error):
            if self.attrs_before is not None:
                termios.tcsetattr(self.fileno, termios.TCSANOW, self.attrs_before)
            terminal = os.open(os.ttyname(self._guarded.fileno()), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
            left, give_up = _AS_BEFORE.encode(), time.monotonic() + _LAST_PATIENCE
            while left and (wait := give_up - time.monotonic()) > 0:
                if select.select([], [terminal], [], wait)[1]:
                    with suppress(BlockingIOError):
                        left = left[os.write(terminal, left) :]


def escape_delay(environ: Mapping[str, str]) -> float:
    """Seconds for what follows an escape that begins a sequence: a network may deliver the two apart. ESCDELAY is in ms,
    as for ncurses.
    """
    is_remote = any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"))
    return constants.ESCAPE_DELAY if is_remote or "ESCDELAY" in environ else _ESCAPE


class _Ending(Event):
    """Set when the thread that reads keys has to end. It is joined then, and waits for keys: a pipe wakes it."""

    def __init__(self) -> None:
        super().__init__()
        self._awake, self._wake = os.pipe()

    def fileno(self) -> int:
        """Becomes readable when it is set."""
        return self._awake

    def set(self) -> None:
        """Ends waiting."""
        super().set()
        os.write(self._wake, b"!")

    def clear(self) -> None:
        """For the next thread, which begins to read keys when the terminal is taken again."""
        if self.is_set():
            os.read(self._awake, _CHUNK)
        super().clear()


class _Guarded:
    """A stream whose failures are reported once and otherwise ignored: the thread that writes has to go on."""

    def __init__(self, stream: IO[str] | None, failed: Any) -> None:
        self._stream, self._failed = stream, failed
        self._encoding = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        """All of it, or nothing more at all."""
        if self._stream is not None:
            try:
                self._stream.write(in_charset(text, self._encoding))
                return len(text)
            except (OSError, ValueError):
                self._fail()
        return len(text)

    def flush(self) -> None:
        """As far as that is possible."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError):
                self._fail()

    def fileno(self) -> int:
        """That of the stream."""
        return 2

    def isatty(self) -> bool:
        """As far as Textual asks."""
        return True

    def silence(self) -> None:
        """Nothing more is written."""
        self._stream = None

    def _fail(self) -> None:
        self.silence()
        self._failed()
