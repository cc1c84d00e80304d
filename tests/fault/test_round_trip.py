"""The round trip of ``kcli demo``: what is sent is counted and comes back unchanged."""

from pathlib import Path

from kcli.core.options import WHOLE_BATCHES, ProducerOptions
from kcli.flows.round_trip import generate_lines, read_back, send_file
from kcli.flows.stop import Stop
from tests.fake.cluster import FakeCluster
from tests.fault.fetching import quick_reader


def test_all_lines_are_confirmed_and_come_back_unchanged(tmp_path: Path) -> None:
    stop, path = Stop(), tmp_path / "lines.txt"
    with FakeCluster(1, topics={"t": 1}) as cluster:
        written = generate_lines(path, 1000, 11, stop)
        options = ProducerOptions(bootstrap_servers=cluster.bootstrap)
        confirmed: list[int] = []
        sent = send_file(options, "t", path, stop, confirmed.append, timeout=20)
        assert (sent.lines, sent.confirmed, sent.failed, sent.unknown) == (1000, 1000, 0, 0)
        with quick_reader(cluster, max_poll_records=WHOLE_BATCHES) as reader:
            read, digest = read_back(reader, "t", sent.confirmed, stop, lambda _records, _bytes: None)
    assert read.records == 1000
    assert digest == written.digest
