"""A session of Spark: on this machine or on a cluster, quiet, and without a trace when it ends.

A process has one at a time. It is made, used and ended by the main thread; jobs run in threads of their own
(``watching.py``).
"""

import logging
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from pyspark import SparkContext
from pyspark import __file__ as PYSPARK_FILE  # noqa: N812
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

import kcli
from kcli.core.errors import KcliError
from kcli.core.secret import child_environment
from kcli.pipeline.spark.conf import LIGHT, Master, parse_master, session_conf, warnings_of
from kcli.pipeline.spark.errors import SparkError, is_statement_error, spark_error
from kcli.pipeline.spark.folder import SessionFolder
from kcli.pipeline.spark.java import JavaHome, spark_java
from kcli.pipeline.spark.jvm import Jvm, log_configuration
from kcli.pipeline.spark.libraries import installed
from kcli.pipeline.spark.masters import check_master
from kcli.pipeline.spark.ship import DEPS, archives

_ARCHIVES = "spark.archives"
_FOREIGN = (
    "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "SPARK_REMOTE",
    "SPARK_LOCAL_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_API_MODE",
    "SPARK_TESTING",
    "PYSPARK_PIN_THREAD",
    "_PYSPARK_DRIVER_CONN_INFO_PATH",
)
"""Variables that would make pyspark something else than a driver of its own."""


class Session:
    """``context`` is Spark's; ``master`` with slots and attempts; ``java`` what runs it; ``seconds`` how long it took to
    start. ConfigError without a Java, SparkError if it does not start.

    ``profile``: see ``conf.py``. ``local``: how many tasks run at a time without a ``master``. ``warn`` receives what a
    setting costs, ``note`` what takes long.
    """

    def __init__(
        self,
        *,
        master: str | None = None,
        local: int | None = None,
        conf: Mapping[str, str] | None = None,
        java_home: str | None = None,
        profile: str = LIGHT,
        warn: Callable[[str], object] = str,
        note: Callable[[str], object] = str,
    ) -> None:
        if SparkContext._active_spark_context is not None:
            raise SparkError(
                "there is a session of Spark in this process",
                why="a process has one session, with the settings of its start",
                do="end it first",
            )
        given = dict(conf or {})
        self.master = parse_master(master, local=local, processors=_processors(), conf=given)
        self.java: JavaHome = spark_java(java_home)
        check_master(self.master.url)
        started = time.monotonic()
        self._sql: SparkSession | None = None
        self._handler = signal.getsignal(signal.SIGINT)
        self.folder = SessionFolder()
        self._variables = _Variables(_driver_environment(self.master, given))
        self._jvm: Jvm | None = None
        try:
            found = session_conf(
                self.master,
                given
                if self.master.is_local
                else {**given, _ARCHIVES: archives(given.get(_ARCHIVES, ""), note)},
                profile=profile,
                folder=self.folder.path,
                log_configuration=log_configuration(self.folder),
                python_path=_python_path() if self.master.is_local else f"./{DEPS}",
            )
            for text in warnings_of(given):
                warn(text)
            self._jvm = Jvm(self.folder, _spark_home(), found, _jvm_environment(self.master, self.java))
            self.context = self._context()
        except BaseException:
            self.close()
            raise
        self.seconds = time.monotonic() - started

    @property
    def slots(self) -> int:
        """How many tasks run at a time."""
        return self.master.slots or max(1, int(self.context.defaultParallelism))

    @property
    def sql(self) -> SparkSession:
        """The session for data frames and SQL."""
        if self._sql is None:
            self._sql = SparkSession.builder.getOrCreate()
        return self._sql

    @property
    def is_alive(self) -> bool:
        """Whether its JVM runs."""
        return self._jvm is not None and self._jvm.is_alive

    @property
    def jvm_pid(self) -> int:
        """The process of its JVM."""
        assert self._jvm is not None
        return self._jvm.pid

    def failure(self, error: BaseException, what: str, *, do: str = "") -> KcliError:
        """The error of a call of pyspark; that of the JVM if it has ended."""
        if not self.is_alive and not isinstance(error, KcliError):
            kept = self.folder.keep_log()
            return SparkError(
                f"{what}: the process of Spark ended",
                why="it was killed, or ran out of memory",
                do=f"read {kept}; --spark-conf spark.driver.memory=2g gives it more" if kept else "",
            )
        found = spark_error(error, what, do=do)
        if isinstance(found, SparkError) and not found.do and not is_statement_error(error):
            kept = self.folder.keep_log()
            found.do = f"read {kept}, the log of Spark" if kept else ""
        return found

    def close(self) -> None:
        """Stops what runs, and ends all processes; also after an error in the middle of the start."""
        active = SparkContext._active_spark_context
        try:
            if active is not None:
                with suppress(Exception):  # py4j raises anything when the JVM is gone
                    active.stop()
            if self._jvm is not None:
                self._jvm.close()
        finally:
            SparkContext._active_spark_context = None
            SparkContext._gateway = None
            SparkContext._jvm = None
            self._sql = None
            self.folder.remove()
            self._variables.restore()

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _context(self) -> SparkContext:
        _silence()
        assert self._jvm is not None
        try:
            return SparkContext(gateway=self._jvm.gateway)
        except Exception as error:  # noqa: BLE001 - py4j and pyspark raise anything
            raise self.failure(error, f"Spark did not start on {self.master.name}") from None
        finally:
            _restore_interrupts(self._handler)  # pyspark installs a handler of its own


def _silence() -> None:
    """What pyspark would log and warn on the terminal: its errors are reported as kcli's."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    if not logging.root.handlers:  # without any, py4j's first message would make one for stderr
        logging.root.addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", module=r"pyspark\b|py4j\b")


class _Variables:
    """Environment variables of this process while there is a session."""

    def __init__(self, values: Mapping[str, str | None]) -> None:
        self._before = {name: os.environ.get(name) for name in values}
        _set(values)

    def restore(self) -> None:
        _set(self._before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, text in values.items():
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text


def _restore_interrupts(handler: Any) -> None:
    if handler is not None:
        with suppress(ValueError):  # not the main thread, in which pyspark installs nothing either
            signal.signal(signal.SIGINT, handler)


def _driver_environment(master: Master, given: Mapping[str, str]) -> dict[str, str | None]:
    """What pyspark reads here: the Python of the workers, and nothing that makes it a client of another Spark."""
    python = sys.executable
    if not master.is_local:
        python = given.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or python
    return {**dict.fromkeys(_FOREIGN), "SPARK_HOME": _spark_home(), "PYSPARK_PYTHON": python}


def _jvm_environment(master: Master, java: JavaHome) -> dict[str, str]:
    """Local workers inherit it, and read there the secrets that are named by variables; a cluster's have their own."""
    found = dict(os.environ) if master.is_local else child_environment(os.environ)
    found["JAVA_HOME"] = java.home
    found["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), found.get("PATH", os.defpath)])
    if master.is_local:
        found["SPARK_LOCAL_IP"] = "127.0.0.1"
        for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_LOCAL_DIRS"):
            found.pop(name, None)  # settings of a cluster
    return found


def _spark_home() -> str:
    """The home of the installed pyspark; SPARK_HOME only if it is the same version, since both parts have to fit."""
    given = os.environ.get("SPARK_HOME", "")
    if given and any(Path(given, "jars").glob(f"spark-core_*-{installed('pyspark')}.jar")):
        return given
    return os.path.dirname(os.path.abspath(PYSPARK_FILE))


def _python_path() -> str:
    """Where the modules of this process are found, for local workers: kcli may run from a folder without installation."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(kcli.__file__)))
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
