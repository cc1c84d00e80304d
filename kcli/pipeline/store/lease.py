"""Who appends to an export in an object store: one run at a time, known by an object that it renews.

A lease is dead when nobody has renewed it for ``EXPIRES_AFTER`` seconds while another run watched: clocks of two machines
are not compared. A run that is merely slow may so lose its lease to a second one: A stops for a minute; B watches, takes
the lease, and reads the head of the manifest; A wakes, and finds the lease replaced before it replaces the head. Or it
has replaced the head just before, and then B's head is refused, since it is not the one that B has read.

Stores without conditional writes compare before they write, and two runs that begin in the same instant may both find no
lease: the first renewal then tells one of them.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from kcli.core.clock import wall_ms
from kcli.core.errors import KcliError
from kcli.core.exit_codes import ExitCode
from kcli.output.sanitise import visible_line
from kcli.output.template import rfc3339
from kcli.pipeline.store.store import ABSENT, ChangedError, Document, Store

LEASE = "_kcli_lease.json"
EXPIRES_AFTER = 30.0
_KIND = "ExportLease"
_RENEWALS = 3
"""Within that time."""
_LOOK = 1.0


class LeaseHeldError(KcliError):
    """Another run writes the export."""

    exit_code = ExitCode.REFUSED


class Lease:
    """``with`` takes it, renews it, and gives it back; LeaseHeldError if another run renews it. ``note`` is told of a
    wait.
    """

    def __init__(self, store: Store, note: Callable[[str], None]) -> None:
        self._store = store
        self._note = note
        self._run = os.urandom(8).hex()
        self._version = ABSENT
        self._writes = 0
        self._lost: KcliError | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._version = self._put(self._free())
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        self._thread.join()
        with suppress(KcliError):  # then it expires
            found = self._store.read(LEASE)
            if found is not None and found.version == self._version:
                self._store.delete(LEASE)

    def check(self) -> None:
        """LeaseHeldError if another run has taken it."""
        if self._lost is not None:
            raise self._lost

    def _free(self) -> str:
        """The version to be replaced: of no lease, or of a dead one."""
        found = self._store.read(LEASE)
        first, since = found, time.monotonic()
        while found is not None:
            if first is None or found.version != first.version:
                raise self._held(found)
            if found is first:
                self._note(
                    f"{self._store.name(LEASE)} is there, of {_holder(found)}: it is taken over if that run does not "
                    f"renew it within {EXPIRES_AFTER:.0f} s"
                )
            left = since + EXPIRES_AFTER - time.monotonic()
            if left <= 0:
                return found.version
            time.sleep(min(left, _LOOK, EXPIRES_AFTER / _RENEWALS))
            found = self._store.read(LEASE)
        return ABSENT

    def _put(self, version: str) -> str:
        lease = {"api": "kcli/v1", "kind": _KIND, "run": self._run, "host": socket.gethostname()}
        self._writes += 1  # each is another version, also where a clock stands still
        text = json.dumps({**lease, "time": rfc3339(wall_ms()), "writes": self._writes}, indent=1)
        while True:
            try:
                return self._store.put(LEASE, text.encode() + b"\n", version)
            except ChangedError:
                found = self._store.read(LEASE)
                if found is None or _lease(found).get("run") != self._run:
                    raise self._held(found) from None
                version = found.version  # the answer to an earlier request was lost

    def _renew(self) -> None:
        """Runs in a thread. A store that is away for a while is no reason to give up: the lease may still be there."""
        while not self._ended.wait(EXPIRES_AFTER / _RENEWALS):
            try:
                self._version = self._put(self._version)
            except LeaseHeldError as error:
                self._lost = error
                return
            except KcliError:
                continue

    def _held(self, found: Document | None) -> LeaseHeldError:
        return LeaseHeldError(
            f"another run writes {self._store.url}",
            why=f"{LEASE} is of {_holder(found)}",
            do="wait until the other run has ended, then run the command again",
        )


def _holder(found: Document | None) -> str:
    lease = {} if found is None else _lease(found)
    if not {"run", "host", "time"} <= lease.keys():
        return "an unknown run"
    return visible_line(f"run {lease['run']} on {lease['host']} since {lease['time']}")


def _lease(found: Document) -> dict[str, Any]:
    """Empty for what is no lease."""
    try:
        lease = json.loads(found.data)
    except ValueError:
        return {}
    return lease if isinstance(lease, dict) else {}
