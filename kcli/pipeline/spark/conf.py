"""The configuration of a session: kcli's settings, and over them those of ``--spark-conf``. Pure.

The user's settings win, except where a promise of kcli depends on its own: these are refused, or joined with the user's.
"""

import os
import re
from collections.abc import Mapping

from kcli.core.classes import dataclass
from kcli.core.errors import ConfigError
from kcli.pipeline.job import ATTEMPTS

LIGHT, SQL = "light", "sql"
"""Profiles of the driver's JVM: one that starts quickly, for jobs whose work is done in Python, and Java's default."""

_JVM = {LIGHT: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC", SQL: ""}
_SECRETS = (
    r"(?i)secret|password|passwd|passphrase|token|access[.]?key|sasl|jaas|keystore|truststore|credential"
)
_LOCAL = re.compile(r"local(?:\[(?P<slots>\d+|\*)(?:\s*,\s*(?P<attempts>\d+))?\])?")
_MASTER = re.compile(r"local-cluster\[.+\]|spark://.+|yarn|k8s://.+")
_DRIVER_JAVA = "spark.driver.extraJavaOptions"
PYTHON_PATH = "spark.executorEnv.PYTHONPATH"
_FAILURES = "spark.task.maxFailures"
_SOCKET_FOLDER = 60
"""The longest folder for sockets in bytes: a socket's path has 103 on some systems, and Spark's names up to 43."""
_REDACTIONS = (
    "spark.redaction.regex",
    "spark.sql.redaction.options.regex",
)
_REFUSED = {
    "spark.master": "the master is given by --master",
    "spark.submit.deployMode": "the driver runs in this process, which prints its report",
    "spark.remote": "jobs are no clients of Spark Connect",
    "spark.api.mode": "jobs are no clients of Spark Connect",
}


@dataclass(frozen=True, slots=True)
class Master:
    """``url`` as Spark gets it. ``slots``: how many tasks run at a time, None where the cluster decides.
    ``attempts``: how often a task is begun.
    """

    url: str
    slots: int | None
    attempts: int

    @property
    def name(self) -> str:
        """The master's name in messages."""
        return self.url if self.slots is None else f"local[{self.slots}]"

    @property
    def is_local(self) -> bool:
        """Whether tasks run in this machine's driver."""
        return self.slots is not None


def parse_master(
    text: str | None, *, local: int | None, processors: int, conf: Mapping[str, str] | None = None
) -> Master:
    """The master of ``--master``, else of ``--local N``. Spark is allowed one failure more than there are attempts, so
    that the last attempt can report that the processes of all others died, instead of a job without results.
    """
    attempts = _attempts((conf or {}).get(_FAILURES))
    if text is None:
        slots = local or processors
    else:
        match = _LOCAL.fullmatch(text.strip())
        if match is None:
            if not _MASTER.fullmatch(text.strip()):
                raise ConfigError(
                    f"--master {text}",
                    why="it is no master of Spark",
                    do="spark://HOST:7077, yarn, k8s://https://HOST:PORT, local[N]",
                )
            return Master(text.strip(), None, attempts)
        slots = processors if match["slots"] == "*" else int(match["slots"] or 1)
        attempts = _attempts(match["attempts"]) if match["attempts"] else attempts
    if slots < 1:
        raise ConfigError(f"--master {text}", why="no task could run", do="local[1] or more")
    return Master(f"local[{slots},{attempts + 1}]", slots, attempts)


def _attempts(text: str | None) -> int:
    if text is None:
        return ATTEMPTS
    if not text.strip().isdecimal() or int(text) < 1:
        raise ConfigError(f"{_FAILURES}={text}", why="it is not a number of 1 or more", do=f"{_FAILURES}=4")
    return int(text)


def session_conf(
    master: Master,
    given: Mapping[str, str],
    *,
    profile: str,
    folder: str,
    log_configuration: str,
    python_path: str,
) -> dict[str, str]:
    """All settings of a session. ``folder`` is its own, for temporary files; ``python_path``: where workers find kcli's
    modules.
    """
    for key in given:
        _check(key)
    found = _own(master, folder)
    found |= {key: text for key, text in given.items() if key not in _REDACTIONS}
    found["spark.master"] = master.url
    found[_FAILURES] = str(master.attempts + 1)
    found[PYTHON_PATH] = ":".join(filter(None, [python_path, given.get(PYTHON_PATH, "")]))
    for key in _REDACTIONS:
        found[key] = f"{_SECRETS}|{given[key]}" if key in given else _SECRETS
    found[_DRIVER_JAVA] = " ".join(
        filter(
            None,
            [
                _JVM[profile],
                f"-Dlog4j2.configurationFile={log_configuration}",
                f"-Dderby.system.home={folder}",
                f"-Djava.io.tmpdir={folder}",
                given.get(_DRIVER_JAVA, ""),
            ],
        )
    )
    return found


def warnings_of(given: Mapping[str, str]) -> list[str]:
    """What a user's setting costs."""
    found = []
    if given.get("spark.speculation", "").strip().lower() == "true":
        found.append(
            "spark.speculation=true: a task may run twice at a time; what is written at least once may be written twice"
        )
    if given.get(_FAILURES, "").strip() == "1":
        found.append(f"{_FAILURES}=1: a task that fails is not repeated")
    return found


def _check(key: str) -> None:
    if not key.startswith("spark."):
        raise ConfigError(
            f"--spark-conf {key}=…",
            why="Spark ignores settings whose names do not begin with spark.",
            do=f"--spark-conf spark.hadoop.{key}=… for a setting of Hadoop, -X {key}=… for one of Kafka's clients",
        )
    if key in _REFUSED:
        raise ConfigError(f"--spark-conf {key}=…", why=_REFUSED[key], do="leave it out")


def _own(master: Master, folder: str) -> dict[str, str]:
    found = {
        "spark.app.name": "kcli",
        "spark.ui.showConsoleProgress": "false",
        "spark.speculation": "false",
        "spark.sql.warehouse.dir": f"file:{folder}/warehouse",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    if master.is_local:
        found |= {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": folder,
        }
        if len(os.fsencode(folder)) <= _SOCKET_FOLDER:
            found |= {
                "spark.python.unix.domain.socket.enabled": "true",
                "spark.python.unix.domain.socket.dir": folder,
            }
    return found
