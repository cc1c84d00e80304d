"""Checks by a task on each executor whether jobs can run there: Python, kcli and its C extension, and the libraries."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kcli.core.errors import ConfigError
from kcli.core.kernels.active import IMPLEMENTATION
from kcli.core.version import __version__
from kcli.flows.stop import Stop
from kcli.pipeline.spark import probe_task
from kcli.pipeline.spark.driver import cloudpickle
from kcli.pipeline.spark.session import Session
from kcli.pipeline.spark.ship import facts
from kcli.pipeline.spark.watching import run_watched

_PACK = (
    "make the archive on a machine like the executors with `kcli pipeline pack`, and use it: "
    "--spark-conf spark.archives=FILE#deps"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as here, on which hosts, and what to do about it."""

    what: str
    why: str
    do: str
    hosts: tuple[str, ...] = ()


def check_executors(session: Session, stop: Stop | None = None) -> None:
    """ConfigError that names all differences."""
    found = differences(probe(session, stop))
    if found:
        named = "; ".join(f"{each.what} on {', '.join(each.hosts)}" for each in found)
        raise ConfigError(
            f"the executors cannot run tasks of kcli: {named}",
            why="; ".join(dict.fromkeys(each.why for each in found)),
            do=found[0].do,
        )


def probe(session: Session, stop: Stop | None = None) -> list[dict[str, Any]]:
    """The facts that tasks report, from as many as run at a time."""
    tasks = max(2, session.slots)
    cloudpickle.register_pickle_by_value(probe_task)  # type: ignore[no-untyped-call]
    try:
        rdd = session.context.parallelize(range(tasks), tasks)
        found: list[dict[str, Any]] = run_watched(
            session,
            lambda: session.context.runJob(rdd, probe_task.probe_task),
            title="kcli probe",
            on_turn=bool,
            stop=stop if stop is not None else Stop(),
            what=f"no task runs on {session.master.name}",
            do="check with `kcli pipeline doctor`, and read the logs of the executors",
        )
    finally:
        cloudpickle.unregister_pickle_by_value(probe_task)  # type: ignore[no-untyped-call]
    return found


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
