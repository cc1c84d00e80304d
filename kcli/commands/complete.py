"""``kcli __complete``: names of groups, topics, profiles or sandboxes for a shell. Hidden; its scripts call it.

    kcli __complete KIND bash LINE BREAKS        the line up to the cursor as it was typed, $COMP_WORDBREAKS
    kcli __complete KIND zsh PREFIX WORD…        the words before the cursor's as they were typed
    kcli __complete KIND fish TOKEN WORD…        the words before the cursor's without their quotes

One candidate a line; silent, exit status 0 in any case. Runs without click, in the main thread.

An alarm limits reading the configuration, and then the request to the cluster, to 0.3 s each. Its handler offers
the cached names and ends the process, so nothing that blocks (a pipe given to ``-F``, a name server, TLS) can delay
the shell. A cluster that did not respond is not asked again for 5 s, as shells ask several times for one TAB. Names
with control or invisible characters are never offered. Tested in ``tests/cli/test_complete.py``.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import NamedTuple, NoReturn

from kcli.commands.shared.global_values import ClusterWords, cluster_words
from kcli.commands.shared.sources import sources_of
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, KcliError
from kcli.core.names import GROUP_PREFIXES
from kcli.core.options import ClientOptions
from kcli.core.secret import Secret
from kcli.files.xdg import cache_home
from kcli.flows.completion.names import names_path, offered, read_names, write_names
from kcli.flows.completion.shell_words import bash_word, insertion, literal, split_words
from kcli.profiles.resolve import resolve
from kcli.profiles.secret_keys import FILE, SecretSource
from kcli.profiles.secrets import check_private_files, read_secret_file
from kcli.profiles.sources import SANDBOX, SourceFiles

LIMIT = 0.3
"""Seconds for the request to the cluster, connecting included; and as many for reading the configuration."""

_RESPONSES_WITHIN = 0.27
"""Seconds after which the responses so far are used: before the alarm, which loses them."""

_TIMEOUTS = ("request_timeout_ms", "default_api_timeout_ms", "socket_connection_setup_timeout_ms")

_SANDBOXES, _PROFILES = "sandboxes", "profiles"
_KINDS: dict[str, str | tuple[str, ...]] = {
    "groups": GROUP_PREFIXES, "topics": "__", _SANDBOXES: "", _PROFILES: ""
}  # fmt: skip
"""What may be requested, and how names begin that belong to the cluster itself, or to kcli."""


class Request(NamedTuple):
    """The request of a shell; ``render`` writes a name for the shell, None for one that it cannot insert."""

    kind: str
    prefix: str
    cluster: ClusterWords
    render: Callable[[str], str | None]


def request_of(arguments: Sequence[str], environ: Mapping[str, str]) -> Request | None:
    """The request in the arguments of ``kcli __complete``; None if there is nothing to offer. Pure."""
    kind, shell, typed, *more = arguments
    if kind not in _KINDS:
        return None
    if shell == "bash":
        *raw, current = split_words(typed)
        word = bash_word(current, more[0])
        cluster = _cluster(kind, (literal(one, environ) for one in raw))
        if word is None or cluster is None:
            return None
        return Request(kind, word.prefix, cluster, lambda name: insertion(name, word))
    zsh = shell == "zsh"
    cluster = _cluster(kind, (literal(one, environ) if zsh else one for one in more))
    prefix = typed if zsh else _value_of(literal(typed, {}))
    return None if prefix is None or cluster is None else Request(kind, prefix, cluster, str)


def _cluster(kind: str, words: Iterable[str | None]) -> ClusterWords | None:
    """What the words say about the cluster; nothing where the names are those of this machine."""
    return ClusterWords(None, (), (), None) if kind in (_SANDBOXES, _PROFILES) else cluster_words(words)


def _value_of(token: str | None) -> str | None:
    """``--option=value`` is the value."""
    return token.partition("=")[2] if token and token.startswith("--") and "=" in token else token


def complete(arguments: Sequence[str]) -> None:
    """Prints the candidates and ends the process with status 0; an exception means that there are none."""
    request = request_of(arguments, os.environ)
    if request is not None:
        _Completion(request).run()


class _Completion:
    """One run. Cached names are read before the request to the cluster, so that the alarm can use them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._kept: list[str] = []
        self._path = ""  # of the cache; empty before the request

    def run(self) -> None:
        """Resolves the configuration, and requests the names unless fresh ones are cached."""
        signal.signal(signal.SIGALRM, self._time_is_up)
        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        if self._request.kind == _SANDBOXES:
            self._finish([state.name for state in _discovery().all_states()], answered=True)
        if self._request.kind == _PROFILES:
            configs = SourceFiles().configs(lambda _error: None)
            names = [name for config in configs for name in config.names]
            sandboxes = [SANDBOX + state.name for state in _discovery().running()]
            self._finish([*names, *sandboxes], answered=True)
        found = resolve(sources_of(self._request.cluster, _find_sandbox))
        resolved = found.revealed(_secret_of_file)
        list(check_private_files(resolved))  # an error for one that others can change
        options = resolved.options(ClientOptions, dict.fromkeys(_TIMEOUTS, round(LIMIT * 1000)))
        if options.sasl_oauthbearer_token_command:
            raise ConfigError("a token is read by commands only")  # as secrets that a program prints
        path = names_path(cache_home(), self._request.kind, options)
        self._kept, fresh = read_names(path, wall_ms() / 1000)
        if fresh:
            self._finish(self._kept, answered=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._path = path
        self._ask(options)

    def _ask(self, options: ClientOptions) -> None:
        from kcli.flows.completion.names_request import request_names  # only where no fresh names are cached

        signal.setitimer(signal.ITIMER_REAL, LIMIT)
        try:
            names, whole = request_names(self._request.kind, options, _RESPONSES_WITHIN)
        except KcliError:
            names, whole = [], False
        self._finish(names if whole else [*names, *self._kept], answered=whole)

    def _time_is_up(self, _signal: int, _frame: FrameType | None) -> None:
        self._finish(self._kept, answered=False)

    def _finish(self, names: list[str], *, answered: bool) -> NoReturn:
        """Prints and caches the names, and ends the process without waiting for threads."""
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        request = self._request
        rows = map(request.render, offered(names, request.prefix, hide=_KINDS[request.kind]))
        _print("".join(f"{row}\n" for row in rows if row is not None))
        if self._path:
            write_names(self._path, names, wall_ms() / 1000, answered=answered)
        os._exit(0)


def _print(text: str) -> None:
    """Writes to stdout, whatever the locale, and closes it: the shell does not wait for the cache."""
    data = text.encode("utf-8", "replace")
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(1, data) :]
    with contextlib.suppress(OSError):
        os.close(1)


def _discovery() -> ModuleType:
    from kcli.sandbox import discovery  # json; not where brokers are named

    return discovery


def _secret_of_file(source: SecretSource) -> Secret:
    """TAB runs no command and asks no keyring, which might ask the user."""
    if source.kind != FILE:
        raise ConfigError(f"{source.key} is read by commands only")
    return Secret(read_secret_file(source, lambda _warning: None))


def _find_sandbox() -> tuple[str, Mapping[str, str]] | None:
    found: tuple[str, Mapping[str, str]] | None = _discovery().find_sandbox()
    return found
