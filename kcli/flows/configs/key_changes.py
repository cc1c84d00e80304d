"""Changes of configurations: planned from the values before, made, and checked against the values after.

``plan``, ``is_done`` and the checks are pure; ``rejected``, ``make`` and ``read_back`` ask the brokers.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from kcli.core.admin.admin import Admin
from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigKind, ConfigOp, ConfigResource
from kcli.core.classes import NamedTuple
from kcli.core.clock import monotonic
from kcli.core.error_codes import INVALID_CONFIG
from kcli.core.errors import BrokerError, ConfigError, KcliError, NotValidatedError
from kcli.core.exit_codes import ExitCode
from kcli.core.near_names import near_names
from kcli.flows.configs.resources import kind_word, shown_name
from kcli.flows.configs.values import is_valid, is_written_alike, list_words, same_value
from kcli.flows.permitted import denied_groups, denied_on_cluster, denied_topics
from kcli.flows.read_back import VISIBLE_WITHIN, NotAppliedError, ReadBackError

WORDS = {
    ConfigOp.SET: "set",
    ConfigOp.DELETE: "unset",
    ConfigOp.APPEND: "append",
    ConfigOp.SUBTRACT: "remove",
}
"""The operations as the flags of commands name them."""
HIDDEN = "(hidden)"
"""Shown to people in place of a secret."""
_DEFAULT = "default"
_LISTENER = "listener.name."
_PAUSE = 0.05
_EDITS = (ConfigOp.APPEND, ConfigOp.SUBTRACT)


class NoKeyError(ConfigError):
    """``resource`` cannot have the ``key``."""

    def __init__(self, resource: ConfigResource, key: str, what: str, *, why: str, do: str) -> None:
        super().__init__(what, why=why, do=do)
        self.resource, self.key = resource, key


class ReadOnlyKeyError(KcliError):
    """A key that brokers change only at their start."""

    exit_code = ExitCode.REFUSED


class PlannedChange(NamedTuple):
    """A change of one key. ``old`` and ``new`` are None where no value is known, and for secrets.

    ``old_source`` and ``new_source`` say where the values are set, ``kind`` is the type of the key (empty where brokers
    do not report it). ``note`` is set where nothing has to be done. ``error`` says why the change is refused.
    ``unknown``: no broker lists the key, nor is it one of a listener; brokers accept it as that of a plug-in.
    """

    resource: ConfigResource
    change: ConfigChange
    old: str | None
    old_source: str
    new: str | None
    new_source: str
    kind: str = ""
    sensitive: bool = False
    note: str = ""
    error: KcliError | None = None
    unknown: bool = False

    @property
    def needed(self) -> bool:
        """Whether something has to be changed; a secret is always set again, since its value cannot be read."""
        return not self.note and self.error is None


Plans = Mapping[ConfigResource, Sequence[PlannedChange]]
Outcomes = dict[ConfigResource, KcliError | None]


def plan(
    resource: ConfigResource,
    changes: Sequence[ConfigChange],
    entries: Iterable[ConfigEntry],
    *,
    others: Iterable[ConfigEntry] = (),
) -> list[PlannedChange]:
    """What each change does to the resource; ``entries`` are its values with their synonyms.

    ``others``: further keys that it may have. ConfigError for a key that it cannot have, and for a list operation on a
    key that is no list. A key that is not listed and may exist is treated as a secret, as brokers do. Brokers call a
    key of a plug-in read-only, but it was set while they ran, and can be set again or unset.
    """
    own = {entry.name: entry for entry in entries}
    known = {entry.name: entry for entry in others} | own
    for change in changes:
        _check_known(resource, change.name, known)
        _check_list(change, known)
    return [_planned(resource, change, own.get(change.name), known.get(change.name)) for change in changes]


def is_done(planned: PlannedChange, entry: ConfigEntry | None) -> bool:
    """Whether what was read back has the change. Values of secrets cannot be compared.

    A broker describes what it has read from a value, not the text: that is with the synonyms, of brokers at least.
    """
    own = entry is not None and not entry.is_default
    if planned.change.op is ConfigOp.DELETE:
        return not own
    if planned.resource.kind is ConfigKind.BROKER_LOGGER:  # which may have the level of the logger above it
        return entry is not None and entry.value == planned.change.value
    words, named = set(list_words(entry.value if entry else "")), set(list_words(planned.change.value))
    if planned.change.op is ConfigOp.SUBTRACT:
        return not named & words
    if entry is None or not own:
        return False
    if planned.sensitive or entry.is_sensitive:
        return True
    if planned.change.op is ConfigOp.APPEND:
        return named <= words
    wanted, value = planned.change.value or "", entry.value or ""
    if same_value(planned.kind or entry.type, value, wanted) or is_written_alike(value, wanted):
        return True
    own_texts = [
        text for name, text, source in entry.synonyms if (name, source) == (entry.name, entry.own_source)
    ]
    return wanted in own_texts and value != planned.old


def rejected(admin: Admin, plans: Plans) -> Outcomes:
    """Whether the brokers accept the changes: an error where they do not. Nothing is changed.

    A broker that might make the change is not asked: then the error is about a type or a permission that does not fit,
    or NotValidatedError where nothing stands against the change.
    """
    outcome = _altered(admin, plans, validate_only=True)
    for resource, error in outcome.items():
        if isinstance(error, NotValidatedError):
            outcome[resource] = _invalid(resource, plans[resource]) or _denied(admin, resource) or error
    return outcome


def make(admin: Admin, plans: Plans) -> Outcomes:
    """Makes the changes: all of a resource, or none, with an error."""
    return _altered(admin, plans, validate_only=False)


def read_back(admin: Admin, plans: Plans, timeout: float) -> Outcomes:
    """Checks the values after the changes; waits a moment, at most ``timeout`` seconds, for brokers that have not
    received them yet: of many changes the moment begins again while more and more of them are there.
    """
    patience = min(VISIBLE_WITHIN, timeout)
    outcome: Outcomes = dict.fromkeys(plans)
    left, until = set(plans), 0.0
    while left:
        found = admin.describe_configs(sorted(left, key=str), synonyms=True, keys=_keys_of(plans))
        outcome |= {resource: _checked(resource, plans[resource], found[resource]) for resource in left}
        wrong = {resource for resource in left if isinstance(outcome[resource], NotAppliedError)}
        if not until or len(wrong) < len(left):
            until = monotonic() + patience  # after the look: one at thousands takes seconds
        elif monotonic() >= until:
            break
        left = wrong
        if left:
            admin.cluster.sleep(_PAUSE)
    return outcome


def _keys_of(plans: Plans) -> list[str] | None:
    """The keys to be read: thousands of topics have too many. All where the levels of others count, as of loggers."""
    if any(resource.kind not in (ConfigKind.TOPIC, ConfigKind.GROUP) for resource in plans):
        return None
    return sorted({row.change.name for rows in plans.values() for row in rows})


def _planned(
    resource: ConfigResource, change: ConfigChange, entry: ConfigEntry | None, known: ConfigEntry | None
) -> PlannedChange:
    sensitive = known is None or known.is_sensitive
    old, old_source = (entry.value, entry.source) if entry is not None else (None, _DEFAULT)
    is_logger = resource.kind is ConfigKind.BROKER_LOGGER
    new, source = _new_value(resource, change, entry)
    if is_logger and change.op is ConfigOp.DELETE:
        new = None  # the logger above it may be changed, too
    planned = PlannedChange(
        resource,
        change,
        None if sensitive else old,
        old_source,
        None if sensitive else new,
        source,
        known.type if known is not None else "",
        sensitive,
        unknown=known is None and not change.name.startswith(_LISTENER),
    )
    # Brokers call keys of a listener (listener.name.NAME.*) read-only, even if they were set while they ran.
    if known is not None and known.read_only and (entry is None or entry.is_default):
        return planned._replace(error=_read_only(resource, change.name))
    if note := _unneeded(change, entry, sensitive=sensitive, is_logger=is_logger):
        return planned._replace(note=note, new=planned.old, new_source=old_source)
    return planned


def _unneeded(change: ConfigChange, entry: ConfigEntry | None, *, sensitive: bool, is_logger: bool) -> str:
    """Why nothing has to be done; empty where something has. A logger with the level of the one above it may have it
    itself: brokers do not say that.
    """
    own = entry is not None and not entry.is_default
    if change.op is ConfigOp.DELETE:
        return "" if own or is_logger else "is not set"
    if sensitive or entry is None:
        return ""
    words, named = set(list_words(entry.value)), set(list_words(change.value))
    if change.op is ConfigOp.APPEND:
        return "contained already" if named <= words else ""
    if change.op is ConfigOp.SUBTRACT:
        return "" if words & named else "not contained"
    return "has this value already" if own and same_value(entry.type, entry.value, change.value or "") else ""


def _new_value(
    resource: ConfigResource, change: ConfigChange, entry: ConfigEntry | None
) -> tuple[str | None, str]:
    """The value afterwards and its source."""
    if change.op is ConfigOp.DELETE:
        return _inherited(resource, entry)
    if change.op is ConfigOp.SET:
        return change.value, resource.own_source
    words, named = list_words(entry.value if entry is not None else ""), list_words(change.value)
    kept = (*words, *named) if change.op is ConfigOp.APPEND else (w for w in words if w not in named)
    return ",".join(dict.fromkeys(kept)), resource.own_source


def _inherited(resource: ConfigResource, entry: ConfigEntry | None) -> tuple[str | None, str]:
    """The value and the source that apply without a value of the resource's own; None where brokers report none."""
    if entry is None:
        return None, _DEFAULT
    if entry.is_default:
        return entry.value, entry.source
    for _name, value, source in entry.synonyms:
        if source != resource.own_source:
            return value, source
    return None, _DEFAULT


def _check_known(resource: ConfigResource, key: str, known: Collection[str]) -> None:
    """Brokers accept keys of their plug-ins and listeners, which they list only when they are set: of brokers, only a
    key that resembles a known one is refused.
    """
    if key in known:
        return
    near = near_names(key, known)
    if resource.kind is ConfigKind.BROKER and (not near or key.startswith(_LISTENER)):
        return
    thing = "logger" if resource.kind is ConfigKind.BROKER_LOGGER else "key"
    raise NoKeyError(
        resource,
        key,
        f"broker {resource.name} has no logger {key!r}"
        if thing == "logger"
        else f"{resource} has no configuration key {key!r}",
        why="the broker does not have it, and nothing was changed",
        do=f"did you mean {near[0]}?"
        if near
        else f"`kcli configs describe {kind_word(resource)}s {shown_name(resource)} --all` lists the {thing}s",
    )


def _check_list(change: ConfigChange, known: Mapping[str, ConfigEntry]) -> None:
    kind = known[change.name].type if change.name in known else ""
    if change.op in _EDITS and kind not in ("list", ""):
        raise ConfigError(
            f"{change.name} is not a list",
            why=f"--append and --remove change the elements of a list; it is of type {kind}",
            do=f"set it as a whole: --set {change.name}=VALUE",
        )


def _read_only(resource: ConfigResource, key: str) -> ReadOnlyKeyError:
    return ReadOnlyKeyError(
        f"{key} of {resource} cannot be changed while brokers run",
        why="it is read-only: a broker reads it from its file when it starts",
        do="change server.properties of the broker and restart it",
    )


def _invalid(resource: ConfigResource, rows: Iterable[PlannedChange]) -> KcliError | None:
    """The error for values that no broker can read."""
    wrong = [
        f"{row.change.value} is no {row.kind} for {row.change.name}"
        for row in rows
        if row.needed and row.change.op is ConfigOp.SET and not is_valid(row.kind, row.change.value or "")
    ]
    return BrokerError(INVALID_CONFIG, _changing(resource), message="; ".join(wrong)) if wrong else None


def _denied(admin: Admin, resource: ConfigResource) -> KcliError | None:
    """The error for a missing permission, as far as brokers report permissions (KIP-430)."""
    name, doing = resource.name, f"changing the configuration of {resource.kind.name.lower()} {{}}"
    if resource.kind is ConfigKind.TOPIC:
        return denied_topics(admin, [name], "ALTER_CONFIGS", doing).get(name)
    if resource.kind is ConfigKind.GROUP:
        found = admin.describe_groups([name], include_operations=True, all_types=True)[name]
        if isinstance(found, KcliError):  # a group may be configured before it exists
            return None
        return denied_groups({name: found}, "ALTER_CONFIGS", doing).get(name)
    return denied_on_cluster(admin, "ALTER_CONFIGS", _changing(resource))


def _changing(resource: ConfigResource) -> str:
    return f"changing the configuration of {resource}"


def _altered(admin: Admin, plans: Plans, *, validate_only: bool) -> Outcomes:
    requests = {
        resource: [row.change for row in rows if row.needed]
        for resource, rows in plans.items()
        if any(row.needed for row in rows)
    }
    if not requests:
        return {}
    outcome = admin.alter_configs(requests, validate_only=validate_only)
    for resource, error in outcome.items():
        if error is not None:
            _hide_secrets(plans[resource], error)
    return outcome


def _hide_secrets(rows: Iterable[PlannedChange], error: KcliError) -> None:
    """A broker's message about a value that it rejects may quote it."""
    for row in rows:
        if row.sensitive and row.change.value:
            error.why = error.why.replace(row.change.value, HIDDEN)


def _checked(
    resource: ConfigResource, rows: Iterable[PlannedChange], found: Sequence[ConfigEntry] | KcliError
) -> KcliError | None:
    shows = f"`kcli configs describe {kind_word(resource)}s {shown_name(resource)}` shows what is set"
    if isinstance(found, KcliError):
        return ReadBackError(f"{resource} was changed, but not read back", why=str(found), do=shows)
    values = {entry.name: entry for entry in found}
    wrong = [row for row in rows if row.needed and not is_done(row, values.get(row.change.name))]
    if not wrong:
        return None
    keys = [row.change.name for row in wrong]
    read = ", ".join(_read(row, values.get(row.change.name)) for row in wrong)
    return NotAppliedError(
        f"{', '.join(keys)} of {resource} was changed, but reads {read}",
        keys,
        do=f"{shows}; unless it means the same, find out which client changes it",
    )


def _read(row: PlannedChange, entry: ConfigEntry | None) -> str:
    if entry is None:
        return "nothing"
    return "a value that is not shown" if row.sensitive else f"{entry.value} ({entry.source})"
