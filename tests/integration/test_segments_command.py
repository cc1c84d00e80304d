"""``kcli segments`` on the folders of a real broker, beside Kafka's own kafka-dump-log."""

import json
import shutil
from pathlib import Path

import pytest

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from tests.exporting import until
from tests.integration.kafka_scripts.scripts import shared
from tests.kafka import QUICK_JVM, TEST_PROPERTIES, sandboxed
from tests.run import kcli_process

pytestmark = [pytest.mark.integration, pytest.mark.long]
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the log directory of a broker that stopped: several segments, all codecs, aborted transactions."""
    kept = tmp_path_factory.mktemp("kept") / "data"
    extra = {**TEST_PROPERTIES, "metadata.log.max.record.bytes.between.snapshots": "1000"}
    with sandboxed(extra=extra, jvm_options=QUICK_JVM) as kafka:
        orders = kafka.topic("orders", config={"segment.bytes": str(1 << 20)})
        txn = kafka.topic("txn")
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            with Producer(
                bootstrap_servers=kafka.bootstrap, compression_type=codec, batch_size=16_384
            ) as producer:
                for number in range(4000):
                    value = f"{codec} {number} {'x' * (number % 600)}".encode()
                    headers = (("h", b"1"),) if number % 7 == 0 else ()
                    producer.send(ProducerRecord(orders, value, b"k%d" % (number % 50), headers))
        with Producer(bootstrap_servers=kafka.bootstrap, transactional_id="t") as producer:
            producer.init_transactions()
            for number in range(4):
                producer.begin_transaction()
                producer.send(ProducerRecord(txn, b"v%d" % number))
                producer.flush()
                (producer.abort_transaction if number % 2 else producer.commit_transaction)()
        assert kafka.sandbox is not None
        status = kafka.sandbox.status()
        assert status is not None
        data = Path(status.data)
        live = kcli_process("segments", "verify", str(data), "-o", "json")
        assert live.code == 0, live.err
        assert "a broker has this log directory open" in live.err
        # The controller writes a snapshot in its own time; the one of the bootstrap is there from the start.
        until(lambda: len(list(data.rglob("__cluster_metadata-0/*.checkpoint"))) > 1)
        for node in kafka.nodes:
            node.stop()
        shutil.copytree(data, kept)
    return kept


def files_of(folder: Path) -> list[str]:
    return sorted(
        str(path) for path in folder.rglob("*") if path.suffix in SUFFIXES and path.name[:20].isdigit()
    )


def test_batches_and_indexes_are_the_lines_of_the_script(folder: Path) -> None:
    files = files_of(folder)
    theirs = shared().run("kafka-dump-log", "--files", ",".join(files))
    ours = kcli_process("segments", "dump", *files, "-o", "kafka")
    assert ours.code == 0, ours.err
    assert len(ours.out.splitlines()) > 500
    assert ours.out == theirs.out


def test_records_are_the_lines_of_the_script(folder: Path) -> None:
    files = [file for file in files_of(folder) if "__" not in file and file.endswith(".log")]
    theirs = shared().run("kafka-dump-log", "--files", ",".join(files), "--print-data-log")
    ours = kcli_process("segments", "dump", *files, "-o", "kafka", "--records")
    assert ours.code == 0, ours.err
    assert ours.out.count("payload: ") == 5 * 4000 + 4
    assert ours.out.count("endTxnMarker: ABORT") == 2
    assert ours.out == theirs.out


def test_what_a_broker_has_written_is_whole(folder: Path) -> None:
    done = kcli_process("segments", "verify", str(folder), "-o", "json")
    assert done.code == 0, done.err
    items = json.loads(done.out)["items"]
    assert {item["verdict"] for item in items} == {"whole"}
    assert (
        len(list(folder.rglob("*.checkpoint"))) > 1
    )  # a snapshot that the controller has made is among what is whole
    (orders,) = (item for item in items if item["topic"].startswith("orders"))
    assert (orders["records"], orders["segments"] > 1) == (20_000, True)


def test_the_metadata_log_is_decoded(folder: Path) -> None:
    done = kcli_process(
        "segments", "dump", str(folder), "-t", "__cluster_metadata", "--records", "-o", "ndjson"
    )
    assert done.code == 0, done.err
    values = [json.loads(line)["value"] for line in done.out.splitlines()]
    topics = {
        value["data"]["name"] for value in values if isinstance(value, dict) and value["name"] == "Topic"
    }
    assert {name.partition("-")[0] for name in topics} >= {"orders", "txn"}


def test_both_find_a_flipped_bit(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "data")
    log = next(path for path in files_of(tmp_path / "data") if "orders" in path and path.endswith("0.log"))
    data = bytearray(Path(log).read_bytes())
    data[200] ^= 1
    Path(log).write_bytes(data)
    theirs = shared().run("kafka-dump-log", "--files", log)
    dumped = kcli_process("segments", "dump", log, "-o", "kafka")
    assert theirs.out.count("isvalid: false") == 1
    assert (dumped.code, dumped.out) == (5, theirs.out)
    done = kcli_process("segments", "verify", str(tmp_path / "data"))
    assert done.code == 5
    assert f"{log} at byte 0 (offset 0)" in done.err


@pytest.mark.parametrize(
    ("topic", "decoder"),
    [
        ("__transaction_state", "--transaction-log-decoder"),
        ("__cluster_metadata", "--cluster-metadata-decoder"),
    ],
)
def test_decoded_records_are_the_lines_of_the_script(folder: Path, topic: str, decoder: str) -> None:
    files = [file for file in files_of(folder) if topic in file and file.endswith((".log", ".checkpoint"))]
    theirs = shared().run("kafka-dump-log", "--files", ",".join(files), decoder)
    ours = kcli_process("segments", "dump", *files, "-o", "kafka", "--records", "--show-secrets")
    assert ours.code == 0, ours.err
    assert '"data":{' in ours.out
    assert ours.out == theirs.out
