"""The client options of a run: those of all sources resolved, checked against what the command uses; and what the marks
of a profile forbid: ``read_only`` every command that changes the cluster. A password that no source gives is asked for.

A command declares whether it does (``changes`` of ``command.Command``); one that does not say counts as if it did.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcli.commands.shared.global_values import GlobalValues
from kcli.commands.shared.sources import sources_of
from kcli.core import classes
from kcli.core.errors import ConfigError
from kcli.core.options import OF_BROKERS, ClientOptions, key_of, option_names
from kcli.core.secret import Secret
from kcli.output.sanitise import visible
from kcli.output.talk import Talk
from kcli.profiles.applicability import Unused, check, unused_options
from kcli.profiles.profile import COMMAND_LINE, ReadOnlyError, read_only_refusal
from kcli.profiles.resolve import Resolved, origin_lines, resolve
from kcli.profiles.secret_keys import lacks_password
from kcli.profiles.secrets import SecretReader, check_private_files, registry_values
from kcli.profiles.sources import Sources

if TYPE_CHECKING:
    from kcli.serde.registry.options import RegistryOptions


def asked_password(values: Mapping[str, Any], talk: Talk, *, no_input: bool) -> Secret:
    """The password that is typed; ConfigError without a terminal, with ``--no-input``, or without an answer."""
    user, brokers = values["sasl_username"], values.get("bootstrap_servers", "")
    if no_input or not talk.isatty or not has_terminal():
        raise ConfigError(
            f"there is no password for user {user}",
            why=f"sasl.mechanism is {values['sasl_mechanism']}, and "
            + ("--no-input was given" if no_input else "there is no terminal to ask at"),
            do="set sasl.password_file or sasl.password_command, sasl.password=keyring:SERVICE/USER, "
            "or the variable KCLI_X_SASL_PASSWORD",
        )
    from getpass import getpass  # only where a password is asked for

    try:
        text = getpass(visible(f"Password of {user} at {brokers}: "))
    except EOFError:
        text = ""
    if not text:
        raise ConfigError(f"there is no password for user {user}", why="none was typed", do="try again")
    return Secret(text)


def has_terminal() -> bool:
    """Whether the process has a terminal, even if stdin is something else."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def leave_no_core() -> None:
    """A crash writes no core file from now on: it would contain the secrets."""
    import resource  # only where there are secrets

    _soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


Changes = bool | Callable[[Mapping[str, Any]], bool]
"""Whether a command changes the cluster, or a function of its flags that tells."""


def may_change(changes: Changes | None, flags: Mapping[str, Any]) -> bool:
    """Whether a command with these flags changes anything on the cluster."""
    if callable(changes):
        return changes(flags)
    return changes is not False


O = TypeVar("O", bound=ClientOptions)  # noqa: E741
P = TypeVar("P", bound=ClientOptions)


class Configuration:
    """``resolved`` are the options of all sources; their warnings and notes are written when it is made. Secrets are
    read, and a missing password is asked for, when the options of the first client are wanted.

    ``traced``: ``--debug=conf``. ``sources`` replaces those of the command line. ``changes``: whether the cluster is
    changed (None: as the command declares it). ``need_broker``: False where no broker is contacted. ``refusal`` is the
    error of a dry run of what a read-only profile forbids; any other run of it raises that error. A ``timeout`` is that
    of the run, in seconds.
    """

    def __init__(
        self,
        values: GlobalValues,
        talk: Talk,
        command_seconds: float | None,
        *,
        traced: bool,
        sources: Sources | None = None,
        changes: bool | None = None,
        need_broker: bool = True,
    ) -> None:
        self._values = values
        self._talk = talk
        self._traced = traced
        self._unused: dict[str, Unused] = {}
        self._secrets = SecretReader(os.environ, talk.warn, command_seconds)
        self._revealed: Resolved | None = None
        self.refusal: ReadOnlyError | None = None
        self.resolved = resolve(
            sources if sources is not None else sources_of(values, self.find_sandbox), need_broker=need_broker
        )
        context = click.get_current_context()
        if changes is None:
            changes = may_change(getattr(context.command, "changes", None), context.params)
        self.changes = bool(changes) and not values.dry_run
        if changes:
            self.check_may_change(f"`{context.command_path}`")
        report_sources(self._talk, self.resolved)

    def check_may_change(self, what: str) -> None:
        """ReadOnlyError if the profile is read-only; a dry run continues, and ends with that error."""
        self.refusal = self.refusal or read_only_refusal(self.resolved.profile, what)
        if self.refusal is not None and not self._values.dry_run:
            raise self.refusal

    def client_options(
        self, kind: type[O], timeout: float, unused: Mapping[str, Unused], own: Mapping[str, Any]
    ) -> O:
        """The options of the command's main client; ``own`` are its flags by field name (None: not given).

        ``unused``: options of that client that this run does not use. ConfigError where ``-X`` names one of them, or
        an option of another client; in files and the environment, which commands share, they are ignored.
        """
        self._unused = unused_options(self.resolved, [kind], unused, own)
        check(self.resolved, self._unused, click.get_current_context().command_path)
        self._report_use(own)
        return self._usable().options(kind, self._own(timeout, own), without=self._unused)

    def pair_options(
        self,
        kinds: tuple[type[O], type[P]],
        timeout: float,
        unused: Mapping[str, Unused],
        own: tuple[Mapping[str, Any], Mapping[str, Any]],
    ) -> tuple[O, P]:
        """``client_options`` of a command with two main clients: each takes the options that it knows."""
        mine, theirs = own
        self._unused = unused_options(self.resolved, kinds, unused, {**mine, **theirs})
        check(self.resolved, self._unused, click.get_current_context().command_path)
        self._report_use({**mine, **theirs})
        usable = self._usable()
        first, second = (self._unused.keys() | (usable.values.keys() - option_names(kind)) for kind in kinds)
        return (
            usable.options(kinds[0], self._own(timeout, mine), without=first),
            usable.options(kinds[1], self._own(timeout, theirs), without=second),
        )

    def inner_options(self, kind: type[O], timeout: float, own: Mapping[str, Any]) -> O:
        """The options of a further client of the command: how to reach the cluster, and ``own``."""
        resolved = self._usable()
        common = resolved.options(ClientOptions, without=self._unused)
        given = {name: getattr(common, name) for name in resolved.values if hasattr(common, name)}
        given |= {
            name: resolved.values[name] for name in OF_BROKERS & resolved.values.keys() & option_names(kind)
        }
        return resolved.options(kind, {**given, **self._own(timeout, own)}, without=resolved.values)

    def registry_options(self, timeout: float | None = None) -> "RegistryOptions":
        """How to reach the schema registry. ``timeout``: the seconds that the user gives a request, None for none."""
        from kcli.serde.registry.options import RegistryOptions  # rare: most runs name no registry

        found = registry_values(self._secrets, self.resolved.registry, self._login)
        if "proto" in (self._values.debug or ()):
            found["schema_registry_wire"] = self._talk.debug
        if timeout is not None:
            found["schema_registry_api_timeout_ms"] = max(1, round(timeout * 1000))
        return RegistryOptions.build(found)

    def _login(self) -> tuple[str, Secret | None]:
        values = self._usable().values
        return values.get("sasl_username", ""), values.get("sasl_password")

    def check_registry_used(self, serdes: Sequence[str]) -> None:
        """See ``check_no_registry``, for the ``serdes`` of a run."""
        if serdes:
            from kcli.serde.names import parse_serdes  # only with -s

            if parse_serdes(serdes).may_ask_registry:
                return
        self.check_no_registry()

    def check_no_registry(self) -> None:
        """ConfigError if ``-X`` gives an option of a schema registry, for a run that uses none."""
        for name, origin in self.resolved.registry_origins.items():
            if origin == COMMAND_LINE:
                raise ConfigError(
                    f"-X {key_of(name)} has no effect",
                    why="no schema registry is used: `kcli registry` uses one, and so do consume and produce with -s",
                    do="leave it out, or add -s, as in -s value=avro",
                )

    def _usable(self) -> Resolved:
        """The options with their secrets."""
        if self._revealed is None:
            found = self.resolved.revealed(self._secrets.read)
            if lacks_password(found.values) or found.has_secrets:
                found = self._with_password(found)
            for text in check_private_files(found):
                self._talk.warn(text)
            self._revealed = found
        return self._revealed

    def _with_password(self, found: Resolved) -> Resolved:
        """With the password that is missing, typed at the terminal."""
        from kcli.commands.shared.configuration import asked_password, leave_no_core  # only with secrets

        if lacks_password(found.values):
            password = asked_password(found.values, self._talk, no_input=self._values.no_input)
            found = classes.replace(found, values={**found.values, "sasl_password": password})
        if found.has_secrets:
            leave_no_core()
        return found

    def _own(self, timeout: float, own: Mapping[str, Any]) -> dict[str, Any]:
        """The options that the command sets itself. Metadata requests of a dry run create no topics."""
        creates = {"allow_auto_create_topics": False} if self._values.dry_run else {}
        return {**self._timeouts(timeout), **own, **creates}

    def _timeouts(self, timeout: float) -> dict[str, int]:
        found: dict[str, int] = {}
        budget, configured = max(1, round(timeout * 1000)), self.resolved.values
        for name, most in (
            ("default_api_timeout_ms", budget),
            (
                "socket_connection_setup_timeout_ms",
                configured.get("socket_connection_setup_timeout_ms", 10_000),
            ),
        ):
            if self._values.timeout is not None or name not in configured:
                found[name] = min(budget, most)
        return found

    def find_sandbox(self) -> tuple[str, Mapping[str, str]] | None:
        """Name and options of the running sandbox, which is said with -v: no option names that cluster. Plans name it."""
        from kcli.sandbox.discovery import find_sandbox  # only where no brokers are named

        found = find_sandbox()
        if found is not None:
            name, options = found
            self._talk.detail(f"note: sandbox {name} at {options['bootstrap.servers']}")
        return found

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


def report_sources(talk: Talk, resolved: Resolved) -> None:
    """What is to be said about where options come from: of what several clusters of a command have in common, once."""
    for text in resolved.warnings:
        if text not in talk.warnings:
            talk.warn(text)
    for text in resolved.notes:
        talk.note(text)
    for text in resolved.details:
        talk.detail(text)
    if resolved.ignored:
        keys = ", ".join(sorted({key for key, _origin in resolved.ignored}))
        talk.detail(f"options of other clients, ignored: {keys}")
