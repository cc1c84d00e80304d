"""Frames of requests and answers: headers, the choice of a version, what follows an answer."""

import struct

import pytest

from kcli.core.errors import ProtocolError, UnsupportedError
from kcli.core.protocol import compiler
from kcli.core.protocol.api import Request, choose_version, decode_response, encode_request
from kcli.core.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.join_group import JoinGroupRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from kcli.core.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kcli.core.protocol.messages.sync_group import SyncGroupRequest
from tests.protocol.tables import case_id, requests


def frame(*parts: object) -> memoryview:
    return memoryview(b"".join(part if isinstance(part, bytes) else bytes(part) for part in parts))  # type: ignore[call-overload]


def body(answer: object, version: int, *, flexible: bool) -> bytes:
    out, _ = compiler.encode(answer, version, flexible=flexible)  # type: ignore[arg-type]
    return bytes(out)


# --- requests ---------------------------------------------------------------------------------------------


def test_header_v1_has_no_tags() -> None:
    [data] = encode_request(MetadataRequest(topics=[]), 8, 7, "me")
    head = struct.pack(">hhih2s", 3, 8, 7, 2, b"me")
    assert bytes(data[4:]).startswith(head + b"\x00\x00\x00\x00")
    assert len(data) == 4 + struct.unpack(">i", data[:4])[0]


def test_header_v2_keeps_the_long_client_id_and_adds_tags() -> None:
    [data] = encode_request(MetadataRequest(topics=[]), 9, 7, "me")
    head = struct.pack(">hhih2s", 3, 9, 7, 2, b"me")
    assert bytes(data[4:]).startswith(head + b"\x00" + b"\x01")


@pytest.mark.parametrize("request_type", requests(), ids=case_id)
def test_the_length_in_front_is_that_of_the_frame(request_type: type) -> None:
    for version in range(request_type.versions[0], request_type.versions[1] + 1):
        request = request_type()
        data = b"".join(encode_request(request, version, 1, "kcli"))
        assert struct.unpack(">i", data[:4])[0] == len(data) - 4
        assert struct.unpack(">hhi", data[4:12]) == (request_type.api_key, version, 1)


def produce(*buffers: object) -> ProduceRequest:
    data = PartitionProduceData(index=3, records=list(buffers))  # type: ignore[arg-type]
    return ProduceRequest(
        acks=-1, timeout_ms=5, topic_data=[TopicProduceData(name="t", partition_data=[data])]
    )


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_record_buffers_are_spliced_in_and_not_copied(version: int) -> None:
    head, records = b"h" * 61, memoryview(bytearray(100_000))
    parts = encode_request(produce(head, records), version, 1, "kcli")
    assert any(part is head for part in parts)
    assert any(part is records for part in parts)
    whole = b"".join(parts)
    assert struct.unpack(">i", whole[:4])[0] == len(whole) - 4
    assert head + bytes(records) in whole


def test_several_partitions_keep_their_records_apart() -> None:
    partitions = [PartitionProduceData(index=n, records=[bytes([n]) * 5]) for n in (1, 2, 3)]
    request = ProduceRequest(
        acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=partitions)]
    )
    whole = b"".join(encode_request(request, 9, 1, "kcli"))
    begin = len(whole) - len(body_of_produce(whole))
    back, _ = compiler.decode(ProduceRequest, memoryview(whole), begin, 9, flexible=True)
    found = {p.index: bytes(p.records) for p in back.topic_data[0].partition_data}  # type: ignore[arg-type]
    assert found == {n: bytes([n]) * 5 for n in (1, 2, 3)}


def body_of_produce(whole: bytes) -> bytes:
    return whole[4 + 8 + 2 + len("kcli") + 1 :]


def test_only_produce_without_acks_expects_no_answer() -> None:
    assert [ProduceRequest(acks=acks).expects_response for acks in (-1, 1, 0)] == [True, True, False]
    assert MetadataRequest(topics=[]).expects_response


# --- answers ----------------------------------------------------------------------------------------------


def test_a_flexible_answer_has_header_v1() -> None:
    answer = MetadataResponse(brokers=[], topics=[], cluster_id="c")
    data = frame(b"\0\0\0\7", b"\0", body(answer, 9, flexible=True))
    assert decode_response(MetadataRequest, 9, data).cluster_id == "c"  # type: ignore[attr-defined]


def test_tags_of_an_answers_header_are_stepped_over() -> None:
    answer = MetadataResponse(brokers=[], topics=[], cluster_id="c")
    data = frame(b"\0\0\0\7", b"\x01\x05\x02ab", body(answer, 9, flexible=True))
    assert decode_response(MetadataRequest, 9, data).cluster_id == "c"  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_answers_to_api_versions_always_have_header_v0(version: int) -> None:
    answer = ApiVersionsResponse(error_code=0, api_keys=[ApiVersion(api_key=3, min_version=0, max_version=9)])
    data = frame(b"\0\0\0\7", body(answer, version, flexible=version >= 3))
    back = decode_response(ApiVersionsRequest, version, data)
    assert [(a.api_key, a.max_version) for a in back.api_keys] == [(3, 9)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [8, 9])
def test_bytes_behind_the_answer_are_refused(version: int) -> None:
    flexible = version >= 9
    answer = MetadataResponse(brokers=[], topics=[])
    data = frame(b"\0\0\0\7", b"\0" if flexible else b"", body(answer, version, flexible=flexible), b"xyz")
    with pytest.raises(ProtocolError, match=f"3 extra bytes after Metadata v{version}"):
        decode_response(MetadataRequest, version, data)


def test_a_second_empty_section_of_tagged_fields_is_ignored() -> None:
    """librdkafka's mock cluster ends Metadata v13 with two."""
    answer = MetadataResponse(brokers=[], topics=[], cluster_id="c")
    twice = frame(b"\0\0\0\7\0", body(answer, 13, flexible=True), b"\0")
    assert decode_response(MetadataRequest, 13, twice).cluster_id == "c"  # type: ignore[attr-defined]
    for version, more in ((13, b"\0\0"), (13, b"\1"), (8, b"\0")):
        flexible = version >= 9
        data = frame(b"\0\0\0\7", b"\0" if flexible else b"", body(answer, version, flexible=flexible), more)
        with pytest.raises(ProtocolError, match="extra bytes"):
            decode_response(MetadataRequest, version, data)


@pytest.mark.parametrize("size", [4, 5, 6])
def test_an_answer_that_is_cut_short_is_refused(size: int) -> None:
    with pytest.raises(ProtocolError):
        decode_response(MetadataRequest, 9, frame(bytes(size)))


class Released:
    count = 0
    lent: int | None = None

    def lend(self, most: int) -> bool:
        self.lent = most
        return True

    def release(self) -> None:
        self.count += 1


def test_releasing_an_answer_releases_its_frame() -> None:
    answer, buffer = MetadataResponse(), Released()
    answer.release()  # an answer that was never attached has nothing to give back
    answer.attach(buffer)
    answer.release()
    assert buffer.count == 1


def test_an_answer_lends_its_frame() -> None:
    answer, buffer = MetadataResponse(), Released()
    assert not answer.lend(7)
    answer.attach(buffer)
    assert answer.lend(7)
    assert buffer.lent == 7


# --- versions ---------------------------------------------------------------------------------------------


@pytest.mark.case("S3-5")
@pytest.mark.parametrize(
    ("theirs", "chosen"), [((0, 13), 13), ((0, 5), 5), ((9, 40), 13), ((13, 13), 13), ((0, 0), 0)]
)
def test_the_newest_version_that_both_know_is_chosen(theirs: tuple[int, int], chosen: int) -> None:
    assert choose_version(MetadataRequest, {3: theirs}, "broker") == chosen


@pytest.mark.parametrize(
    ("request_type", "theirs", "chosen"),
    [
        (JoinGroupRequest, (0, 6), 5),
        (JoinGroupRequest, (0, 7), 7),
        (JoinGroupRequest, (0, 5), 5),
        (JoinGroupRequest, (6, 6), 6),
        (SyncGroupRequest, (0, 4), 3),
        (SyncGroupRequest, (4, 9), 5),
        (SyncGroupRequest, (4, 4), 4),
    ],
)
def test_a_version_that_is_new_in_its_form_only_is_used_where_there_is_no_other(
    request_type: type[Request], theirs: tuple[int, int], chosen: int
) -> None:
    """librdkafka's mock cluster offers these as its newest, and closes the connection when it gets one."""
    assert choose_version(request_type, {request_type.api_key: theirs}, "broker") == chosen


def test_a_request_may_cap_its_version() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    request.cap_version(8)
    assert choose_version(MetadataRequest, {3: (0, 13)}, "broker", highest=request.version_cap) == 8
    assert MetadataRequest(topics=[]).version_cap > 13


@pytest.mark.case("B14")
@pytest.mark.parametrize("theirs", [(14, 20), (5, 4)])
def test_no_version_in_common_names_the_api_and_both_ranges(theirs: tuple[int, int]) -> None:
    with pytest.raises(UnsupportedError) as error:
        choose_version(MetadataRequest, {3: theirs}, "broker:9092 (node 1)")
    said = str(error.value)
    assert "broker:9092 (node 1)" in said
    assert "Metadata" in said
    assert f"{theirs[0]} to {theirs[1]}" in said
    assert "0 to 13" in said


def test_a_cap_below_the_versions_of_the_broker_is_refused() -> None:
    with pytest.raises(UnsupportedError):
        choose_version(MetadataRequest, {3: (9, 13)}, "broker", highest=8)


@pytest.mark.case("B14")
def test_an_api_that_is_not_offered_is_named() -> None:
    with pytest.raises(UnsupportedError, match="does not offer Metadata"):
        choose_version(MetadataRequest, {0: (0, 3)}, "broker")


def test_a_request_that_needs_a_newer_version_is_not_sent_in_an_older_one() -> None:
    request = FindCoordinatorRequest(key="id", key_type=1)
    offered = {FindCoordinatorRequest.api_key: (0, 0)}
    assert choose_version(FindCoordinatorRequest, offered, "broker", lowest=request.version_floor) == 0
    request.require_version(1)
    with pytest.raises(UnsupportedError, match="cannot do what this FindCoordinator requests") as caught:
        choose_version(FindCoordinatorRequest, offered, "broker", lowest=request.version_floor)
    assert caught.value.exit_code == 7
    assert "offers 0 to 0, version 1 is needed" in caught.value.why
