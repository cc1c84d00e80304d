"""``max.request.size``: what a producer sends at once, measured on the wire."""

from pathlib import Path
from typing import Any

import pytest

from kcli.core import Producer
from kcli.core.hooks import Hooks
from kcli.core.producer.serialization import RecordTooLargeError
from kcli.core.protocol.messages.produce import ProduceRequest
from kcli.core.types import ProducerRecord, Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.run import environment, kcli

PARTITIONS = 12
LIMIT = 40_000


def sent(cluster: FakeCluster, sizes: list[int], **options: Any) -> tuple[list[int], list[Any]]:
    """The bytes of each Produce request, and the errors of records of these sizes, in turn over the partitions."""
    found: list[int] = []

    def note(way: str, _node: Any, _number: int, api: str, _version: int, size: int) -> None:
        if way == "→" and api == "Produce":
            found.append(size)

    with Producer(bootstrap_servers=cluster.bootstrap, hooks=Hooks(wire=note), **options) as producer:
        futures = [
            producer.send(ProducerRecord("t" * 200, value=noise(size), partition=number % PARTITIONS))
            for number, size in enumerate(sizes)
        ]
        producer.flush(60)
    return found, [future.error for future in futures]


def noise(size: int) -> bytes:
    """Bytes that no codec makes smaller."""
    state, found = 1, bytearray()
    while len(found) < size:
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        found += (state >> 24).to_bytes(5, "big")
    return bytes(found[:size])


@pytest.mark.parametrize("codec", ["none", "lz4", "gzip"])
@pytest.mark.parametrize("version", [8, ProduceRequest.versions[1]])
def test_no_request_is_larger_than_the_limit(version: int, codec: str) -> None:
    """Batches of all partitions share requests, none is more than the limit, and nothing is lost."""
    with FakeCluster(1, topics={"t" * 200: PARTITIONS}) as cluster:
        cluster.cap_versions({ProduceRequest: version})
        sizes = [900, 9_000, 17_000] * 40
        requests, errors = sent(
            cluster, sizes, max_request_size=LIMIT, compression_type=codec, client_id="c" * 100, linger_ms=50
        )
        assert errors == [None] * len(sizes)
        assert max(requests) <= LIMIT
        assert len(requests) < len(sizes)


def test_a_record_that_makes_a_larger_request_alone_is_refused() -> None:
    """The error names the record, the request and the option; the others are stored."""
    with FakeCluster(1, topics={"t" * 200: PARTITIONS}) as cluster:
        requests, errors = sent(cluster, [500, LIMIT - 100, 500], max_request_size=LIMIT)
        assert [type(error) for error in errors] == [type(None), RecordTooLargeError, type(None)]
        assert f"why: max.request.size is {LIMIT:,}" in f"why: {errors[1].why}"
        assert "alone it makes a request of 40," in errors[1].what
        assert max(requests) <= LIMIT


def test_a_mirror_splits_batches_that_are_larger_than_its_target_accepts(tmp_path: Path) -> None:
    """By the option of the target's profile; without it batches are copied as they are."""
    rows = [Record("t", 0, number, 1_700_000_000_000, 0, None, noise(10_000), ()) for number in range(50)]
    places = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "STATE", "CACHE")}
    config = tmp_path / "CONFIG" / "kcli" / "config.toml"
    config.parent.mkdir(parents=True)
    with FakeCluster(1, topics={"t": 1}) as source, FakeCluster(1) as target:
        source.append("t", 0, bytes(batch_of(rows).raw))
        found = {}
        for limit in ("", f"max.request.size = {LIMIT}"):
            config.write_text(f'[profiles.to]\nbootstrap.servers = "{target.bootstrap}"\n{limit}\n')
            copy = f"copy-{len(found)}"
            line = ["--map-topic", f"t={copy}", "--job", copy, "--until-caught-up", "--yes", "-q"]
            done = kcli(
                "mirror", "--from", source.bootstrap, "--to", "to", "-t", "t", *line, **environment(**places)
            )
            assert done.code == 0, done.err
            log = target.log(copy, 0)
            sizes = [len(batch.raw) for batch in log.batches]
            found[limit] = (len(sizes) == 1, max(sizes) < LIMIT, len(log.records()))
        assert [*found.values()] == [(True, False, 50), (False, True, 50)]


@pytest.mark.parametrize("limit", [{}, {"max_request_size": int("1048576")}])
def test_by_default_a_record_of_a_mebibyte_is_the_largest(limit: dict[str, int]) -> None:
    """The same number that is set limits whole requests."""
    with FakeCluster(1, topics={"t" * 200: PARTITIONS}) as cluster:
        requests, errors = sent(cluster, [1_000_000] * PARTITIONS, **limit)
        assert errors == [None] * PARTITIONS
        assert max(requests) <= (1_048_576 if limit else 4_100_000)
