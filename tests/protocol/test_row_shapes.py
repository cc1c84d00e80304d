"""Arrays that a kernel reads are those that the field tables read, element by element."""

import random

import pytest

from kcli.core.errors import ProtocolError
from kcli.core.kernels import active
from kcli.core.protocol import codec, compiler
from kcli.core.protocol.messages import list_groups, metadata
from kcli.core.protocol.messages import offset_fetch as wire
from kcli.core.protocol.row_shapes import row_shape
from kcli.core.protocol.table import Table
from tests.protocol.values import plain

VERSION = 9
needs_kernels = pytest.mark.skipif(
    active.IMPLEMENTATION == "pure", reason="pure Python uses the field tables"
)


def usual_groups(count: int) -> list[wire.OffsetFetchResponseGroup]:
    chance = random.Random(count)
    return [
        wire.OffsetFetchResponseGroup(
            group_id=f"group-{number}",
            error_code=chance.choice((0, 16)),
            topics=[
                wire.OffsetFetchResponseTopics(
                    name=name,
                    partitions=[
                        wire.OffsetFetchResponsePartitions(
                            partition_index=index,
                            committed_offset=chance.randrange(-1, 1 << 62),
                            committed_leader_epoch=chance.randrange(-1, 9),
                            error_code=chance.choice((0, 0, 88)),
                        )
                        for index in range(chance.randrange(20))
                    ],
                )
                for name in chance.sample(["orders", "ünïcödé", "x" * 200], chance.randrange(4))
            ],
        )
        for number in range(count)
    ]


def read_back(groups: list[wire.OffsetFetchResponseGroup]) -> wire.OffsetFetchResponse:
    response = wire.OffsetFetchResponse(groups=groups)
    data = b"".join(codec.join_splices(*compiler.encode(response, VERSION, flexible=True)))
    found, end = compiler.decode(wire.OffsetFetchResponse, memoryview(data), 0, VERSION, flexible=True)
    assert end == len(data)
    for cut in range(0, len(data), max(1, len(data) // 50)):
        with pytest.raises(ProtocolError):
            compiler.decode(wire.OffsetFetchResponse, memoryview(data)[:cut], 0, VERSION, flexible=True)
    return found


@pytest.mark.parametrize("count", [0, 1, 200])
def test_a_table_equals_a_list_of_its_elements(count: int) -> None:
    found = read_back(usual_groups(count)).groups
    assert found == list(found)
    assert found != [*found, None]
    assert found != tuple(found)


@pytest.mark.parametrize("count", [0, 1, 200])
def test_groups_as_usual_are_a_table_of_what_was_sent(count: int) -> None:
    groups = usual_groups(count)
    found = read_back(groups)
    assert plain(found) == plain(wire.OffsetFetchResponse(groups=groups))
    assert isinstance(found.groups, Table) == (active.IMPLEMENTATION != "pure")


def test_one_group_with_metadata_is_read_as_well_as_the_others() -> None:
    groups = usual_groups(5)
    partition = wire.OffsetFetchResponsePartitions(committed_offset=5, metadata="by hand")
    groups[2].topics = [wire.OffsetFetchResponseTopics(name="t", partitions=[partition])]
    found = read_back(groups)
    assert plain(found) == plain(wire.OffsetFetchResponse(groups=groups))
    assert found.groups[2].topics[0].partitions[0].metadata == "by hand"


@needs_kernels
def test_elements_are_created_once_and_have_their_defaults() -> None:
    found = read_back(usual_groups(3))
    assert found.groups[1] is found.groups[1]
    assert found.groups[-1].topics == found.groups[2].topics
    assert plain(found.groups[0].topics) == plain(usual_groups(3)[0].topics)


def test_shapes_follow_the_field_tables() -> None:
    groups = row_shape(wire.OffsetFetchResponseGroup, VERSION)
    assert groups is not None
    assert (groups.shape, groups.names) == ("s[s{iqieh_}_]h_", ["group_id", "topics", "error_code"])
    listed = [row_shape(list_groups.ListedGroup, version) for version in (3, 4, 5)]
    assert [one and one.shape for one in listed] == ["ss_", "sss_", "ssss_"]


def test_elements_with_other_fields_have_no_shape() -> None:
    assert row_shape(wire.OffsetFetchResponseTopics, 10) is None  # an id
    assert row_shape(metadata.MetadataResponseTopic, 9) is None  # a bool
