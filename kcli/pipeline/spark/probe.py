"""Checks by a task on each executor whether jobs can run there: Python, kcli and its C extension, and the libraries."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from pyspark import cloudpickle

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.core.version import __version__
from kcli.flows.stop import Stop
from kcli.pipeline.spark import probe_task
from kcli.pipeline.spark.errors import SparkError
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.ship import facts
from kcli.pipeline.spark.watching import StageCounts, run_watched

_PACK = (
    "make the archive on a machine like the executors with `kcli pipeline pack`, and use it: "
    "--spark-conf spark.archives=FILE#deps"
)


_NOTED = 20.0
"""Seconds without a task after which a note says so."""
_NO_EXECUTOR = "other jobs hold its cores, or no worker has as much memory as an executor wants"
_SMALLER = "look at the page of the master; ask for less with --spark-conf spark.executor.memory=512m, spark.cores.max=2"


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as here, on which hosts, and what to do about it."""

    what: str
    why: str
    do: str
    hosts: tuple[str, ...] = ()


def check_executors(session: Session, note: Callable[[str], object]) -> None:
    """ConfigError that names all differences. A cluster without free executors is waited for, which is noted."""
    found = differences(probe(session, Stop(), note=note))
    if found:
        named = "; ".join(f"{each.what} on {', '.join(each.hosts)}" for each in found)
        raise ConfigError(
            f"the executors cannot run tasks of kcli: {named}",
            why="; ".join(dict.fromkeys(each.why for each in found)),
            do=found[0].do,
        )


def probe(
    session: Session,
    stop: Stop,
    *,
    note: Callable[[str], object] = str,
    patience: float = float("inf"),
) -> list[dict[str, Any]]:
    """The facts that tasks report, from as many as run at a time. SparkError if none has begun after ``patience``
    seconds.
    """
    tasks = max(2, session.slots)
    cloudpickle.register_pickle_by_value(probe_task)  # type: ignore[no-untyped-call]
    try:
        rdd = session.context.parallelize(range(tasks), tasks)
        found: list[dict[str, Any]] = run_watched(
            session,
            lambda: session.context.runJob(rdd, probe_task.probe_task),
            title="kcli probe",
            on_turn=_Waiting(session, note, patience),
            stop=stop,
            what=f"no task runs on {session.master.name}",
            do="check with `kcli pipeline doctor`, and read the logs of the executors",
        )
    finally:
        cloudpickle.unregister_pickle_by_value(probe_task)  # type: ignore[no-untyped-call]
    return found


class _Waiting:
    """Notices that no executor takes a task."""

    def __init__(self, session: Session, note: Callable[[str], object], patience: float) -> None:
        self._session = session
        self._note = note
        self._began = time.monotonic()
        self._noted = False
        self._patience = patience

    def __call__(self, counts: StageCounts) -> None:
        seconds = time.monotonic() - self._began
        if counts.active or counts.done or seconds < min(_NOTED, self._patience):
            return
        where = self._session.master.name
        if seconds >= self._patience:
            raise SparkError(
                f"no task has begun on {where} in {seconds:.0f} s", why=_NO_EXECUTOR, do=_SMALLER
            )
        if not self._noted:
            self._noted = True
            self._note(f"waiting for an executor of {where}: {_NO_EXECUTOR}")


def differences(found: Iterable[dict[str, Any]]) -> list[Difference]:
    """What an executor has that does not fit this process. Pure."""
    here = facts()
    by_text: dict[tuple[str, str, str], list[str]] = {}
    for each in found:
        for one in _of_one(each, here):
            hosts = by_text.setdefault((one.what, one.why, one.do), [])
            if each["host"] not in hosts:
                hosts.append(each["host"])
    return [Difference(*text, hosts=tuple(hosts)) for text, hosts in by_text.items()]


def _of_one(found: dict[str, Any], here: dict[str, Any]) -> Iterable[Difference]:
    errors = found["errors"]
    if found["python"] != here["python"]:
        yield Difference(
            f"Python {found['python']}",
            f"kcli runs Python {here['python']}, and code passes between them",
            f"set PYSPARK_PYTHON to a Python {here['python']} of the executors",
        )
        return
    if "kcli" in errors:
        yield Difference("kcli is missing", errors["kcli"], _PACK)
        return
    if found["kcli"] != __version__:
        yield Difference(
            f"kcli {found['kcli']}",
            f"here it is kcli {__version__}",
            "remove it there: kcli is brought along by the job",
        )
        return
    for name, text in errors.items():
        if name == "native":
            if IMPLEMENTATION == "native":
                yield Difference(
                    "kcli's C extension does not load",
                    f"{text} ({found['platform']}; the archive is for {here['platform']})",
                    _PACK,
                )
        elif name in ("kernels", "job"):
            yield Difference("kcli does not load", text, _PACK)
        else:
            yield Difference(f"{name} does not load", text, _PACK)
