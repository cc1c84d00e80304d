"""``kcli groups lag --watch --on-verdict`` and ``--webhook``, against the scripted cluster."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Admin, Consumer
from kcli.core.protocol.messages.offset_fetch import OffsetFetchRequest
from kcli.core.types import OffsetAndMetadata, TopicPartition
from kcli.flows.lag import partition_life, verdict_changes
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.codes import Code
from tests.fake.script import FOREVER
from tests.printed_json import check_document
from tests.run import kcli, start

PATIENCE = 120.0
Document = dict[str, Any]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Group g has read 4 of 20 records of t-0, and nobody is in it."""
    with FakeCluster(1, topics={"t": 2}) as found:
        put(found, "t", 0)
        commit(
            found,
            "g",
            {TopicPartition("t", 0): OffsetAndMetadata(4), TopicPartition("t", 1): OffsetAndMetadata(0)},
        )
        yield found


class Hook:
    """A server that answers with ``statuses``, then with 200; ``documents`` are those that it took."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.documents: list[Document] = []
        self.requests = 0


@contextmanager
def listening(hook: Hook) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.requests += 1
            status = hook.statuses.pop(0) if hook.statuses else 200
            if status == 200:
                hook.documents.append(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/hooks/SECRET"
        finally:
            server.shutdown()
            thread.join()


def documents(path: Path) -> list[Document]:
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def changes(found: list[Document]) -> list[tuple[str | None, int | None, str | None, str | None]]:
    for one in found:
        check_document(one)
    return [(one["topic"], one["partition"], one["from"], one["to"]) for one in found]


def wait_until(condition: Callable[[], object]) -> None:
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


class Life(threading.Thread):
    """A member of group live that stops to commit, and goes on: each when the one before was reported."""

    def __init__(self, cluster: FakeCluster, told: Path) -> None:
        super().__init__()
        self.cluster, self.told = cluster, told
        self.ready = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._live()
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.ready.set()
            with Admin(bootstrap_servers=self.cluster.bootstrap) as admin:
                admin.delete_groups(["live"])  # what is watched is gone: the watch ends

    def _live(self) -> None:
        with Consumer(
            bootstrap_servers=self.cluster.bootstrap,
            group_id="live",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        ) as consumer:
            consumer.subscribe(["t"])
            wait_until(lambda: consumer.poll(0.05))
            consumer.commit()
            before = len(self.cluster.seen(OffsetFetchRequest))
            self.ready.set()
            wait_until(
                lambda: len(self.cluster.seen(OffsetFetchRequest)) > before + 2
            )  # all was read at first
            put(self.cluster, "t", 0)
            wait_until(lambda: any(one["to"] == "stalled" for one in documents(self.told)))
            wait_until(lambda: consumer.poll(0.05))
            consumer.commit()
            wait_until(lambda: sum(one["to"] == "ok" for one in documents(self.told)) == 2)


def test_a_partition_that_stalls_and_recovers_is_reported_once_each(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STILL_MS", "_FIRST_MS"):
        monkeypatch.setattr(partition_life, name, 400)
    told, hook = tmp_path / "told", Hook(500)
    life = Life(cluster, told)
    life.start()
    assert life.ready.wait(PATIENCE)
    with listening(hook) as url:
        done = kcli(
            "groups", "lag", "live", "--watch=100ms", "--time", "off",
            "--on-verdict", f"sh -c 'cat >> {told}'", "--webhook", url,
            bootstrap=cluster.bootstrap,
        )  # fmt: skip
    life.join(PATIENCE)
    assert life.error is None
    expected = [
        (None, None, "ok", "stalled"),
        ("t", 0, "ok", "stalled"),
        (None, None, "stalled", "ok"),
        ("t", 0, "stalled", "ok"),
    ]
    found = documents(told)
    assert changes(found)[:4] == expected
    assert changes(found)[4:] in (
        [],
        [(None, None, "ok", "empty")],
    )  # the member leaves, and the group is deleted
    assert found[0]["why"].startswith("1 of 2: t-0 no commit for ")
    assert found[1]["why"].startswith("no commit for ")
    assert found[1]["group"] == "live"
    assert hook.documents == found  # after a 500 it was sent again
    assert hook.requests == 1 + len(found)
    assert done.code == 1  # the group is gone
    assert "SECRET" not in done.err


def watching(cluster: FakeCluster, *more: str) -> Any:
    return start(
        "groups",
        "lag",
        "g",
        "--watch=100ms",
        "--time",
        "off",
        "-o",
        "ndjson",
        *more,
        bootstrap=cluster.bootstrap,
        bufsize=0,
    )


def test_a_first_verdict_that_is_not_well_is_reported_and_an_interrupt_delivers_what_is_queued(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    with watching(cluster, "--on-verdict", f"sh -c 'sleep 0.3; cat >> {told}'") as process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert changes(documents(told)) == [(None, None, None, "stopped"), ("t", 0, None, "stopped")]


def test_a_command_that_hangs_holds_up_no_sample_and_is_ended(cluster: FakeCluster, tmp_path: Path) -> None:
    started = tmp_path / "started"
    with watching(
        cluster, "--timeout", "2s", "--max-lag", "20", "--on-verdict", f"sh -c 'echo >> {started}; sleep 600'"
    ) as process:
        began = [json.loads(process.stdout.readline())["at"] for _ in range(20)]
        assert len(set(began)) == 10  # of two partitions, in about a second
        assert len(documents_started(started)) == 1
        put(cluster, "t", 0, 30)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 6  # before the 8 of --max-lag
    text = errors.decode()
    assert (
        "warning: group g: not known to stopped was not reported by --on-verdict: it ran for more than 2 s"
        in text
    )
    assert "of 2 changes of verdicts were not reported by --on-verdict" in text
    assert "group g is" in text  # --max-lag


def test_a_second_interrupt_ends_a_command_that_hangs_at_once(cluster: FakeCluster, tmp_path: Path) -> None:
    started = tmp_path / "started"
    with watching(cluster, "--on-verdict", f"sh -c 'echo $$ >> {started}; sleep 600'") as process:
        wait_until(lambda: documents_started(started))
        process.send_signal(signal.SIGINT)
        first = process.stderr.readline()
        assert b"of verdicts not reported yet; for 10 s at most" in first
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    (pid,) = documents_started(started)
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


def documents_started(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_command_that_cannot_be_started_is_warned_of_for_each_change_and_ends_with_6(
    cluster: FakeCluster,
) -> None:
    done = kcli(
        "groups",
        "lag",
        "g",
        "--watch=100ms",
        "--time",
        "off",
        "--max-lag",
        "1",
        "--on-verdict",
        "/no/such/program",
        bootstrap=cluster.bootstrap,
    )
    assert done.code == 6
    assert done.err.count("was not reported by --on-verdict: No such file or directory") == 2
    assert "kcli: 2 of 2 changes of verdicts were not reported by --on-verdict" in done.err


def test_a_webhook_that_refuses_shows_its_host_only(cluster: FakeCluster) -> None:
    with listening(Hook(403, 403)) as url:
        secret_url = url.replace("http://", "http://user:word@")
        done = kcli(
            "groups",
            "lag",
            "g",
            "--watch=100ms",
            "--time",
            "off",
            "--max-lag",
            "1",
            "--webhook",
            secret_url,
            bootstrap=cluster.bootstrap,
        )
    assert done.code == 6
    assert "HTTP 403" in done.err
    assert "can be seen by all users" in done.err
    for secret in ("SECRET", "word", "dXNlc"):
        assert secret not in done.err


def test_a_group_that_cannot_be_read_is_reported(
    cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict_changes, "ABSENT_MS", 300)
    told = tmp_path / "told"

    def story() -> None:
        wait_until(lambda: documents(told))
        cluster.fail(OffsetFetchRequest, Code.GROUP_AUTHORIZATION_FAILED, times=FOREVER)
        wait_until(lambda: documents(told)[-1]["to"] == "unread")
        cluster.heal()
        wait_until(lambda: documents(told)[-1]["from"] == "unread")
        put(cluster, "t", 0, 30)

    thread = threading.Thread(target=story)
    thread.start()
    done = kcli(
        "groups", "lag", "--watch=100ms", "--time", "off", "--max-lag", "20", "--on-verdict", f"sh -c 'cat >> {told}'",
        bootstrap=cluster.bootstrap,
    )  # fmt: skip
    thread.join(PATIENCE)
    assert done.code == 8
    groups = [one for one in documents(told) if one["topic"] is None]
    assert [(one["from"], one["to"]) for one in groups] == [
        (None, "stopped"),
        ("stopped", "unread"),
        ("unread", "stopped"),
    ]
    assert "GROUP_AUTHORIZATION_FAILED" in groups[1]["why"]


@pytest.mark.parametrize(
    ("words", "what", "remedy"),
    [
        (("--on-verdict", "true"), "--on-verdict without --watch", "add --watch"),
        (("--webhook", "https://h/"), "--webhook without --watch", "add --watch"),
        (("--watch", "--on-verdict", "a | b"), "--on-verdict is no command", "sh -c"),
        (("--watch", "--on-verdict", ""), "--on-verdict is no command", "PROGRAM"),
        (("--watch", "--webhook", "h"), "--webhook is no URL", "https://HOST/PATH"),
        (
            ("--watch", "--webhook", "http://u:hush@h/"),
            "would travel unencrypted",
            "--allow-plaintext-secrets",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_any_contact(words: tuple[str, ...], what: str, remedy: str) -> None:
    done = kcli("groups", "lag", *words, bootstrap="127.0.0.1:1")
    assert done.code == 2
    assert what in done.err
    assert remedy in done.err
    assert "hush" not in done.err
