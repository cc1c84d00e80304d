"""Files of committed offsets: what is written is read again; other tools' files; what is wrong is named."""

import contextlib
import json
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kcli.core.errors import ConfigError
from kcli.flows.transfer.formats.kafka_csv import csv_lines
from kcli.flows.transfer.formats.ndjson import ndjson_lines
from kcli.flows.transfer.formats.recognise import parse_offsets
from kcli.flows.transfer.formats.zookeeper_text import can_be_written, zookeeper_lines
from kcli.flows.transfer.saved_offset import SavedOffset

NAMES = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,40}", fullmatch=True)
GROUPS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n\0"))
NUMBERS = st.integers(0, (1 << 63) - 1)


def offsets(group: st.SearchStrategy[str | None], *, all_fields: bool) -> st.SearchStrategy[SavedOffset]:
    more = {}
    if all_fields:
        text = st.none() | st.text(st.characters(exclude_categories=("Cs",)))
        more = {
            "leader_epoch": st.none() | st.integers(0, 1 << 30),
            "metadata": text,
            "cluster": text,
            "topic_id": text,
            "timestamp": st.none() | st.integers(0, 1 << 50),
            "drained": st.none() | st.booleans(),
            "at_ms": st.none() | st.integers(0, 253_402_300_799_999),
        }
    return st.builds(SavedOffset, NAMES, st.integers(0, (1 << 31) - 1), NUMBERS, group=group, **more)


def several(one: st.SearchStrategy[SavedOffset]) -> st.SearchStrategy[list[SavedOffset]]:
    return st.lists(one, min_size=1, unique_by=lambda saved: (saved.group, saved.tp))


def read(text: str | bytes) -> list[SavedOffset]:
    return parse_offsets(text.encode() if isinstance(text, str) else text, "file")


@given(several(offsets(st.none(), all_fields=False)))
def test_csv_of_one_group_is_read_as_it_was_written(rows: list[SavedOffset]) -> None:
    assert read(csv_lines(rows, with_group=False)) == rows


@given(several(offsets(GROUPS, all_fields=False)))
@example([SavedOffset("t", 0, 0, group="[")])
@example([SavedOffset("t", 0, 0, group="{}")])
def test_csv_of_several_groups_is_read_as_it_was_written(rows: list[SavedOffset]) -> None:
    assert read(csv_lines(rows, with_group=True)) == rows


@given(several(offsets(GROUPS | st.none(), all_fields=True)))
def test_ndjson_is_read_as_it_was_written(rows: list[SavedOffset]) -> None:
    assert read(ndjson_lines(rows)) == rows


@pytest.mark.case("S4-29")
@given(several(offsets(GROUPS.filter(can_be_written), all_fields=False)), st.none() | st.integers(0, 99))
@example([SavedOffset("t", 0, 5, group="a,b:c")], None)
@example([SavedOffset("t", 0, 5, group="{")], 1)
def test_lines_of_zookeeper_are_read_as_they_were_written(
    rows: list[SavedOffset], broker: int | None
) -> None:
    rows = [replace(row, partition=row.partition % 1000, broker=broker) for row in rows]
    rows = list({(row.group, row.tp): row for row in rows}.values())
    assert read(zookeeper_lines(rows)) == rows


def test_csv_of_a_group_with_the_name_of_a_path_is_csv() -> None:
    rows = [
        SavedOffset("t", 0, 5, group="/consumers/g:1"),
        SavedOffset("t", 0, 5, group="/consumers/g/offsets/t/0"),
    ]
    for row in rows:
        assert read(csv_lines([row], with_group=True)) == [row]


def test_the_group_whose_name_is_empty_is_a_group() -> None:
    saved = SavedOffset("t", 0, 1, group="")
    assert csv_lines([saved], with_group=True) == ",t,0,1\n"
    assert read(",t,0,1\nbilling,t,0,2\n") == [saved, SavedOffset("t", 0, 2, group="billing")]
    assert read(ndjson_lines([saved])) == [saved]


def test_csv_is_quoted_as_kafkas_script_quotes() -> None:
    """Taken from what the script of 4.3.1 prints."""
    names = {
        "orders": "orders",
        "g-5-367b0a2e": "g-5-367b0a2e",
        "a.topic-whose.name_has_more_than_24": '"a.topic-whose.name_has_more_than_24"',
        "exactly.twenty-four.chars": '"exactly.twenty-four.chars"',
        "exactly.twenty-fourchars": "exactly.twenty-fourchars",
        " lead": '" lead"',
        "hash#": '"hash#"',
        "star*": '"star*"',
        "umläut": "umläut",
        'q"uote': '"q""uote"',
        "gr,oup": '"gr,oup"',
        "tab\tx": '"tab\tx"',
    }
    for name, cell in names.items():
        assert csv_lines([SavedOffset("t", 1, 3, group=name)], with_group=True) == f"{cell},t,1,3\n"


def test_golden_ndjson() -> None:
    saved = SavedOffset(
        "orders",
        2,
        7,
        "billing",
        0,
        "mine",
        "Qx3",
        "id",
        1_700_000_000_123,
        drained=False,
        at_ms=1_700_000_001_000,
    )
    assert ndjson_lines([saved]) == (
        '{"kind":"OffsetExport","api":"kcli/v1","cluster":"Qx3","at":"2023-11-14T22:13:21.000Z","group":"billing",'
        '"group_type":null,"topic":"orders","topic_id":"id","partition":2,"offset":7,"leader_epoch":0,"metadata":"mine",'
        '"timestamp":1700000000123,"drained":false}\n'
    )


ORDERS = [SavedOffset("orders", 0, 100), SavedOffset("orders", 11, 0)]
OF_GROUP = [SavedOffset("orders", 0, 100, group="g"), SavedOffset("orders", 11, 0, group="g")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("orders,0,100\norders,11,0\n", ORDERS),
        ("\ufeffTopic,Partition,Offset\r\norders,0,100\r\n\r\norders,11,0", ORDERS),
        ('group,topic,partition,offset\n"g",orders,0,100\ng, orders , 11,0\n', OF_GROUP),
        ('[{"topic": "orders", "partition": 0, "offset": 100},\n{"topic":"orders","partition":11,"offset":0}]',
         ORDERS),
        ("orders 0 100\n\norders\t11\t0\n", ORDERS),
        ("TOPIC   PARTITION  OFFSET\norders  0          100\norders  11         0\n", ORDERS),
        ('{"groupid": "g", "offsets": {"orders": {"0": 100, "11": 0}}}', OF_GROUP),
        (json.dumps({"groupid": "g", "offsets": {"orders": {"0": 100, "11": 0}}}, indent=2), OF_GROUP),
    ],
)  # fmt: skip
def test_files_of_other_tools(text: str, rows: list[SavedOffset]) -> None:
    assert read(text) == rows


KCLI = '{"kind":"OffsetExport","topic":"t","partition":0,"offset":1}\n'


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("t,0,1\nt,1\n", "line 2", "2 columns"),
        ("t,0,1\ng,t,1,1\n", "line 2", "4 columns, the lines before have 3"),
        ("t,0,1\nt,x,1\n", "line 2", "the partition 'x'"),
        ("t,0,-1\n", "line 1", "the offset '-1'"),
        ("t,0,9223372036854775808\n", "line 1", "is not a whole number"),
        (f"t,0,{'9' * 5000}\n", "line 1", "is not a whole number"),
        ("t t,0,1\n", "line 1", "'t t' is not a valid topic name"),
        ('t,0,1\n"t,0,2\n', "line 2", "unexpected end"),
        ("t,0,1\nu,0,1\nt,0,2\n", "line 3", "t-0 occurs twice: see line 1"),
        ("/consumers/g/offsets/t/0:1\n/consumers/g/offsets/t/0:2\n", "line 2", "t-0 of group g occurs twice"),
        ("/consumers/g/offsets/t/0:1\n/consumers/g/owners/t/0:2\n", "line 2", "is not /consumers/GROUP/offsets/TOPIC/"),
        ("/consumers/g/offsets/t/0:-1\n", "line 1", "the offset '-1'"),
        ("/consumers/g/offsets/t t/0:1\n", "line 1", "'t t' is not a valid topic name"),
        ("/consumers/g/offsets/t/a-0:1\n", "line 1", "is not /consumers/GROUP/offsets/TOPIC/"),
        ("t 0\n", "line 1", "2 words"),
        ("t 0 1\nt 1 1 1\n", "line 2", "4 words"),
        ("hello\n", "line 1", "1 words"),
        (KCLI + "{\n", "line 2", "not JSON"),
        (KCLI + '{"kind":"Other"}\n', "line 2", "not an object of the kind OffsetExport"),
        (KCLI.replace("}", ',"metadata":1}'), "line 1", "its metadata is 1"),
        (KCLI.replace("}", ',"at":"soon"}'), "line 1", "'soon' is not a time"),
        (KCLI.replace("}", ',"timestamp":-2}'), "line 1", "the timestamp -2 is not a whole number from 0"),
        (KCLI.replace("}", ',"at":"1969-12-31T23:59:59Z"}'), "line 1", "is no time of a record"),
        (KCLI.replace("}", ',"leader_epoch":true}'), "line 1", "its leader_epoch is True"),
        (KCLI.replace(':1}', ':1.0}'), "line 1", "the offset 1.0"),
        (KCLI.replace('"partition":0', '"partition":true'), "line 1", "the partition True"),
        ('{"a":1}', "line 1", "has no groupid"),
        ('{"groupid":\n"g",', "line 2", "not JSON"),
        ('{"groupid":"g","offsets":[]}', "offsets", "not an object of topics"),
        ('{"groupid":"g","offsets":{"t":3}}', "topic t", "not an object of partitions"),
        ('{"groupid":"g","offsets":{"t":{"0":-1}}}', "topic t, partition 0", "the offset -1"),
        ('{"groupid":5,"offsets":{}}', "groupid", "5 is not the name of a group"),
        ('[{"topic":"t","partition":0}]', "entry 1", "it has no offset"),
        ("[3]", "entry 1", "not an object"),
        ("[" * 100_000, "line 1", "nested"),
        ("{" * 100_000, "line 1", "not JSON"),
        (b"t,0,1\nt,\xff,1\n", "line 2", "not UTF-8"),
        (KCLI.replace(":1}", f":{'9' * 5000}}}"), "line 1", "the offset 99999"),
        (KCLI.replace(":1}", ":12345678901234567.89}"), "line 1", "the offset 12345678901234567.89"),
        (KCLI + KCLI.replace(":1}", ':1,"offset":2}'), "line 2", "has the member 'offset' a second time"),
        (KCLI.replace(":1}", ':1,"offset":2}') + KCLI, "line 1", "has the member 'offset' a second time"),
        (KCLI.replace(":1}", ':1,"offset":2}'), "line 1", "has the member 'offset' a second time"),
        ('{"groupid":"g","offsets":\n{"t":{"0":1,\n"0":2}}}', "line 3", "offsets.t has the member '0' a second time"),
        ('{"groupid":"g","offsets":{"t":{"0":1},"t":{"1":2}}}', "line 1", "offsets has the member 't' a second time"),
        ('[{"topic":"t","partition":0,"offset":1},\n{"topic":"t","topic":"u","partition":0,"offset":1}]', "line 2", "[1] has the member 'topic' a second time"),  # noqa: E501
        (f'{{"groupid":"g","offsets":{{"t":{{"0":{"9" * 5000}}}}}}}', "topic t, partition 0", "the offset 99999"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_location(text: str | bytes, place: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.exit_code == 2
    assert caught.value.what == f"file cannot be read: {place}"
    assert reason in caught.value.why


@pytest.mark.parametrize(
    "text", ["", " \n\n", "topic,partition,offset\n", "[]", '{"groupid":"g","offsets":{}}']
)
def test_a_file_without_offsets_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="file has no offsets"):
        read(text)


@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:0t \n', max_size=60).map(str.encode))
def test_any_bytes_are_offsets_or_an_error_of_usage(data: bytes) -> None:
    with contextlib.suppress(ConfigError):
        assert parse_offsets(data, "file")
