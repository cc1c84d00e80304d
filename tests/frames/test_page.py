"""The examples of ``docs/python.md``, pasted one after the other, on the fake cluster; on Kafka: tests/integration."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

import kcli
from tests.fake.cluster import FakeCluster
from tests.frames.test_read_topic import put
from tests.pipeline.exporting import export

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"^```(?:python\n|py\n(?=typed|archived))(.*?)^```", text, re.M | re.S)
    with FakeCluster(1, topics={"orders": 2, "orders-by-customer": 1}) as cluster:
        for partition in (0, 1):
            # c11 has most orders: it is among the first ten, in whatever order the others are.
            values = [b'{"customer": "c%d"}' % min(n % 13, 11) for n in range(60)]
            times = [int(time.time() * 1000) - 1000 + n for n in range(60)]
            put(cluster, *values, topic="orders", partition=partition, times=times)
        assert export(cluster, tmp_path / "archive", "orders")[0].code == 0
        names: dict[str, Any] = {}
        for block in blocks:
            code = block.replace("localhost:9092", cluster.bootstrap)
            code = code.replace("s3://archive/orders", str(tmp_path / "archive")).replace(
                '"2026-11-01"', '"0"'
            )
            of_registry = '    schema_registry_url="http://localhost:8081",\n'
            code = code.replace(of_registry, "").replace('value_serde="avro"', 'value_serde="str"')
            code = code.replace('.unnest("value")', "")
            exec(compile(code, str(PAGE), "exec"), names)
        assert len(blocks) >= 10
        assert names["table"].num_rows == names["frame"].shape[0] == 120
        assert names["by_partition"].to_pandas()["orders"].tolist() == [60, 60]
        assert names["account"].confirmed == 2
        assert [record.value for record in cluster.log("orders-by-customer", 0).records()] == [
            b'{"customer":"c1","orders":12}',
            b'{"customer":"c2","orders":7}',
        ]
        latest = kcli.read_topic(
            "orders", follow=True, offsets="latest:", bootstrap_servers=cluster.bootstrap
        )
        assert {span.start for span in latest.spans.values()} == {60}
    assert "c11" in capsys.readouterr().out
