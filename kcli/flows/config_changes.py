"""Changes of configurations, as planned from the values before and checked against the values after. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kcli.core.admin.configs import ConfigChange, ConfigEntry, ConfigOp, ConfigResource
from kcli.core.near_names import near_names

_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change of one key. ``old`` and ``new`` are None where no value is known, and for secrets.

    ``old_source`` and ``new_source`` say where the values are set; ``sensitive`` values are never shown.
    """

    resource: ConfigResource
    change: ConfigChange
    old: str | None
    old_source: str
    new: str | None
    new_source: str
    sensitive: bool

    @property
    def has_effect(self) -> bool:
        """Whether anything changes; a secret that is set always counts, since its value cannot be read."""
        hidden = self.sensitive and self.change.op is not ConfigOp.DELETE
        return hidden or (self.old, self.old_source) != (self.new, self.new_source)


def unknown_key(change: ConfigChange, known: Collection[str], *, open_ended: bool) -> tuple[bool, str | None]:
    """Whether the key is to be refused as unknown, and the most similar one.

    ``open_ended``: brokers accept keys of their plug-ins and of listeners, which are listed only when they are set; so
    only a key that resembles a known one is refused.
    """
    if change.name in known:
        return False, None
    near = near_names(change.name, known)
    listener = open_ended and change.name.startswith("listener.name.")
    return not listener and (bool(near) or not open_ended), near[0] if near else None


def plan(
    resource: ConfigResource,
    changes: Sequence[ConfigChange],
    entries: Mapping[str, ConfigEntry],
    known: Mapping[str, ConfigEntry],
) -> list[PlannedChange]:
    """What each change does to the resource; ``entries`` are its values with their synonyms.

    ``known``: all keys that it may have. A key that is not among them is treated as a secret, as brokers do.
    """
    found = []
    for change in changes:
        sensitive = change.name not in known or known[change.name].is_sensitive
        found.append(_planned(resource, change, entries.get(change.name), sensitive=sensitive))
    return found


def _planned(
    resource: ConfigResource, change: ConfigChange, entry: ConfigEntry | None, *, sensitive: bool
) -> PlannedChange:
    old, old_source = (entry.value, entry.source) if entry is not None else (None, _DEFAULT)
    new, source = change.value, resource.own_source
    if change.op is ConfigOp.DELETE:
        new, source = _inherited(resource, entry)
    elif change.op is not ConfigOp.SET:
        words, named = _words(old), _words(change.value)
        if change.op is ConfigOp.APPEND:
            words += [word for word in named if word not in words]
        else:
            words = [word for word in words if word not in named]
        new = ",".join(words)
    hidden = None if sensitive else new
    return PlannedChange(resource, change, None if sensitive else old, old_source, hidden, source, sensitive)


def _inherited(resource: ConfigResource, entry: ConfigEntry | None) -> tuple[str | None, str]:
    """The value and the source that apply without a value of the resource's own."""
    if entry is None:
        return None, _DEFAULT
    if entry.is_default:
        return entry.value, entry.source
    for _name, value, source in entry.synonyms:
        if source != resource.own_source:
            return value, source
    return None, _DEFAULT


def is_done(planned: PlannedChange, entry: ConfigEntry | None) -> bool:
    """Whether the value that was read back is the one planned."""
    own = entry is not None and not entry.is_default
    if planned.change.op is ConfigOp.DELETE:
        return not own
    if entry is None or not own:
        return False
    if planned.sensitive or entry.is_sensitive:
        return True
    words, named = set(_words(entry.value)), set(_words(planned.change.value))
    if planned.change.op is ConfigOp.APPEND:
        return named <= words
    if planned.change.op is ConfigOp.SUBTRACT:
        return not named & words
    return (entry.value or "").strip() == (planned.new or "").strip() or (
        entry.type == "list" and words == named
    )


def _words(value: str | None) -> list[str]:
    return [word.strip() for word in (value or "").split(",") if word.strip()]
