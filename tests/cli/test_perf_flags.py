"""``kcli perf`` refuses before any network use what a test could not obey: exit 2, with why and what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.run import kcli

PRODUCE = ("perf", "produce", "-t", "t", "--num-records", "10")
CONSUME = ("perf", "consume", "-t", "t")
E2E = ("perf", "e2e", "-t", "t", "--num-records", "10")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((*PRODUCE, "--fail-if", "p98>5ms"), "did you mean p9"),
        ((*PRODUCE, "--fail-if", "p99>50"), "is not a latency such as"),
        ((*PRODUCE, "--fail-if", "lost>0"), "the records are not checked in this run"),
        ((*CONSUME, "--fail-if", "p99>5ms"), "perf consume measures rates"),
        ((*CONSUME, "--fail-if", "unconfirmed>0"), "perf consume measures rates"),
        ((*PRODUCE, "--html", "nowhere/page.html"), "its folder does not exist"),
        ((*CONSUME, "--html", "."), "cannot be written"),
        ((*CONSUME, "--html", ""), "the name is empty"),
        ((*E2E, "--reporting-interval", "0s"), "must be more than 0"),
        ((*PRODUCE, "--record-size", "2GiB"), "max.request.size is 1,048,576"),
        ((*E2E, "--record-size", "29..2GiB"), "max.request.size is 1,048,576"),
        ((*PRODUCE, "--record-size", "1" + "0" * 400), "no size is so large"),
        ((*PRODUCE, "--throughput", "1" + "0" * 400), "no throughput is so high"),
        ((*PRODUCE, "--throughput", "1" + "0" * 400 + "MB/s"), "is not a throughput"),
        ((*PRODUCE, "--compressible", "nan"), "is not a share in the range 0 to 1"),
        ((*PRODUCE, "--compressible", "1.5"), "is not a share in the range 0 to 1"),
        ((*E2E, "--compressible", "half"), "is not a share in the range 0 to 1"),
        ((*PRODUCE, "-X", "transactional.id=a"), "not sent in transactions"),
        ((*E2E, "-X", "transaction.timeout.ms=5000"), "not sent in transactions"),
        ((*PRODUCE, "-o", "name"), "there is no output format"),
    ],
)
def test_what_a_test_cannot_obey_is_refused(tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    done = kcli(*words, bootstrap="127.0.0.1:1", XDG_CONFIG_HOME=str(tmp_path))
    assert (done.code, done.out) == (2, ""), done.err
    assert text in done.err
    assert "\n  do: " in done.err


@pytest.mark.parametrize("words", [PRODUCE, CONSUME, E2E])
def test_a_page_does_not_replace_what_is_no_file(tmp_path: Path, words: tuple[str, ...]) -> None:
    """As root ``--html /dev/null`` would take it away from everybody."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = kcli(*words, "--html", str(pipe), bootstrap="127.0.0.1:1", XDG_CONFIG_HOME=str(tmp_path))
    assert (done.code, pipe.is_fifo()) == (2, True)
    assert "it is not a regular file, and would be replaced by one" in done.err


@pytest.mark.parametrize("words", [PRODUCE, E2E])
def test_transactions_of_a_shared_file_are_passed_over(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The run goes on to the first contact, which fails here."""
    file = tmp_path / "client.properties"
    file.write_text("transactional.id=a\n")
    done = kcli(*words, "-F", str(file), "--timeout", "200ms", bootstrap="127.0.0.1:1")
    assert done.code == 3, done.err
