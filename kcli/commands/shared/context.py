"""The run of one command: the values of the global options, the options of its clients, stdout, stderr, the exit status.

``@pass_invocation`` gives a command its ``Invocation``. Every command imports this module, also for its ``--help``.
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

from kcli.commands.shared.exit import describe, print_error
from kcli.commands.shared.global_values import GlobalValues, environment
from kcli.core.classes import NamedTuple
from kcli.core.errors import (
    AuthError,
    BrokerError,
    ConfigError,
    KcliError,
    NotKafkaError,
    ProxyRefusedError,
    UnansweredError,
)
from kcli.core.exit_codes import ExitCode, worst
from kcli.core.hooks import Hooks
from kcli.core.permissions import granted_to
from kcli.output.sanitise import visible_line
from kcli.output.stdout import Output
from kcli.output.talk import Talk

if TYPE_CHECKING:
    from kcli.account.survey import Missing
    from kcli.commands.shared.configuration import Configuration
    from kcli.core.options import ClientOptions
    from kcli.output.progress import Progress
    from kcli.profiles.applicability import Unused
    from kcli.profiles.profile import Profile
    from kcli.profiles.resolve import Resolved

P = ParamSpec("P")
R = TypeVar("R")
O = TypeVar("O", bound="ClientOptions")  # noqa: E741
O2 = TypeVar("O2", bound="ClientOptions")

TIMEOUT = 10.0
FIRST_WAIT = 0.5


class ClusterName(NamedTuple):
    """The profile, or the address of the first broker; ``details`` may be empty (a sandbox that no option names is one),
    and ``user``, the name in the principal that the brokers see, where the options do not determine it.
    """

    name: str
    details: str
    user: str = ""


def cluster_name(resolved: Resolved) -> ClusterName:
    """The name of the cluster that these options lead to."""
    brokers = resolved.servers
    first, comma, _ = brokers.partition(",")
    details = []
    if resolved.profile is not None:
        details.append(f"profile {resolved.profile.name}")
    elif (origin := resolved.origins.get("bootstrap_servers", "")).startswith("sandbox "):
        details.append(origin)
    if login := _login(resolved):
        details.append(login)
    name = resolved.profile.name if resolved.profile is not None else first + (",…" if comma else "")
    return ClusterName(name, ", ".join(details), _user(resolved))


def _user(resolved: Resolved) -> str:
    """With PLAIN and SCRAM the principal is the user's name."""
    known = resolved.uses("sasl_mechanism") and resolved.values.get("sasl_mechanism") not in _NAMES
    return str(resolved.values.get("sasl_username") or "") if known else ""


def _login(resolved: Resolved) -> str:
    """What is known of the user before brokers have authenticated it; they may derive another principal."""
    values = resolved.values
    if resolved.uses("sasl_mechanism"):
        mechanism = str(values.get("sasl_mechanism") or "")
        if mechanism not in _NAMES:
            return f"as User:{user}" if (user := _user(resolved)) else ""
        name = values.get(_NAMES[mechanism], "")
        return f"as {name} by {mechanism}" if name else f"by {mechanism}"
    if not resolved.uses("ssl_certificate_location"):
        return ""
    file = values.get("ssl_certificate_location") or values.get("ssl_keystore_location")
    if file:
        return f"with certificate {file}"
    return "with a client certificate" if values.get("ssl_certificate_pem") else ""


_NAMES = {"OAUTHBEARER": "sasl_oauthbearer_client_id", "GSSAPI": "sasl_kerberos_principal", "AWS_MSK_IAM": ""}
"""The options that name the user of mechanisms which have no ``sasl.username``."""


def cluster_text(name: ClusterName, cluster_id: str | None) -> str:
    """``prod (cluster Qx3…f9, profile prod, as User:ops)``."""
    cluster = f"cluster {visible_line(cluster_id)}" if cluster_id else ""
    details = ", ".join(filter(None, (cluster, name.details)))
    return f"{name.name} ({details})" if details else name.name


class Invocation:
    """Everything a command needs besides its own flags.

    ``out`` is stdout, ``talk`` stderr, ``hooks`` go to the clients, ``timeout`` (seconds) bounds the first
    contact and each administrative call; ``dry_run``, ``yes`` and ``no_input`` are the global flags. ``cluster_id`` is
    known after the first contact of an administrative command.
    """

    def __init__(self, values: GlobalValues) -> None:
        self.values = values
        self.color = values.color or environment("color")
        self.out = Output(
            kind=values.output, headers=not values.no_headers, color=self.color, environ=os.environ
        )
        self.talk = Talk(quiet=values.quiet, verbose=values.verbose, color=self.color, environ=os.environ)
        for note in values.notes:
            self.talk.warn(note)
        self.given_timeout = values.timeout if values.timeout is not None else _environment_timeout()
        """Of --timeout or KCLI_TIMEOUT; None without both."""
        self.dry_run = values.dry_run
        self.yes = values.yes
        self.no_input = values.no_input
        self.areas = values.debug or frozenset()
        self.hooks = self._hooks()
        self._codes: list[int] = []
        self.missing: list[dict[str, object]] = []
        """The parts of what was asked for that could not be read, as documents have them."""
        self._missing: list[Missing] = []
        self._untold: list[Missing] = []
        self._said: set[str] = set()
        self._configuration: Configuration | None = None
        self.refusal: KcliError | None = None
        self.changes = False
        self.acting: Resolved | None = None
        self.clusters: list[Resolved] = []
        """The options of each cluster of the run."""
        self.cluster_id: str | None = None
        self.place: ClusterName | None = None
        """What is changed, where that is no cluster."""
        self.rephrase: Callable[[str], str] = str
        """What a remedy of a flow that is another command's as well is for the user of this one."""

    # configuration

    def check_may_change(self, what: str) -> None:
        """For what a command changes only with some options: ReadOnlyError as of ``Configuration.check_may_change``."""
        self.configuration.check_may_change(what)
        self.acts_under(self.configuration)

    @property
    def cluster_name(self) -> ClusterName:
        """How plans name the cluster that is changed: ``prod``, with the details ``profile prod, as User:ops``."""
        return self.place or cluster_name(self.acting or self.resolved)

    def with_user(self, remedy: str) -> str:
        """``remedy`` with the user of the command's cluster in the commands that grant a permission, where it is known.

        A mirror has two clusters, and no such user.
        """
        remedy = self.rephrase(remedy)
        return (
            granted_to(cluster_name(self._configuration.resolved).user, remedy)
            if self._configuration
            else remedy
        )

    def with_origin(self, error: BaseException, why: str) -> str:
        """``why``; of an error of TLS or a login with where its options come from, if the line does not give them."""
        if not self.clusters or not _is_of_login(error):
            return why
        from kcli.commands.shared.login_origin import login_origins  # for errors only
        from kcli.commands.shared.sources import files_of  # loaded with the configuration

        by_variable = not self.values.command_config
        origins = login_origins(str(error), self.clusters, files_of(self.values), by_variable=by_variable)
        return "; ".join(filter(None, (why, origins)))

    @property
    def profile(self) -> Profile | None:
        """The profile of the cluster that is changed; None without one, or before the configuration is read."""
        return self.acting.profile if self.acting is not None else None

    @property
    def timeout(self) -> float:
        """``--timeout``, else the ``default.api.timeout.ms`` of the run's clients, else KCLI_TIMEOUT, else 10 s."""
        return self.timeout_with(self._configuration)

    def timeout_with(self, configuration: Configuration | None) -> float:
        """``timeout`` for a cluster with a configuration of its own."""
        configured = configuration.resolved.values if configuration is not None else {}
        if self.values.timeout is None and "default_api_timeout_ms" in configured:
            return float(configured["default_api_timeout_ms"]) / 1000
        return TIMEOUT if self.given_timeout is None else self.given_timeout

    @property
    def configuration(self) -> Configuration:
        """The client options of all sources, resolved at the first access."""
        if self._configuration is None:
            # Not for --help: it loads the client options.
            from kcli.commands.shared.configuration import Configuration

            self._configuration = Configuration(
                self.values, self.talk, self.given_timeout, traced="conf" in self.areas
            )
            self.clusters.append(self._configuration.resolved)
            self.acts_under(self._configuration)
        return self._configuration

    def read_profile(self) -> None:
        """For a command that changes things without a broker: the profile's marks count."""
        # As above.
        from kcli.commands.shared.configuration import Configuration

        traced = "conf" in self.areas
        self._configuration = Configuration(
            self.values, self.talk, self.given_timeout, traced=traced, need_broker=False
        )
        self.acts_under(self._configuration)

    def acts_under(self, configuration: Configuration) -> None:
        """Sets the configuration whose profile is asked before anything is changed: a mirror's target has its own."""
        self.refusal = configuration.refusal
        self.changes = configuration.changes
        self.acting = configuration.resolved

    @property
    def resolved(self) -> Resolved:
        """See ``Configuration``."""
        return self.configuration.resolved

    def client_options(self, kind: type[O], *, unused: Mapping[str, Unused] | None = None, **own: Any) -> O:
        """See ``Configuration``; ``own`` are the command's flags by field name (None: not given)."""
        configuration = self.configuration  # before the timeout, which it may set
        return configuration.client_options(kind, self.timeout, unused or {}, own)

    def pair_options(
        self,
        kinds: tuple[type[O], type[O2]],
        *,
        unused: Mapping[str, Unused],
        own: tuple[Mapping[str, Any], Mapping[str, Any]],
    ) -> tuple[O, O2]:
        """See ``Configuration``."""
        configuration = self.configuration  # before the timeout, which it may set
        return configuration.pair_options(kinds, self.timeout, unused, own)

    def inner_options(self, kind: type[O], **own: Any) -> O:
        """See ``Configuration``."""
        configuration = self.configuration
        return configuration.inner_options(kind, self.timeout, own)

    # failures and the exit status

    def failed(self, error: KcliError, *, partly: bool = False) -> None:
        """Reports one failure of several; it counts for the exit status that ``finish`` returns.

        ``partly``: the exit status is 6, whatever the error's own is, since the rest was done.
        """
        self._report_missing()
        self._codes.append(self.report(error, partly=partly))

    def lacks(self, part: Missing, *, later: bool = False, told: bool = False) -> None:
        """A part of what was asked for could not be read: it stands in the document, and counts for the exit status.

        Where anything else was read that is 6, whatever kept this away. ``later``: it is reported below the table, by
        ``finish`` at the latest; ``told``: it has been reported.
        """
        self.missing.append(part.entry())
        self._missing.append(part)
        if later:
            self._untold.append(part)
        elif not told:
            self.report(part.error)

    def lacks_rest(self, code: int, why: str = "the command was stopped before the end") -> None:
        """For the document only: what has cut the rest off is reported elsewhere, and counts there."""
        self.missing.append({"what": "the rest", "where": None, "why": why, "code": int(code)})

    def _report_missing(self) -> None:
        for part in self._untold:
            self.report(part.error)
        self._untold.clear()

    def report(self, error: KcliError, *, partly: bool = False) -> int:
        """Prints an error whose part in the exit status is counted elsewhere; returns its code."""
        code, what, why, do = describe(error)
        why = self.with_origin(error, why)
        code = ExitCode.PARTLY if partly else code
        print_error(code, what, why, do, self.values)
        return code

    def finish(self, *, done: bool, also: Iterable[int] = ()) -> int:
        """The exit status after the failures so far; ``done``: whether anything was completed, or read."""
        self._report_missing()
        missing = [ExitCode.PARTLY if done else part.code for part in self._missing]
        return worst((*self._codes, *also, *missing), done=done)

    @property
    def omits_passed(self) -> bool:
        """Whether -q leaves out the table of a check that has passed. What programs read stays."""
        return self.values.quiet and self.out.list_kind() in ("table", "plain", "wide")

    def page(self) -> None:
        """Pages the output of this run if it is longer than the terminal."""
        if not self.values.no_pager:
            self.out.hold()

    # progress and waiting

    def progress(self, title: str, *, total: int | None = None, unit: str = "records") -> Progress:
        """``with inv.progress("produced") as bar: bar.update(records, bytes, failed=3)``."""
        from kcli.output.progress import Progress, progress_style  # few runs need it

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

    def _hooks(self) -> Hooks:
        return Hooks(
            log=self._log, wire=self._wire if "proto" in self.areas else None, missing=self._lacks_part
        )

    def _lacks_part(self, error: KcliError) -> None:
        """A part that a client has not found; each client of a command says the same."""
        if str(error) not in self._said:
            from kcli.account.survey import Missing  # rare

            self._said.add(str(error))
            self.lacks(Missing.of(error))

    def _log(self, level: str, area: str, message: str) -> None:
        """Writes one line for an event, whatever line ends a peer has put into its text."""
        message = visible_line(message)
        if area in self.areas:
            self.talk.debug(f"{area}  {message}")
        elif level == "warning":
            if (
                area not in ("auth", "conf") or message not in self._said
            ):  # each client of a command has the same to say
                self.talk.warn(message)
            self._said.add(message)
        elif level == "note":
            if message not in self._said:
                self.talk.note(message)
            self._said.add(message)
        else:
            self.talk.detail(message, level=1 if level == "info" else 2)

    def _wire(
        self, direction: str, node: Any, correlation_id: int, api: str, version: int, size: int
    ) -> None:
        name = "bootstrap" if node.id < 0 else str(node.id)
        where = f"{name}@{node.host}:{node.port}"
        self.talk.debug(f"{direction} {where} #{correlation_id} {api} v{version} {size} bytes")


def _is_of_login(error: BaseException | None) -> bool:
    """Whether a connection was not secured, or the client not authenticated; of a broker's answers to requests no."""
    while error is not None and not isinstance(error, BrokerError):
        if isinstance(error, AuthError | NotKafkaError | UnansweredError):
            return not isinstance(error, ProxyRefusedError)
        error = error.__cause__
    return False


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


def _environment_timeout() -> float | None:
    text = environment("timeout")
    if text is None:
        return None
    from kcli.core.positions import parse_duration_ms  # only where the variable is set

    try:
        seconds = parse_duration_ms(text) / 1000
        if seconds <= 0:
            raise ValueError("it must be more than 0")
    except ValueError as error:
        raise ConfigError(f"KCLI_TIMEOUT={text}", why=str(error), do="write 10s, 500ms, 1m30s") from None
    return seconds


def stdin_is_terminal() -> bool:
    """Whether stdin is a terminal, so that input has to be typed."""
    return sys.stdin is not None and sys.stdin.isatty()
