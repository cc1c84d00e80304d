"""The driver's JVM: starts it without a word on the terminal, and ends it.

It is a process of its own session, so that signals of the terminal reach only kcli, which then stops jobs in order. Its
stdin is a pipe: when kcli is gone, however that happened, the JVM reads its end, and exits with all workers
(``PythonGatewayServer``).
"""

import contextlib
import os
import signal
import struct
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from pyspark.java_gateway import launch_gateway

from kcli.core.errors import KcliError
from kcli.pipeline.spark.folder import SessionFolder

_START = 120.0  # seconds; a machine that swaps needs long
_END = 10.0  # seconds for an orderly end
_TURN = 0.02
_CONNECTION = "connection"
_PROPERTIES = "session.properties"
_LOG4J = "log4j2.properties"
_LOG_CONFIGURATION = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = Console
appender.file.name = file
appender.file.target = SYSTEM_ERR
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""


class JvmError(KcliError):
    """Spark could not be started."""


def log_configuration(folder: SessionFolder) -> str:
    """Writes log4j's configuration; returns its URL."""
    return "file:" + folder.write(_LOG4J, _LOG_CONFIGURATION)


class Jvm:
    """A JVM that waits for the calls of pyspark. ``environ`` is its environment, ``conf`` the settings of Spark, which it
    gets by a file: arguments are visible to other users of the machine.
    """

    def __init__(
        self, folder: SessionFolder, spark_home: str, conf: Mapping[str, str], environ: Mapping[str, str]
    ) -> None:
        self._folder = folder
        connection = os.path.join(folder.path, _CONNECTION)
        properties = folder.write(_PROPERTIES, java_properties(conf))
        with open(folder.log, "ab") as log:
            os.chmod(folder.log, 0o600)
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    [
                        os.path.join(spark_home, "bin", "spark-submit"),
                        "--properties-file",
                        properties,
                        "pyspark-shell",
                    ],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env={
                        **environ,
                        "_PYSPARK_DRIVER_CONN_INFO_PATH": connection,
                        "SPARK_CONNECT_MODE": "0",
                    },
                    start_new_session=True,
                )
            except OSError as error:
                raise JvmError(
                    "cannot start Spark",
                    why=str(error),
                    do=f"check the installation of pyspark in {spark_home}",
                ) from None
        self.gateway: Any = None
        try:
            self._wait(connection)
            self.gateway = _connect(connection)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends it with all its workers: in order, and after a while by SIGKILL."""
        if self.gateway is None:  # it has not begun: nothing is lost
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            with contextlib.suppress(Exception):  # py4j raises anything when the peer is gone
                self.gateway.shutdown()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END)
        except BaseException as error:
            self._process.kill()
            self._process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def _wait(self, connection: str) -> None:
        deadline = time.monotonic() + _START
        while not os.path.exists(connection):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise JvmError(
                    "Spark did not start",
                    why=last_words(self._folder.log) or f"it ended with exit code {self._process.returncode}",
                    do=_read(self._folder.keep_log()),
                )
            time.sleep(_TURN)


def last_words(log: str) -> str:
    """The line of a log that says why a JVM ended: the first with an error, else the last."""
    try:
        with open(log, "rb") as file:
            lines = file.read(1 << 20).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    lines = [line.strip() for line in lines if line.strip()]
    errors = [line for line in lines if "rror" in line or "xception" in line or "not " in line]
    return (errors or lines or [""])[0]


def java_properties(conf: Mapping[str, str]) -> str:
    """A .properties file of Java, in which everything unusual is escaped."""
    return "".join(f"{_escaped(key)}={_escaped(text)}\n" for key, text in conf.items())


def _escaped(text: str) -> str:
    units = memoryview(text.encode("utf-16", "surrogatepass")[2:]).cast("H")
    return "".join(
        char if (char := chr(unit)).isascii() and (char.isalnum() or char in "._-/") else f"\\u{unit:04x}"
        for unit in units
    )


def _connect(connection: str) -> Any:
    """pyspark's gateway to a JVM that runs already."""
    with open(connection, "rb") as file:
        data = file.read()
    os.unlink(connection)  # it has the secret of the gateway
    port, size = struct.unpack_from(">ii", data)
    own = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": data[8 : 8 + size].decode()}
    os.environ.update(own)
    try:
        return launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        for name in own:
            os.environ.pop(name, None)


def _read(log: str) -> str:
    return f"read {log}" if log else "run it again with another --java-home"
