"""``kcli pipeline profile`` of a made topic reports exactly what is in it."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.producer.producer import Producer
from kcli.core.types import ProducerRecord
from tests.fake.cluster import FakeCluster
from tests.run import kcli_as_set_up as command

START = 1_700_000_000_000


class Made:
    """A topic with three partitions: most records in the first, a hot key, nulls, JSON with an optional field."""

    def __init__(self, cluster: FakeCluster) -> None:
        chance = random.Random(7)
        self.bootstrap = cluster.bootstrap
        self.keys: Counter[bytes] = Counter()
        self.null_keys = self.null_values = 0
        self.counts = {0: 700, 1: 200, 2: 100}
        with Producer(bootstrap_servers=cluster.bootstrap) as producer:
            for partition, count in self.counts.items():
                for number in range(count):
                    key = (
                        None if number % 10 == 0 else b"hot" if number % 2 else b"k%d" % chance.randint(0, 30)
                    )
                    value = {"id": number, "name": "x", **({"note": None} if number % 3 else {})}
                    data = None if number % 20 == 1 else json.dumps(value).encode()
                    self.null_keys += key is None
                    self.null_values += data is None
                    if key is not None:
                        self.keys[key] += 1
                    producer.send(ProducerRecord("t", data, key, (), partition, START + number * 1_000))


@pytest.fixture(scope="module")
def made() -> Iterator[Made]:
    with FakeCluster(1, cluster_id="c", topics={"t": 3, "empty": 2}) as cluster:
        yield Made(cluster)


def profiled(made: Made, *more: str, runner: str = "inline") -> Any:
    done = command("pipeline", "profile", "-b", made.bootstrap, "--runner", runner, "-o", "json", *more)
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_known_skew_nulls_keys_and_schema(made: Made, runner: str) -> None:
    report = profiled(made, "t", "--sample", "100000", runner=runner)
    (topic,) = report["topics"]
    assert [item["records"] for item in report["items"]] == [700, 200, 100]
    assert (topic["partitions"], topic["records"], topic["skew"]) == (3, 1_000, 2.1)
    assert (topic["null_keys"], topic["null_values"]) == (made.null_keys, made.null_values)
    assert topic["null_key_rate"] == made.null_keys / 1_000
    assert (topic["distinct_keys"], topic["distinct_keys_exact"]) == (len(made.keys), True)
    assert {one["key"].encode(): one["records"] for one in topic["top_keys"]} == dict(
        sorted(made.keys.items(), key=lambda item: (-item[1], item[0]))[:20]
    )
    assert topic["top_keys"][0]["key"] == "hot"
    assert topic["values"]["json"] == topic["values"]["sampled"] == 1_000 - made.null_values
    assert topic["json_schema"] == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": "string"}, "note": {"type": "null"}},
        "required": ["id", "name"],
    }
    assert report["items"][0]["min_timestamp"] == "2023-11-14T22:13:20.000Z"
    assert sum(one["records"] for one in topic["times"]) == 1_000
    assert sum(one["records"] for one in topic["value_sizes"]["histogram"]) == 1_000 - made.null_values
    assert report["totals"]["records"] == 1_000


def test_a_range_and_some_partitions(made: Made) -> None:
    report = profiled(made, "t", "-p", "1,2", "--since", str(START + 150_000), "--top", "1", "--sample", "0")
    assert [item["records"] for item in report["items"]] == [50, 0]
    (topic,) = report["topics"]
    assert len(topic["top_keys"]) == 1
    assert (topic["values"]["sampled"], topic["json_schema"]) == (0, None)


def test_a_sample_is_spread_over_the_topic(made: Made) -> None:
    (topic,) = profiled(made, "t", "--sample", "50")["topics"]
    assert 40 <= topic["values"]["sampled"] <= 60
    assert topic["records"] == 1_000


def test_the_first_and_the_last_value_of_each_partition_are_in_the_sample(cluster_of_versions: str) -> None:
    done = command(
        *(
            "pipeline",
            "profile",
            "v",
            "-b",
            cluster_of_versions,
            "--runner",
            "inline",
            "-o",
            "json",
            "--sample",
            "1",
        )
    )
    (topic,) = json.loads(done.out)["topics"]
    assert topic["values"]["sampled"] == 4  # of two partitions
    assert set(topic["json_schema"]["properties"]) == {"first", "last"}


def test_values_and_keys_are_decoded_by_serdes(cluster_of_versions: str) -> None:
    where = ("pipeline", "profile", "w", "-b", cluster_of_versions, "--runner", "inline", "-s", "key=int")
    done = command(*where, "-s", "value=hex", "-o", "json")
    (topic,) = json.loads(done.out)["topics"]
    assert [(one["key"], one["records"]) for one in topic["top_keys"]] == [("7", 3)]
    assert (topic["values"]["json"], topic["json_schema"]) == (3, {"type": "string"})
    text = command(*where, "-s", "value=int")
    assert "of 3 values: 2 JSON, 0 other text, 0 binary, 1 that the serde cannot decode" in text.out
    wrong = command("pipeline", "profile", "w", "-b", cluster_of_versions, "-s", "value=afro")
    assert wrong.code == 2


@pytest.fixture(scope="module")
def cluster_of_versions() -> Iterator[str]:
    """``v`` has other fields in its first and last records; ``w`` numbers, and one that is too short."""
    with FakeCluster(1, cluster_id="c", topics={"v": 2, "w": 1}) as cluster:
        with Producer(bootstrap_servers=cluster.bootstrap) as producer:
            for partition in range(2):
                for number in range(100):
                    name = b"first" if not number else b"last" if number == 99 else b"middle"
                    producer.send(ProducerRecord("v", b'{"%s":1}' % name, None, (), partition))
            for value in (b"\0\0\0\1", b"\0\0\0\2", b"\0"):
                producer.send(ProducerRecord("w", value, b"\0\0\0\7", (), 0))
        yield cluster.bootstrap


def test_a_topic_without_records(made: Made, tmp_path: Path) -> None:
    report = profiled(made, "empty", "--html", str(tmp_path / "page.html"))
    (topic,) = report["topics"]
    assert (topic["records"], topic["skew"], topic["top_keys"], topic["times"]) == (0, None, [], [])
    assert [item["records"] for item in report["items"]] == [0, 0]


def test_text_and_page(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    done = command(
        "pipeline", "profile", "t", "-b", made.bootstrap, "--runner", "inline", "--html", str(path)
    )
    assert done.code == 0, done.err
    assert "t: 1,000 records" in done.out
    assert "the largest partition has 2.10 times the average" in done.out
    assert "    note: null, sometimes absent" in done.out
    html = path.read_text()
    assert "<title>Profile of t</title>" in html
    assert html.count("<svg") == 4
    assert html.count(">records</text>") == 4  # the axes have names
    assert [html.count(f">{name}</text>") for name in ("partition", "time", "bytes")] == [1, 1, 2]
    assert ">700</text>" in html  # the most of a bar
    assert "http" not in html


def test_a_dry_run_writes_no_page(made: Made, tmp_path: Path) -> None:
    profiled(made, "t", "--dry-run", "--html", str(tmp_path / "page.html"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("nope",), "nope"),
        (("t", "-p", "9"), "9"),
        (("t", "--since", "1h", "--offset", "5"), "--since with --offset"),
        (("t", "--offset", "stored"), "--offset stored"),
        (("t", "--html", "/nowhere/at/all.html"), "/nowhere/at/all.html"),
    ],
)
def test_what_cannot_be_is_said(made: Made, flags: tuple[str, ...], text: str) -> None:
    done = command("pipeline", "profile", "-b", made.bootstrap, "--runner", "inline", *flags)
    assert done.code in (1, 2)
    assert text in done.err
