"""A few random messages of every API, judged by others: a small run of ``python -m tests.protocol.oracles``."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.core.protocol.api import Request, Response
from kcli.core.protocol.schema import INT16, INT64, STRING, Array, Struct, field
from tests.protocol import oracles
from tests.protocol.java_messages import JavaMessages, missing
from tests.protocol.kafka_json import NEWEST, definitions
from tests.protocol.tables import case_id, requests
from tools.protocol.definitions import CLIENTS

REQUESTS = requests()
COUNT = 40

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # kafka-python reads its files the old way


def found(request_type: type[Request]) -> list[oracles.Sample]:
    definitions(NEWEST)  # skips without a jar
    return list(oracles.samples(request_type, COUNT, seed=2))


@pytest.mark.parametrize("request_type", REQUESTS, ids=case_id)
def test_our_tables_write_and_read_what_the_definitions_say(request_type: type[Request]) -> None:
    classes: dict[str, type[Struct]] = {cls.__name__: cls for cls in (request_type, request_type.response)}
    for sample in found(request_type):
        assert oracles.tables_differ(classes[sample.definition["name"]], sample) == ""


@pytest.mark.parametrize("request_type", REQUESTS, ids=case_id)
def test_kafka_python_reads_and_writes_the_same(request_type: type[Request]) -> None:
    for sample in found(request_type):
        theirs = oracles.kafka_python(sample.definition["name"])
        if theirs is not None and sample.version <= theirs.max_version:
            assert oracles.by_kafka_python(theirs, sample) == ""


@pytest.fixture(scope="module")
def java() -> Iterator[JavaMessages]:
    if why := missing():
        pytest.skip(why)
    definitions(NEWEST)
    with JavaMessages(NEWEST, [CLIENTS]) as process:
        yield process


@pytest.mark.skipif(bool(missing()), reason=missing() or "there is a JDK")
@pytest.mark.parametrize("request_type", REQUESTS, ids=case_id)
def test_kafkas_own_classes_read_and_write_the_same(request_type: type[Request], java: JavaMessages) -> None:
    assert set(oracles.by_java(java, found(request_type))) == {""}


# --- the judges can say no -------------------------------------------------------------------------------------------


class BrokenPartition(Struct):
    partition_index: int = field(INT64)  # of four bytes
    error_code: int = field(INT16)


class BrokenTopic(Struct):
    name: str = field(STRING)
    partitions: list[BrokenPartition] = field(Array(BrokenPartition))


class OffsetDeleteResponse(Response):
    error_code: int = field(INT16)
    throttle_time_ms: int = field(INT16)
    topics: list[BrokenTopic] = field(Array(BrokenTopic))


def test_a_broken_table_is_found() -> None:
    (offset_delete,) = (one for one in REQUESTS if one.api_name == "OffsetDelete")
    samples: list[Any] = [s for s in found(offset_delete) if s.definition["type"] == "response"]
    small = [s for s in samples if abs(s.values["ThrottleTimeMs"]) < 1 << 15]
    assert small
    assert all(
        oracles.tables_differ(OffsetDeleteResponse, s) == "our tables write other bytes" for s in small
    )


@pytest.mark.skipif(bool(missing()), reason=missing() or "there is a JDK")
def test_kafkas_classes_refuse_other_bytes(java: JavaMessages) -> None:
    name = "org.apache.kafka.common.message.OffsetDeleteResponseData"
    short, long = java.rewritten([(name, 0, b"\0\0"), (name, 0, bytes(11))])
    assert "BufferUnderflow" in str(short)
    assert "1 bytes are left" in str(long)
