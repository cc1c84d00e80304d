"""Which snapshot and which replica the states are read from, and what is said where they are not there."""

from pathlib import Path

import pytest

from kcli.core.error_codes import NONE, NOT_IN_LOG_DIRS
from kcli.core.errors import CorruptRecordsError
from kcli.core.hooks import Hooks
from kcli.core.offline.answers import ANSWERS
from kcli.core.offline.directories import Directories
from kcli.core.offline.image import TOPIC
from kcli.core.offline.metadata_log import NotHereError
from kcli.core.offline.states import (
    coordinated,
    groups,
    leader_of,
    nodes,
)
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from kcli.core.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kcli.core.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kcli.core.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kcli.core.protocol.messages.find_coordinator import FindCoordinatorRequest
from kcli.core.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kcli.core.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kcli.core.protocol.schema import Struct
from kcli.core.protocol.stored import group_records as group
from kcli.core.protocol.stored import metadata_records as stored
from kcli.core.records.batch import RecordBatch
from kcli.core.types import TopicPartition
from tests.unit.core.offline.stored import (
    TRANSACTIONAL,
    batch,
    control,
    keyed,
    metadata_batch,
    write_log,
    write_log_dir,
)

HEADER, FOOTER = 3, 4
ID = b"t" * 16


def topic(name: str, topic_id: bytes = ID) -> stored.TopicRecord:
    return stored.TopicRecord(name=name, topic_id=topic_id)


def partition(
    number: int, leader: int = 1, topic_id: bytes = ID, isr: tuple[int, ...] = (1, 2)
) -> stored.PartitionRecord:
    return stored.PartitionRecord(
        partition_id=number, topic_id=ID, replicas=[1, 2], isr=[1, 2], removing_replicas=[], adding_replicas=[],
        leader=leader, leader_epoch=3, partition_epoch=0,
    )  # fmt: skip


def broker(number: int) -> stored.RegisterBrokerRecord:
    return stored.RegisterBrokerRecord(
        broker_id=number, broker_epoch=1, end_points=[], features=[], rack=None
    )


def write_snapshot(folder: Path, end_offset: int, *records: Struct, whole: bool = True) -> None:
    parts: list[RecordBatch] = [control(0, HEADER), metadata_batch(1, *records)]
    if whole:
        parts.append(control(1 + len(records), FOOTER))
    name = f"{end_offset:020d}-0000000001.checkpoint"
    (folder / name).write_bytes(b"".join(bytes(one.raw) for one in parts))


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    write_log_dir(tmp_path / "one")
    return tmp_path / "one"


class Notes(Hooks):
    """What is told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def log(self, level: str, area: str, text: str) -> None:
        self.texts.append(text)


def opened(*paths: Path) -> Directories:
    return Directories([str(path) for path in paths])


def test_the_newest_whole_snapshot_is_continued_by_the_log(log_dir: Path) -> None:
    folder = log_dir / f"{TOPIC}-0"
    write_log(
        folder, [metadata_batch(10, topic("before")), metadata_batch(11, topic("after", b"b" * 16))], start=10
    )
    write_snapshot(folder, 10, topic("old", b"o" * 16))
    write_snapshot(folder, 11, topic("snapshot"))
    (folder / f"{12:020d}-0000000001.checkpoint.part").write_bytes(b"")
    image = opened(log_dir).image()
    assert image.topics.keys() == {"snapshot", "after"}
    assert image.end_offset == 12


def test_a_snapshot_that_is_not_whole_is_passed_over(log_dir: Path) -> None:
    folder = log_dir / f"{TOPIC}-0"
    write_log(folder, [metadata_batch(10, topic("a"))], start=10)
    write_snapshot(folder, 10, topic("whole", b"o" * 16))
    write_snapshot(folder, 11, topic("part"), whole=False)
    notes = Notes()
    image = Directories([str(log_dir)], notes).image()
    assert image.topics.keys() == {"whole", "a"}
    assert any("has no footer" in text for text in notes.texts)


def test_a_log_whose_beginning_nothing_says_is_no_state(log_dir: Path) -> None:
    folder = log_dir / f"{TOPIC}-0"
    write_log(folder, [metadata_batch(10, topic("a"))], start=10)
    write_snapshot(folder, 9, topic("too old", b"o" * 16))
    with pytest.raises(NotHereError, match="no snapshot"):
        opened(log_dir).image()


def test_damage_of_the_metadata_log_is_an_error_and_no_older_state(log_dir: Path) -> None:
    folder = log_dir / f"{TOPIC}-0"
    batches = [metadata_batch(0, topic("a")), metadata_batch(1, topic("b", b"b" * 16))]
    write_log(folder, batches)
    path = folder / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptRecordsError):
        opened(log_dir).image()
    assert opened(log_dir).known_image() is None


def test_of_several_metadata_logs_the_one_with_the_highest_epoch_counts(tmp_path: Path) -> None:
    for node, epoch, name in ((1, 1, "longer"), (2, 2, "newer")):
        write_log_dir(tmp_path / str(node), node)
        batches = [metadata_batch(0, topic(name), broker(1), broker(2), epoch=epoch)]
        if node == 1:
            batches.append(metadata_batch(3, stored.NoOpRecord(), epoch=epoch))
        write_log(tmp_path / str(node) / f"{TOPIC}-0", batches)
    directories = opened(tmp_path / "1", tmp_path / "2")
    assert directories.image().topics.keys() == {"newer"}
    assert nodes(directories) == [1, 2]


def test_without_a_metadata_log_answers_are_codes_and_not_empty(log_dir: Path) -> None:
    write_log(log_dir / "orders-0", [])
    directories = opened(log_dir)
    acls = answer(directories, DescribeAclsRequest(
        resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1, principal_filter=None, host_filter=None,
        operation=1, permission_type=1,
    ))  # fmt: skip
    assert acls.error_code == NOT_IN_LOG_DIRS
    assert "metadata log" in acls.error_message
    asked = DescribeConfigsResource(resource_type=2, resource_name="orders", configuration_keys=None)
    assert [
        one.error_code for one in answer(directories, DescribeConfigsRequest(resources=[asked])).results
    ] == [NOT_IN_LOG_DIRS]
    for request in (
        ListGroupsRequest(),
        DescribeDelegationTokenRequest(owners=None),
        ListConfigResourcesRequest(),
    ):
        with pytest.raises(NotHereError) as raised:  # the responses have no room for why
            answer(directories, request)
        assert (raised.value.exit_code, bool(raised.value.do)) == (6, True)
    names = answer(directories, MetadataRequest(topics=None)).topics
    assert [one.name for one in names] == ["orders"]


def commits(*pairs: tuple[str, int]) -> RecordBatch:
    rows = [
        keyed(
            group.OffsetCommitKey(group=name, topic="orders", partition=0),
            group.OffsetCommitValue(offset=offset, metadata="", commit_timestamp=1),
        )
        for name, offset in pairs
    ]
    return batch(0, rows)


def write_coordinated(log_dir: Path) -> None:
    """Two partitions of __consumer_offsets, of which one is here, led by broker 2."""
    records = [broker(1), broker(2), topic("__consumer_offsets"), partition(0, 2), partition(1, 1)]
    write_log(log_dir / f"{TOPIC}-0", [metadata_batch(0, *records)])
    write_log(log_dir / "__consumer_offsets-0", [commits(("b", 5), ("d", 6))])


def test_groups_of_a_partition_that_is_not_here_are_missing(log_dir: Path) -> None:
    write_coordinated(log_dir)
    directories = opened(log_dir)
    known = coordinated(directories, "__consumer_offsets")
    assert (known.partitions, set(known.absent)) == (2, {1})
    assert known.lacks("b") is None
    assert known.lacks("a") is not None
    assert groups(directories).groups.keys() == {"b", "d"}
    rows = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("a", "b")]
    found = answer(directories, OffsetFetchRequest(groups=rows), 8).groups
    assert [one.error_code for one in found] == [NOT_IN_LOG_DIRS, NONE]
    partitions = answer(
        directories, MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")])
    ).topics[0]
    assert [one.leader_id for one in partitions.partitions] == [2, -1]
    assert [one.error_code for one in partitions.partitions] == [NONE, NOT_IN_LOG_DIRS]
    request = FindCoordinatorRequest(key="", key_type=0, coordinator_keys=["a", "b"])
    nodes_of = [
        (one.error_code, one.node_id, one.error_message) for one in answer(directories, request).coordinators
    ]
    why = "__consumer_offsets-1, where it is kept, is in none of the log directories"
    assert nodes_of == [(NOT_IN_LOG_DIRS, -1, why), (NONE, 2, None)]


def test_each_broker_lists_the_groups_that_it_coordinated(log_dir: Path) -> None:
    write_coordinated(log_dir)
    directories = opened(log_dir)
    assert leader_of(directories, TopicPartition("__consumer_offsets", 0)) == 2
    listed = {}
    for node in (1, 2):
        directories.asked_node = node
        listed[node] = [one.group_id for one in answer(directories, ListGroupsRequest()).groups]
    assert listed == {1: [], 2: ["b", "d"]}
    assert answer(directories, DescribeLogDirsRequest(topics=None)).error_code == NOT_IN_LOG_DIRS
    directories.asked_node = 1
    assert [one.log_dir for one in answer(directories, DescribeLogDirsRequest(topics=None)).results] == [
        str(log_dir)
    ]


def test_an_offset_that_a_transaction_may_change_is_not_stable(log_dir: Path) -> None:
    records = [broker(1), topic("__consumer_offsets"), partition(0)]
    write_log(log_dir / f"{TOPIC}-0", [metadata_batch(0, *records)])
    key = group.OffsetCommitKey(group="g", topic="orders", partition=0)
    value = group.OffsetCommitValue(offset=9, metadata="", commit_timestamp=1)
    open_one = batch(1, [keyed(key, value)], producer=7, flags=TRANSACTIONAL)
    write_log(log_dir / "__consumer_offsets-0", [commits(("g", 5)), open_one])
    directories = opened(log_dir)
    asked = OffsetFetchRequestGroup(
        group_id="g", topics=[OffsetFetchRequestTopics(name="orders", partition_indexes=[0, 1])]
    )
    found = {}
    for stable in (False, True):
        response = answer(directories, OffsetFetchRequest(groups=[asked], require_stable=stable), 8)
        found[stable] = [
            (one.committed_offset, one.error_code) for one in response.groups[0].topics[0].partitions
        ]
    assert found == {False: [(5, 0), (-1, 0)], True: [(-1, 88), (-1, 0)]}


def test_acls_and_quotas_are_filtered_as_brokers_do(log_dir: Path) -> None:
    def acl(number: int, name: str, pattern: int) -> stored.AccessControlEntryRecord:
        return stored.AccessControlEntryRecord(
            id=bytes(15) + bytes([number]), resource_type=2, resource_name=name, pattern_type=pattern, principal="User:a",
            host="*", operation=3, permission_type=3,
        )  # fmt: skip

    def quota(*parts: tuple[str, str | None]) -> stored.ClientQuotaRecord:
        entity = [stored.EntityData(entity_type=kind, entity_name=name) for kind, name in parts]
        return stored.ClientQuotaRecord(entity=entity, key="k", value=1.0, remove=False)

    records = [
        acl(1, "orders", 3), acl(2, "ord", 4), acl(3, "*", 3), acl(4, "other", 3),
        quota(("user", "u")), quota(("user", "u"), ("client-id", "c")), quota(("user", None)),
    ]  # fmt: skip
    write_log(log_dir / f"{TOPIC}-0", [metadata_batch(0, *records)])
    directories = opened(log_dir)

    def names(pattern: int, name: str | None = "orders", **more: int) -> set[str]:
        given = {"operation": 1, "permission_type": 1, "resource_type_filter": 1, **more}
        request = DescribeAclsRequest(
            resource_name_filter=name,
            pattern_type_filter=pattern,
            principal_filter=None,
            host_filter=None,
            **given,
        )
        return {one.resource_name for one in answer(directories, request).resources}

    any_pattern, match, literal, prefixed = 1, 2, 3, 4
    assert names(match) == {"orders", "ord", "*"}
    assert names(any_pattern) == {"orders"}
    assert names(literal) == {"orders"}
    assert names(prefixed) == set()
    assert names(any_pattern, None) == {"orders", "ord", "*", "other"}
    assert (
        names(match, operation=4)
        == names(match, permission_type=2)
        == names(match, resource_type_filter=3)
        == set()
    )

    def entities(*components: tuple[str, int, str | None], strict: bool = False) -> int:
        rows = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
        found = answer(directories, DescribeClientQuotasRequest(components=rows, strict=strict))
        return len(found.entries)

    exact, default, specified = 0, 1, 2
    assert entities() == 3
    assert entities(("user", exact, "u")) == 2
    assert entities(("user", exact, "u"), strict=True) == 1
    assert entities(("user", default, None)) == 1
    assert entities(("user", specified, None)) == 3
    assert entities(("ip", exact, "u")) == 0


def test_a_topic_inherits_what_is_set_for_brokers_and_secrets_stay(log_dir: Path) -> None:
    def config(kind: int, name: str, key: str, value: str) -> stored.ConfigRecord:
        return stored.ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)

    records = [
        broker(1), topic("orders"), partition(0), config(2, "orders", "segment.bytes", "9"),
        config(4, "", "log.segment.bytes", "8"), config(4, "", "log.retention.hours", "2"),
        config(4, "1", "message.max.bytes", "7"), config(4, "1", "listener.name.x.ssl.keystore.password", "secret"),
    ]  # fmt: skip
    write_log(log_dir / f"{TOPIC}-0", [metadata_batch(0, *records)])
    directories = opened(log_dir)
    asked = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind, name in ((2, "orders"), (4, "1"), (2, "nosuch"))
    ]
    of_topic, of_broker, unknown = answer(
        directories, DescribeConfigsRequest(resources=asked, include_synonyms=True)
    ).results
    assert {one.name: (one.value, one.config_source) for one in of_topic.configs} == {
        "segment.bytes": ("9", 1), "retention.ms": ("7200000", 3), "max.message.bytes": ("7", 2),
    }  # fmt: skip
    synonyms = next(one for one in of_topic.configs if one.name == "segment.bytes").synonyms
    assert [(one.value, one.source) for one in synonyms] == [("9", 1), ("8", 3)]
    secret = next(one for one in of_broker.configs if one.name.endswith("password"))
    assert (secret.value, secret.is_sensitive) == (None, True)
    assert unknown.error_code == 3


def test_the_metadata_log_says_which_folder_is_of_an_older_topic(tmp_path: Path) -> None:
    old, new = "b2xkb2xkb2xkb2xkb2xkbw", "bmV3bmV3bmV3bmV3bmV3bg"  # base64 of 16 bytes
    for node, topic_id in ((1, new), (2, old)):
        write_log_dir(tmp_path / str(node), node)
        folder = tmp_path / str(node) / "orders-0"
        write_log(folder, [commits(("x", node))])
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    stored_id = b"newnewnewnewnewn"
    write_log(tmp_path / "1" / f"{TOPIC}-0", [metadata_batch(0, broker(1), topic("orders", stored_id))])
    notes = Notes()
    directories = Directories([str(tmp_path / "1"), str(tmp_path / "2")], notes)
    (only,) = directories.topics["orders"].partitions[0]
    assert only.path == str(tmp_path / "1" / "orders-0")
    assert any("older topic" in text for text in notes.texts)


def test_every_answer_is_of_a_version_that_the_message_has() -> None:
    for key, row in ANSWERS.items():
        kind, handler = row.load()
        assert kind.api_key == key
        assert kind.versions[0] <= row.first <= row.last <= kind.versions[1], row
        assert callable(handler)


def answer(directories: Directories, request: object, version: int = -1):  # type: ignore[no-untyped-def]
    """By the table, as the server does it."""
    for row in ANSWERS.values():
        kind, handler = row.load()
        if type(request) is kind:
            return handler(directories, request, row.last if version < 0 else version)
    raise AssertionError(f"{type(request).__name__} is not answered")
