"""The run of one command: the values of the global options, the options of its clients, stdout, stderr, the exit status.

``@pass_invocation`` gives a command its ``Invocation``. Every command imports this module also for its ``--help``, so the
client options, which cost 15 ms, are imported by the methods that use them.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from kcli.commands.shared.exit import describe, print_error, worst
from kcli.commands.shared.global_values import GlobalValues, environment
from kcli.core.errors import ConfigError, KcliError
from kcli.core.hooks import Hooks
from kcli.core.positions import parse_duration_ms
from kcli.output.progress import Progress, progress_style
from kcli.output.stdout import Output
from kcli.output.talk import Talk

if TYPE_CHECKING:
    from kcli.core.options import ClientOptions
    from kcli.profiles.applicability import Unused
    from kcli.profiles.resolve import Resolved

P = ParamSpec("P")
R = TypeVar("R")
O = TypeVar("O", bound="ClientOptions")  # noqa: E741

TIMEOUT = 10.0
FIRST_WAIT = 0.5
PARTLY = 6


class Invocation:
    """Everything a command needs besides its own flags.

    ``out`` is stdout, ``talk`` stderr, ``hooks`` go to the clients, ``timeout`` (seconds) bounds the first
    contact and each administrative call; ``dry_run``, ``yes`` and ``no_input`` are the global flags.
    """

    def __init__(self, values: GlobalValues) -> None:
        self.values = values
        self.color = values.color or environment("color")
        self.out = Output(
            kind=values.output, headers=not values.no_headers, color=self.color, environ=os.environ
        )
        self.talk = Talk(quiet=values.quiet, verbose=values.verbose, color=self.color, environ=os.environ)
        self._timeout = values.timeout if values.timeout is not None else _environment_timeout()
        self.dry_run = values.dry_run
        self.yes = values.yes
        self.no_input = values.no_input
        self.areas = values.debug or frozenset()
        self.hooks = self._hooks()
        self._codes: list[int] = []
        self._resolved: Resolved | None = None
        self._unused: dict[str, Unused] = {}

    # configuration

    @property
    def timeout(self) -> float:
        """``--timeout``, else the ``default.api.timeout.ms`` of the run's clients, else KCLI_TIMEOUT, else 10 s."""
        configured = self._resolved.values if self._resolved is not None else {}
        if self.values.timeout is None and "default_api_timeout_ms" in configured:
            return float(configured["default_api_timeout_ms"]) / 1000
        return self._timeout

    @property
    def resolved(self) -> Resolved:
        """The client options of all sources, resolved once; warnings and notes about them are written then."""
        if self._resolved is None:
            # Not for --help.
            from kcli.commands.shared.sources import sources_of
            from kcli.profiles.resolve import resolve

            self._resolved = resolve(sources_of(self.values, self._find_sandbox))
            self._report_remarks(self._resolved)
        return self._resolved

    def client_options(self, kind: type[O], *, unused: Mapping[str, Unused] | None = None, **own: Any) -> O:
        """The options of the command's main client; ``own`` are its flags by field name (None: not given).

        ``unused``: options of that client that this run does not use. ConfigError where ``-X`` names one of them, or
        an option of another client; in files and the environment, which commands share, they are ignored.
        """
        from kcli.profiles.applicability import check, unused_options  # not for --help

        self._unused = unused_options(self.resolved, kind, unused or {}, own)
        check(self.resolved, self._unused, click.get_current_context().command_path)
        self._report_unused(own)
        return self.resolved.options(kind, {**self._timeouts(), **own}, without=self._unused)

    def inner_options(self, kind: type[O], **own: Any) -> O:
        """The options of a further client of the command: how to reach the cluster, and ``own``."""
        from kcli.core.options import ClientOptions  # not for --help

        common = self.resolved.options(ClientOptions, without=self._unused)
        given = {name: getattr(common, name) for name in self.resolved.values if hasattr(common, name)}
        return self.resolved.options(kind, {**given, **self._timeouts(), **own}, without=self.resolved.values)

    def _timeouts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, limit in (
            ("default_api_timeout_ms", None),
            ("socket_connection_setup_timeout_ms", 10_000),
        ):
            if self.values.timeout is not None or name not in self.resolved.values:
                budget = round(self.timeout * 1000)
                found[name] = max(1, min(budget, limit) if limit else budget)
        return found

    # failures and the exit status

    def failed(self, error: KcliError, *, partly: bool = False) -> None:
        """Reports one failure of several; it counts for the exit status that ``finish`` returns.

        ``partly``: the exit status is 6, whatever the error's own is, since the rest was done.
        """
        code, what, why, do = describe(error)
        code = PARTLY if partly else code
        self._codes.append(code)
        print_error(code, what, why, do, self.values)

    def finish(self, *, done: bool, also: Iterable[int] = ()) -> int:
        """The exit status after the failures so far; ``done``: whether anything was completed."""
        return worst((*self._codes, *also), done=done)

    def page(self) -> None:
        """Pages the output of this run if it is longer than the terminal."""
        if not self.values.no_pager:
            self.out.hold()

    # progress and waiting

    def progress(self, title: str, *, total: int | None = None, unit: str = "records") -> Progress:
        """``with inv.progress("produced") as bar: bar.update(records, bytes, failed=3)``."""
        choice = self.values.progress or environment("progress")
        style = progress_style(choice, self.talk, dumb=os.environ.get("TERM") == "dumb")
        return Progress(self.talk, title, style=style, total=total, unit=unit)

    @contextmanager
    def first_contact(self, where: str) -> Iterator[None]:
        """Notes on stderr that kcli is waiting for ``where`` when the block takes longer than half a second."""
        timer = threading.Timer(FIRST_WAIT, lambda: self.talk.note(f"waiting for {where} …"))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    # internals

    def _find_sandbox(self) -> str | None:
        from kcli.sandbox.discovery import find_bootstrap  # only where no brokers are named

        found = find_bootstrap()
        if found is None:
            return None
        self.talk.detail(f"using the running sandbox {found[0]} ({found[1]})")
        return found[1]

    def _report_remarks(self, resolved: Resolved) -> None:
        for text in resolved.warnings:
            self.talk.warn(text)
        for text in resolved.notes:
            self.talk.note(text)
        for text in resolved.details:
            self.talk.detail(text)
        if resolved.ignored:
            keys = ", ".join(sorted({key for key, _origin in resolved.ignored}))
            self.talk.detail(f"options of other clients, ignored: {keys}")

    def _report_unused(self, own: Mapping[str, Any]) -> None:
        # Not for --help.
        from kcli.core.options import key_of
        from kcli.profiles.resolve import origin_lines

        if self._unused:
            keys = ", ".join(sorted(map(key_of, self._unused)))
            self.talk.detail(f"options that this command does not use: {keys}")
        if "conf" in self.areas:
            configured = self.resolved.values
            overridden = [n for n, v in own.items() if v is not None and configured.get(n, v) != v]
            remarks = dict.fromkeys(overridden, "overridden by a flag")
            remarks |= dict.fromkeys(self._unused, "not used by this command")
            for text in origin_lines(self.resolved, remarks):
                self.talk.debug(f"conf  {text}")

    def _hooks(self) -> Hooks:
        return Hooks(log=self._log, wire=self._wire if "proto" in self.areas else None)

    def _log(self, level: str, area: str, message: str) -> None:
        if area in self.areas:
            self.talk.debug(f"{area}  {message}")
        elif level == "warning":
            self.talk.warn(message)
        else:
            self.talk.detail(message, level=1 if level == "info" else 2)

    def _wire(
        self, direction: str, node: Any, correlation_id: int, api: str, version: int, size: int
    ) -> None:
        name = "bootstrap" if node.id < 0 else str(node.id)
        where = f"{name}@{node.host}:{node.port}"
        self.talk.debug(f"{direction} {where} #{correlation_id} {api} v{version} {size} bytes")


def pass_invocation(
    function: Callable[Concatenate[Invocation, P], R],
) -> Callable[P, R]:
    """Decorates a command: its first argument becomes the ``Invocation``."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(invocation(), *args, **kwargs)

    return wrapper


def invocation() -> Invocation:
    """The ``Invocation`` of the current click context."""
    values = click.get_current_context().ensure_object(GlobalValues)
    if values.invocation is None:
        values.invocation = Invocation(values)
    found = values.invocation
    assert isinstance(found, Invocation)
    return found


def _environment_timeout() -> float:
    text = environment("timeout")
    if text is None:
        return TIMEOUT
    try:
        return parse_duration_ms(text) / 1000
    except ValueError as error:
        raise ConfigError(f"KCLI_TIMEOUT={text}", why=str(error), do="write 10s, 500ms, 1m30s") from None


def stdin_is_terminal() -> bool:
    """Whether stdin is a terminal, so that input has to be typed."""
    return sys.stdin is not None and sys.stdin.isatty()
