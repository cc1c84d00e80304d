"""The client options of a run: those of all sources resolved, checked against what the command uses."""

from collections.abc import Mapping
from typing import Any, TypeVar

import click

from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.sources import sources_of
from kcli.core.errors import ConfigError
from kcli.core.options import ClientOptions, key_of
from kcli.output.talk import Talk
from kcli.profiles.applicability import Unused, check, unused_options
from kcli.profiles.resolve import Resolved, origin_lines, resolve
from kcli.profiles.sifting import COMMAND_LINE

O = TypeVar("O", bound=ClientOptions)  # noqa: E741


class Configuration:
    """``resolved`` are the options of all sources; their warnings and notes are written when it is made.

    ``traced``: ``--debug=conf``. A ``timeout`` is that of the run, in seconds.
    """

    def __init__(self, values: GlobalValues, talk: Talk, *, traced: bool) -> None:
        self._values = values
        self._talk = talk
        self._traced = traced
        self._unused: dict[str, Unused] = {}
        self.resolved = resolve(sources_of(values, self._find_sandbox))
        self._report(self.resolved)

    def client_options(
        self, kind: type[O], timeout: float, unused: Mapping[str, Unused], own: Mapping[str, Any]
    ) -> O:
        """The options of the command's main client; ``own`` are its flags by field name (None: not given).

        ``unused``: options of that client that this run does not use. ConfigError where ``-X`` names one of them, or
        an option of another client; in files and the environment, which commands share, they are ignored.
        """
        self._unused = unused_options(self.resolved, kind, unused, own)
        check(self.resolved, self._unused, click.get_current_context().command_path)
        self._report_use(own)
        return self.resolved.options(kind, {**self._timeouts(timeout), **own}, without=self._unused)

    def inner_options(self, kind: type[O], timeout: float, own: Mapping[str, Any]) -> O:
        """The options of a further client of the command: how to reach the cluster, and ``own``."""
        resolved = self.resolved
        common = resolved.options(ClientOptions, without=self._unused)
        given = {name: getattr(common, name) for name in resolved.values if hasattr(common, name)}
        return resolved.options(kind, {**given, **self._timeouts(timeout), **own}, without=resolved.values)

    def check_no_registry(self) -> None:
        """ConfigError if ``-X`` gives an option of a schema registry, for a run that uses none."""
        for name, origin in self.resolved.registry_origins.items():
            if origin == COMMAND_LINE:
                raise ConfigError(
                    f"-X {key_of(name)} has no effect",
                    why="no schema registry is used: only `kcli consume` and `kcli produce` with -s use one",
                    do="leave it out, or add -s, as in -s value=avro",
                )

    def _timeouts(self, timeout: float) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, limit in (
            ("default_api_timeout_ms", None),
            ("socket_connection_setup_timeout_ms", 10_000),
        ):
            if self._values.timeout is not None or name not in self.resolved.values:
                budget = round(timeout * 1000)
                found[name] = max(1, min(budget, limit) if limit else budget)
        return found

    def _find_sandbox(self) -> tuple[str, Mapping[str, str]] | None:
        from kcli.sandbox.discovery import find_sandbox  # only where no brokers are named

        found = find_sandbox()
        if found is not None:
            name, options = found
            self._talk.detail(f"using the running sandbox {name} ({options['bootstrap.servers']})")
        return found

    def _report(self, resolved: Resolved) -> None:
        for text in resolved.warnings:
            self._talk.warn(text)
        for text in resolved.notes:
            self._talk.note(text)
        for text in resolved.details:
            self._talk.detail(text)
        if resolved.ignored:
            keys = ", ".join(sorted({key for key, _origin in resolved.ignored}))
            self._talk.detail(f"options of other clients, ignored: {keys}")

    def _report_use(self, own: Mapping[str, Any]) -> None:
        if self._unused:
            keys = ", ".join(sorted(map(key_of, self._unused)))
            self._talk.detail(f"options that this command does not use: {keys}")
        if self._traced:
            configured = self.resolved.values
            overridden = [n for n, v in own.items() if v is not None and configured.get(n, v) != v]
            remarks = dict.fromkeys(overridden, "overridden by a flag")
            remarks |= dict.fromkeys(self._unused, "not used by this command")
            for text in origin_lines(self.resolved, remarks):
                self._talk.debug(f"conf  {text}")
