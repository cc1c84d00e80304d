"""``kcli __complete``: names of groups, topics, profiles, sandboxes or subjects of a schema registry for a shell, and
fields of a topic's records. Hidden; its scripts call it.

    kcli __complete KIND bash LINE BREAKS        the line up to the cursor as it was typed, $COMP_WORDBREAKS
    kcli __complete KIND zsh PREFIX WORD…        the words before the cursor's as they were typed
    kcli __complete KIND fish TOKEN WORD…        the words before the cursor's without their quotes

One candidate a line, for zsh and fish with a tab and a note, if there is one; silent, exit status 0 in any case. Runs
without click, in the main thread.

An alarm limits reading the configuration, and then the request to the cluster, to 0.3 s each (0.6 s for records); the
request to 1 s where no names are cached, since otherwise a busy machine, or a login, would leave nothing to offer. Its
handler offers the cached names and ends the process, so nothing that blocks (a pipe given to ``-F``, a name server, TLS)
can delay the shell. A cluster that did not respond is not asked again for 5 s, as shells ask several times for one TAB.
Names with control or invisible characters are never offered. Tested in ``tests/cli/test_complete.py``.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType, ModuleType
from typing import NoReturn

from kcli.commands.shared.global_values import ClusterWords, cluster_words
from kcli.commands.shared.sources import sources_of
from kcli.core.classes import NamedTuple
from kcli.core.clock import wall_ms
from kcli.core.errors import ConfigError, KcliError
from kcli.core.names import GROUP_PREFIXES
from kcli.core.options import ClientOptions, ConsumerOptions
from kcli.core.secret import Secret
from kcli.files.xdg import cache_home
from kcli.flows.completion.names import names_path, offered, read_names, write_names
from kcli.flows.completion.shell_words import (
    bash_word,
    insertion,
    last_field,
    literal,
    split_words,
    topics_among,
)
from kcli.profiles.resolve import resolve
from kcli.profiles.secret_keys import FILE, SecretSource
from kcli.profiles.secrets import check_private_files, read_secret_file
from kcli.profiles.sources import SANDBOX, SourceFiles

LIMIT = 0.3
"""Seconds for the request to the cluster, connecting included; and as many for reading the configuration."""

RECORDS_LIMIT = 0.6
"""Seconds for the request for records, which is several."""

FIRST_LIMIT = 1.0
"""Seconds for either request where nothing is cached that could be offered in its place."""

_BEFORE_ALARM = 0.03
"""Seconds before the alarm at which the responses so far are used: the alarm loses them."""

_TIMEOUTS = ("request_timeout_ms", "default_api_timeout_ms", "socket_connection_setup_timeout_ms")

_OF_A_SAMPLE = {
    "isolation_level": "read_uncommitted", "allow_auto_create_topics": False, "enable_auto_commit": False,
    "fetch_max_wait_ms": 100, "max_partition_fetch_bytes": 1 << 18, "fetch_max_bytes": 1 << 20,
}  # fmt: skip
_SANDBOXES, _PROFILES, _SUBJECTS = "sandboxes", "profiles", "subjects"
_IN_WHERE = ("key", "value", "headers", "topic", "partition", "offset", "timestamp")
_FIELDS: dict[str, tuple[str, ...]] = {
    "fields": (*_IN_WHERE, "timestamp_type", "time", "date", "hour", "leader_epoch"),
    "where": _IN_WHERE,
    "value-fields": (),
}
"""Fields that every record has, by where they are written; without any, only paths into the value are."""
_KINDS: dict[str, str | tuple[str, ...]] = {
    "groups": GROUP_PREFIXES, "topics": "__", _SANDBOXES: "", _PROFILES: "", _SUBJECTS: "", **dict.fromkeys(_FIELDS, "")
}  # fmt: skip
"""What may be requested, and how names begin that belong to the cluster itself, or to kcli."""


class Request(NamedTuple):
    """The request of a shell; ``render`` writes a name for the shell, None for one that it cannot insert. ``notes``:
    whether the shell shows them. ``topics``: one of them has the records whose fields are requested.
    """

    kind: str
    prefix: str
    cluster: ClusterWords
    render: Callable[[str], str | None]
    notes: bool = False
    topics: tuple[str, ...] = ()


def request_of(arguments: Sequence[str], environ: Mapping[str, str]) -> Request | None:
    """The request in the arguments of ``kcli __complete``; None if there is nothing to offer. Pure."""
    kind, shell, typed, *more = arguments
    if kind not in _KINDS:
        return None
    render: Callable[[str], str | None] = str
    if shell == "bash":
        *raw, current = split_words(typed)
        words = [literal(one, environ) for one in raw]
        word = bash_word(current, more[0])
        if word is None:
            return None
        prefix: str | None = word.prefix
        render = partial(insertion, word=word)
    else:
        zsh = shell == "zsh"
        words = [literal(one, environ) if zsh else one for one in more]
        prefix = typed if zsh else _value_of(literal(typed, {}))
    cluster = _cluster(kind, words)
    if prefix is None or cluster is None:
        return None
    notes = shell != "bash"
    if kind not in _FIELDS:
        return Request(kind, prefix, cluster, render, notes)
    field = last_field(prefix)
    before = prefix.removesuffix(field)
    return Request(kind, field, cluster, lambda name: render(before + name), notes, topics_among(words))


def _cluster(kind: str, words: Sequence[str | None]) -> ClusterWords | None:
    """What the words say about the cluster; nothing where the names are those of this machine."""
    if kind in (_SANDBOXES, _PROFILES):
        return ClusterWords(None, (), (), None)
    found = cluster_words(words)
    if found is None or words[1:2] != ["mirror"]:
        return found
    # Without them its topics are those of no cluster that is named.
    side = _side(words, "--from") or _side(words, "--to")
    if side is None:
        return None
    by_address = ":" in side and not side.startswith(SANDBOX)
    return found._replace(bootstrap_server=side if by_address else None, profile=None if by_address else side)


def _side(words: Sequence[str | None], flag: str) -> str | None:
    """The value of ``--from`` or ``--to``, with which a mirror names a cluster."""
    for word, after in zip(words, [*words[1:], None], strict=True):
        if word == flag:
            return after
        if word is not None and word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None


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
        if self._request.kind == _SUBJECTS:
            self._offer_subjects()
        found = resolve(sources_of(self._request.cluster, _find_sandbox))
        resolved = found.revealed(_secret_of_file)
        list(check_private_files(resolved))  # an error for one that others can change
        options = resolved.options(ClientOptions, dict.fromkeys(_TIMEOUTS, round(FIRST_LIMIT * 1000)))
        if options.sasl_oauthbearer_token_command:
            raise ConfigError("a token is read by commands only")  # as secrets that a program prints
        kind, topics = self._request.kind, self._request.topics
        path = names_path(cache_home(), "fields" if kind in _FIELDS else kind, options, topics)
        self._kept, fresh = read_names(path, wall_ms() / 1000)
        if fresh or (kind in _FIELDS and not topics):
            self._finish(self._kept, answered=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._path = path
        if kind in _FIELDS:
            from kcli.flows.completion.sampled_fields import request_fields  # as below

            own = dict.fromkeys(_TIMEOUTS, round(FIRST_LIMIT * 1000)) | _OF_A_SAMPLE
            given = {name: getattr(options, name) for name in resolved.values if hasattr(options, name)}
            reading = resolved.options(ConsumerOptions, given | own, without=resolved.values)
            self._ask(partial(request_fields, topics, reading), RECORDS_LIMIT)
        from kcli.flows.completion.names_request import request_names  # only where no fresh names are cached

        self._ask(partial(request_names, kind, options), LIMIT)

    def _offer_subjects(self) -> NoReturn:
        """Those of the schema registry; no broker is contacted."""
        from kcli.flows.completion.subjects import (  # http and ssl: for a registry only
            limited,
            request_subjects,
        )
        from kcli.profiles.secrets import SecretReader, registry_values
        from kcli.serde.registry.options import RegistryOptions

        found = resolve(sources_of(self._request.cluster, _find_sandbox), need_broker=False)
        for value in found.registry.values():
            if isinstance(value, SecretSource):
                _secret_of_file(value)  # an error for one that a command would print
        login = found.revealed(_secret_of_file).values
        values = registry_values(
            SecretReader(os.environ, lambda _warning: None),
            found.registry,
            lambda: (login.get("sasl_username", ""), login.get("sasl_password")),
        )
        options = limited(RegistryOptions.build(values), FIRST_LIMIT)
        path = names_path(cache_home(), _SUBJECTS, options)
        self._kept, fresh = read_names(path, wall_ms() / 1000)
        if fresh:
            self._finish(self._kept, answered=True)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._path = path
        plaintext = bool(found.values.get("allow_plaintext_secrets", False))
        self._ask(partial(request_subjects, options, plaintext), LIMIT)

    def _ask(self, request: Callable[[float], tuple[list[str], bool]], limit: float) -> NoReturn:
        limit = limit if self._kept else FIRST_LIMIT
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            names, whole = request(limit - _BEFORE_ALARM)
        except KcliError:
            names, whole = [], False
        self._finish(names if whole else [*names, *self._kept], answered=whole)

    def _time_is_up(self, _signal: int, _frame: FrameType | None) -> None:
        self._finish(self._kept, answered=False)

    def _finish(self, names: list[str], *, answered: bool) -> NoReturn:
        """Prints and caches the names, and ends the process without waiting for threads."""
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        request = self._request
        named = [*names, *_FIELDS.get(request.kind, ())]
        if request.kind in _FIELDS and not _FIELDS[request.kind]:
            named = [name for name in names if name.startswith("value")]
        rows = offered(named, request.prefix, hide=_KINDS[request.kind])
        _print("".join(map(self._line, rows)))
        if self._path:
            write_names(self._path, names, wall_ms() / 1000, answered=answered)
        os._exit(0)

    def _line(self, row: str) -> str:
        """What the shell gets for a name, and its note; for a field inside of an expression the field alone."""
        request, (name, _, note) = self._request, row.partition("\t")
        text = request.render(name)
        if text is None:
            return ""
        note = note or (name if text != name and request.kind in _FIELDS else "")
        return f"{text}\t{note}\n" if note and request.notes else f"{text}\n"


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
