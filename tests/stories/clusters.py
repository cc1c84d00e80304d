"""The brokers of the stories: each page finds them empty, under the names that it gives to its profiles."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from kcli.core import Admin
from kcli.core.errors import KcliError
from kcli.core.names import is_own_topic
from kcli.sandbox.discovery import DEFAULT_NAME
from kcli.sandbox.state import read_state, write_state
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, Kafka, sandboxed

PATIENCE = 120.0
FORGETFUL = {
    **TEST_PROPERTIES,
    "replica.high.watermark.checkpoint.interval.ms": "200",
}
"""A page that copies the data folder finds no ends of logs of the page before."""


class Clusters:
    """Brokers that are started when the first page asks for so many."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._started: list[Kafka] = []

    def empty(self, number: int) -> list[Kafka]:
        """So many clusters without topics and groups."""
        while len(self._started) < number:
            self._started.append(self._stack.enter_context(sandboxed(jvm_options=QUICK_JVM, extra=FORGETFUL)))
        chosen = self._started[:number]
        for kafka in chosen:
            _clear(kafka)
        return chosen


@contextmanager
def clusters() -> Iterator[Clusters]:
    """They end with the block."""
    with ExitStack() as stack:
        yield Clusters(stack)


def write_profiles(file: Path, names: Sequence[str], kafkas: Sequence[Kafka]) -> None:
    """A configuration of kcli with a profile for each cluster; the first one is in use."""
    lines = [f'current = "{names[0]}"'] if names else []
    for name, kafka in zip(names, kafkas, strict=True):
        lines += ["", f"[profiles.{name}]", f'bootstrap.servers = "{kafka.bootstrap}"']
    file.parent.mkdir(parents=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def show_as_default(kafka: Kafka, folder: Path) -> None:
    """``folder`` has a sandbox ``default`` whose brokers are these: to use, not to stop."""
    assert kafka.sandbox is not None
    state = read_state(kafka.sandbox.home)
    assert state is not None
    write_state(folder / DEFAULT_NAME, replace(state, name=DEFAULT_NAME))


def _clear(kafka: Kafka) -> None:
    """Removes what the page before has left, also what its last processes are about to leave."""
    until = time.monotonic() + PATIENCE
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        while True:
            topics = [one.name for one in admin.list_topics() if not one.internal or is_own_topic(one.name)]
            groups = [group.group_id for group in admin.list_groups().groups]
            if not topics and not groups:
                return
            results = {**admin.delete_groups(groups), **admin.delete_topics(topics)}
            failed = [error for error in results.values() if isinstance(error, KcliError)]
            if failed and time.monotonic() > until:
                raise failed[0]
            time.sleep(0.1)
