"""The judges of ``make pipeline-drill`` see what is missing, twice, or another record."""

import json
from pathlib import Path

from tests.chaos.pipeline_drill import SCENARIOS, dealt, differences
from tests.chaos.pipeline_judges import Content, _digest, of_files
from tests.fake.cluster import FakeCluster
from tests.pipeline.exporting import Row, export, files, fill

ROWS: list[Row] = [(b"k%d" % number, b"v%d" % number, (), number) for number in range(5)]


class _Smallest:
    """As ``random.Random``: no draw."""

    def random(self) -> float:
        return 0.0


def test_records_that_are_missing_or_twice_or_others_are_found(tmp_path: Path) -> None:
    with FakeCluster(1, cluster_id="here", topics={"t": 1}) as cluster:
        for _night in range(2):
            fill(cluster, ROWS)
            done, _ = export(cluster, tmp_path / "export", "--append")
            assert done.code == 0, done.err
    found = files(tmp_path / "export")
    digest = sum(_digest(0, offset, *ROWS[offset % 5][:2]) for offset in range(10))  # type: ignore[arg-type]
    whole = of_files(found, tmp_path / "whole")
    assert whole == {0: Content(10, 10, digest)}
    assert not list(differences(whole, whole))
    first, second = sorted(name for name in found if name.endswith(".parquet"))
    twice = of_files({**found, second: found[first]}, tmp_path / "twice")
    assert "partition 0: 5 missing, 5 twice" in next(differences(whole, twice))
    head = json.loads(found["_kcli_manifest.json"])
    found["_kcli_manifest.json"] = json.dumps({**head, "parts": head["parts"][:1]}).encode()
    assert "partition 0: 5 missing, 0 twice" in next(
        differences(whole, of_files(found, tmp_path / "missing"))
    )
    assert "0 missing, 0 twice (digest" in next(differences(whole, {0: Content(10, 10, digest + 1)}))
    assert "has None" in next(differences(whole, {}))


def test_each_kind_is_killed_before_one_is_killed_again() -> None:
    found = dealt(16, SCENARIOS, _Smallest())  # type: ignore[arg-type]
    for scenario, kills in found.items():
        assert len(kills) == 4
        assert len(set(kills)) == min(4, len(scenario.kinds))
    assert {kind for kills in found.values() for kind in kills} == {
        kind for one in SCENARIOS for kind in one.kinds
    }
