"""What a registry refuses, known before it is asked; and how a change is read back."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from kcli.core.clock import monotonic
from kcli.core.errors import KcliError, NotFoundError, OutcomeUnknownError
from kcli.core.exit_codes import ExitCode
from kcli.core.near_names import near_names
from kcli.flows.registry.names import Named, VersionKey
from kcli.serde.errors import RegistryUnreachableError
from kcli.serde.registry.admin import IMPORT, RegistryAdmin, Setting
from kcli.serde.registry.client import Schema

C = TypeVar("C", bound=Collection[object])

VISIBLE_WITHIN = 5.0
"""Seconds in which a change has to be visible: a node of a registry reads it from Kafka a moment later."""
_PAUSE = 0.1
READ_WRITE = "READWRITE"


class IncompatibleError(KcliError):
    """A schema that was to be registered is not compatible with those of its subject."""

    exit_code = ExitCode.REFUSED

    def __init__(self, subject: str, level: str, messages: Sequence[str]) -> None:
        self.messages = tuple(messages)
        super().__init__(
            f"the schema is not compatible with subject {subject}",
            why=f"its compatibility is {level}: " + ("; ".join(messages) or "the registry gives no reason"),
            do=f"change the schema; `kcli registry config {subject}` shows the compatibility",
        )


class NotCompatibleError(IncompatibleError):
    """The same as the result of a check."""

    exit_code = ExitCode.CHECK


class RegistryStateError(KcliError):
    """The registry, or the subject, is not in the state for it."""

    exit_code = ExitCode.REFUSED


class NotAppliedError(KcliError):
    """What was changed is not so when it is read back."""

    exit_code = ExitCode.REFUSED


def is_silent(error: KcliError) -> bool:
    """Whether the registry did not answer: the next request would wait as long, in vain."""
    return isinstance(error, RegistryUnreachableError | OutcomeUnknownError)


def not_sent(what: str, error: KcliError) -> RegistryUnreachableError:
    """For what is not tried any more after ``error``."""
    return RegistryUnreachableError(
        f"{what} was not asked for", why=f"the registry is silent: {error.what}", do=error.do
    )


def no_subject(registry: RegistryAdmin, subject: str) -> NotFoundError:
    """The error for a subject that does not exist, with the most similar names."""
    near = near_names(subject, registry.subjects(deleted=True), 3)
    similar = f"; similar ones: {', '.join(near)}" if near else ""
    return NotFoundError(
        f"there is no subject {subject}",
        why=f"the registry {registry.address} does not have it{similar}",
        do="`kcli registry list --deleted` lists all subjects",
    )


def no_version(named: Named, numbers: Collection[int]) -> NotFoundError:
    """The error for a version that does not exist."""
    which = f"version {named.version}" if (named.version or 0) > 0 else "latest version"
    return NotFoundError(
        f"there is no {which} of subject {named.subject}",
        why=f"it has {', '.join(map(str, numbers)) or 'none that is not deleted'}",
        do=f"`kcli registry describe {named.subject}` shows its versions",
    )


def missing_reference(
    registry: RegistryAdmin, schema: Schema, given: Collection[VersionKey] = ()
) -> RegistryStateError | None:
    """The error for a schema that refers to one that is neither there, softly deleted at least, nor ``given``."""
    for ref in schema.references:
        key = VersionKey(ref.subject, ref.version)
        if key not in given and ref.version not in registry.version_numbers(ref.subject, deleted=True):
            return RegistryStateError(
                f"{VersionKey(schema.subject, schema.version)} cannot be registered",
                why=f"it refers to {key}, which the registry does not have",
                do="register that one first",
            )
    return None


def mode_refusal(mode: Setting, subject: str, *, deleting: bool = False) -> RegistryStateError | None:
    """What the mode of a subject forbids: IMPORT forbids to register without an id, and nothing to delete."""
    if mode.value == READ_WRITE or (deleting and mode.value == IMPORT):
        return None
    place = f"subject {subject}" if mode.own else "the registry"
    name = f" {subject}" if mode.own else ""
    return RegistryStateError(
        f"subject {subject} cannot be changed: {place} is in mode {mode.value}",
        why="in this mode the registry refuses it",
        do=f"`kcli registry mode{name} --set READWRITE` changes the mode",
    )


def wait_until_empty(wrong: Callable[[], C]) -> C:
    """Calls ``wrong``, which reads, until nothing is; what is still wrong after the time in which changes are visible."""
    until = monotonic() + VISIBLE_WITHIN
    while (found := wrong()) and monotonic() < until:
        time.sleep(_PAUSE)
    return found
