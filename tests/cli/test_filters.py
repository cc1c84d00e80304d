"""``--grep`` and ``--where`` as processes: every example of the manual, and what is said of records that do not fit."""

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import ROOT, Done, kcli, ok, shell

VALUES = [
    b'{"status":500,"state":"late","total":150,"items":[{"sku":"A-7","count":1}],"id":7}',
    b'{"status":"500","state":"lost","total":50,"items":[{"sku":"B","count":9}]}',
    None,
    b"late, and not JSON",
    b'{"unit price":3,"total":100,"state":""}',
]
KEYS = [b"k1", b"test1", b"k3", None, b"k5"]
HEADERS = [(("trace", b"a1"), ("attempt", b"2")), (("trace", b"ba1"), ("attempt", b"one")), (), (), ()]
EXAMPLES = [
    line for line in (ROOT / "docs/filters.md").read_text("utf-8").splitlines() if line.startswith("kcli ")
]
FOUND = [[0, 3], [0, 3], [0], [0], [0], [0], [0, 1], [0, 1], [4], [0], [0, 2, 4], [0, 1, 2, 3, 4], [2]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"orders": 1}) as found:
        rows = [
            Record("orders", 0, n, 1_700_000_000_000, 0, KEYS[n], VALUES[n], HEADERS[n])
            for n in range(len(VALUES))
        ]
        found.append("orders", 0, bytes(batch_of(rows).raw))
        yield found


@pytest.mark.parametrize(("line", "found"), list(zip(EXAMPLES, FOUND, strict=True)))
def test_the_examples_of_the_manual_find_what_they_are_for(
    cluster: FakeCluster, line: str, found: list[int]
) -> None:
    plain = re.sub(r" (-f|-o) \S+$", "", line)
    done = kcli(*shlex.split(plain)[1:], "-f", "%o ", bootstrap=cluster.bootstrap)
    assert ok(done).split() == [b"%d" % offset for offset in found]
    assert ok(shell(line, bootstrap=cluster.bootstrap)).count(b"\n") == len(found)


def where(cluster: FakeCluster, expression: str, *more: str) -> tuple[list[int], str]:
    done = kcli(
        "consume", "orders", "-e", "--where", expression, "-f", "%o ", *more, bootstrap=cluster.bootstrap
    )
    return [int(offset) for offset in ok(done).split()], done.stderr.decode()


def test_a_value_that_is_not_json_matters_where_it_is_filtered(cluster: FakeCluster) -> None:
    assert where(cluster, "!(value.status)")[0] == [2, 4]
    said = where(cluster, "!(value.status)")[1]
    assert "1 value is not JSON: --where skipped it: orders-0@" in said
    found, said = where(cluster, "offset >= `3`")
    assert (found, "JSON" in said) == ([3, 4], False)


def test_records_of_other_types_are_counted(cluster: FakeCluster) -> None:
    found, said = where(cluster, "value.status >= `500`")
    assert found == [0]
    assert "1 record has another type than --where expects" in said
    assert "the text '500' was compared with the number 500" in said


def test_a_number_that_is_compared_with_text_is_said_once(cluster: FakeCluster) -> None:
    found, said = where(cluster, "value.status == 500")
    assert found == [0]
    assert "warning: --where: orders-0@1: value.status == 500: the text '500'" in said
    assert "in 1 record --where compared a number with text" in said
    assert where(cluster, "value.status == 500 and key == 'k1'", "-q")[1].count("warning") == 1


def test_a_name_where_text_may_be_meant_is_noted(cluster: FakeCluster) -> None:
    assert "text is in single quotes: 'A-7'" in where(cluster, 'value.items[?sku == "A-7"]')[1]
    assert "single quotes" not in where(cluster, "value.items[?\"sku\" == 'A-7']")[1]


def test_times_of_where_are_local_and_changes_of_clocks_are_said(cluster: FakeCluster) -> None:
    def berlin(expression: str) -> Done:
        words = ("consume", "orders", "-e", "-f", "%o", "--where", expression)
        return kcli(*words, bootstrap=cluster.bootstrap, TZ="Europe/Berlin")

    done = berlin("timestamp >= '2023-11-14T23:13:20' and timestamp < '2023-11-14T23:13:21'")
    assert ok(done) == b"01234"
    done = berlin("timestamp < '2026-10-25T02:30'")
    assert b"is there twice" in done.stderr


def test_n_counts_matches_and_filters_go_together(cluster: FakeCluster) -> None:
    assert where(cluster, "value.total", "-n", "2")[0] == [0, 1]
    assert where(cluster, "value.total", "--grep", "!k:^test")[0] == [0, 4]
    assert where(cluster, "value.total == `50`", "-s", "value=json")[0] == [1]
    assert where(cluster, "value.total == `100` && key == 'k5'", "--tail", "1")[0] == [4]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("value.status = `500`", "column 14"),
        ("value.status ] `500`", "column 14"),
        ("value.status == 500 and partition == '3'", "column 38"),
        ("timestamp > 'soon'", "expected a time: 'soon' is not a time"),
        ("starts_with(key)", "starts_with() expects 2 arguments, not 1"),
    ],
)
def test_a_wrong_expression_is_a_usage_error_before_the_first_contact(expression: str, why: str) -> None:
    done = kcli("consume", "orders", "-e", "--where", expression, "-b", "127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, b"")
    assert why in done.stderr.decode()
    assert b"is not valid at column" in done.stderr


def test_json_output_of_what_was_found_is_whole(cluster: FakeCluster) -> None:
    """That the filter read two members only is nobody's business."""
    done = kcli(
        "consume", "orders", "-e", "--where", "value.status", "-o", "ndjson", bootstrap=cluster.bootstrap
    )
    assert [json.loads(line)["value"].encode() for line in ok(done).splitlines()] == VALUES[:2]


def test_members_that_are_there_twice_are_counted_with_the_first(cluster: FakeCluster) -> None:
    cluster.create_topic("twice", 1)
    rows = [
        Record("twice", 0, n, 1, 0, None, value)
        for n, value in enumerate([b'{"id":1}', b'{"id":1,"id":2}', b'{"id":12345678901234567.89}'])
    ]
    cluster.append("twice", 0, bytes(batch_of(rows).raw))
    done = kcli(
        "consume", "twice", "-e", "--where", "value.id > `0`", "-f", "%o ", bootstrap=cluster.bootstrap
    )
    assert ok(done) == b"0 2 "
    assert (
        b"1 value has a member twice that --where reads: --where skipped it; the first: "
        b"twice-0@1: the member 'id' is there twice" in done.stderr
    )
