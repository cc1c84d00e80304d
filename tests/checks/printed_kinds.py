"""The kinds of JSON that kcli prints and the keys of their columns, as its sources say. Not a test.

Each call of a function that prints rows is found in the sources. Most name their kind and their columns in words that
mean the same in the whole module; ``ELSEWHERE`` has those that are known at run time only.
"""

import ast
import importlib.util
from collections.abc import Iterator
from typing import Any, NamedTuple

from kcli.output.tables import Column
from kcli.tui.columns import fields_of
from kcli.tui.screens.brokers import Brokers
from kcli.tui.screens.events import Events
from kcli.tui.screens.group_config import GroupConfig
from kcli.tui.screens.group_members import GroupMembers
from kcli.tui.screens.group_partitions import GroupPartitions
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.topics import Topics
from tests.checks.source_calls import places

PRINTERS = {"list_rows": 3, "print_rows": 2, "print_report": 2}
"""The functions, with the place of the columns among their arguments."""

ELSEWHERE = {
    "commands/mirror/report.py:print_groups": ["MirrorReport MirrorGroupOffset GROUP_COLUMNS"],
    "commands/mirror/report.py:report": [
        "MirrorReport MirrorPartition COLUMNS",
        "MirrorReversal ReturnedPartition (*COLUMNS,*STRANDED)",
        "RestoreReport RestoredPartition RESTORED",
    ],
    "commands/brokers/_describing.py:describe": [
        "BrokerDescriptionList BrokerDescription (*DESCRIBED,*FURTHER)"
    ],
    "commands/brokers/_describing.py:_further": [],  # tables for people
    "commands/cluster/_checking.py:_print": ["ClusterCheckList ClusterCheck (*view.COLUMNS,*view.DETAILS)"],
    "commands/cluster/_rows.py:_print": ["ClusterDescriptionList ClusterDescription CLUSTER"],
    "commands/shared/option_rows.py:print_values": ["ClientConfigList ClientConfig (*COLUMNS,_ORIGIN)"],
    "commands/configs/describe.py:describe_configs": ["ConfigValueList ConfigValue _COLUMNS+WITH_ORIGIN"],
    "commands/schema_registry/describe.py:describe_subject": [
        "SubjectDescriptionList SubjectDescription DESCRIBED"
    ],
    "commands/schema_registry/list.py:list_subjects": ["SubjectList Subject SUBJECTS"],
    "commands/topics/_describing.py:print_descriptions": [
        "TopicDescriptionList TopicDescription DESCRIPTION"
    ],
    "commands/topics/_offset_tables.py:topic_offsets": ["TopicOffsetList TopicOffset ENDS+TIMES"],
    "commands/topics/_tables.py:list_topics": ["TopicList Topic (*LIST,*SIZES)"],
    "commands/txn/_describing.py:_describe_id": [
        "TransactionDescriptionList TransactionDescription view.TRANSACTION"
    ],
    "commands/consume/count.py:PrintedCounts._print": [
        "RecordCountList RecordCount COUNTED"
    ],  # and those of --by
    "commands/produce/_documents.py:print_document": [
        "ProducePlan ProducePlan PLAN",
        "ProduceReport ProduceReport REPORT",
    ],
    "commands/groups/_describing.py:Describing._print_rows": [
        "GroupDescriptionList GroupDescription view.STATES"
    ],
    "commands/groups/_why_page.py:_print_page": [],  # tables for people; the document has the item's columns
    "commands/topics/_who_page.py:_print_parts": [],
    "commands/groups/lag_output.py:LagOutput._rows": [
        "GroupLagList GroupLag (*rows.COLUMNS['group'],*rows.TREND,*rows.WATCHED)",
        "GroupLagList TopicLag (*rows.COLUMNS['topic'],*rows.WATCHED)",
        "GroupLagList PartitionLag (*rows.COLUMNS['partition'],*rows.WATCHED)",
        "GroupLagList MemberLag (*rows.COLUMNS['member'],*rows.WATCHED)",
    ],
    "commands/segments/_dumping.py:_Dump._rows": [
        "SegmentBatchList SegmentBatch BATCHES",
        "SegmentRecordList SegmentRecord RECORDS",
        "SegmentEntryList SegmentEntry ENTRIES",
    ],
    "commands/segments/_listing.py:list_segments": [
        "StoredTopicList StoredTopic TOPICS",
        "StoredPartitionList StoredPartition PARTITIONS",
        "SegmentList Segment SEGMENTS",
    ],
    "commands/segments/_listing.py:describe_segments": [
        "StoredPartitionDescriptionList StoredPartitionDescription DESCRIBED"
    ],
    "commands/groups/_listing.py:list_groups": ["GroupList Group (*COLUMNS,*LAG)"],
    # A document has the keys of the item, which the golden documents have.
    "commands/perf/result.py:print_result": ["PerfReport PerfReport FIGURES"],
    "commands/perf/result.py:_print_latencies": [],  # a table for people
    "commands/pipeline/export.py:_print": ["PipelineReport PipelinePartition COLUMNS"],
    "commands/pipeline/jobs.py:print_report": [
        "PipelineReport PipelinePartition (_ITEM_COLUMN,)"
    ],  # and its callers'
    "commands/pipeline/query_rows.py:result_rows": ["QueryResult QueryRow ()"],  # those of the query
    "commands/shared/changing.py:_ChangeRun._show_only": [],  # schemas are made from the columns
    "commands/shared/changing.py:_ChangeRun._print_report": [],
    "commands/shared/row_output.py:print_rows": [],
    "tui/export.py:rendered": [],
}
"""``file:function`` below ``kcli/``, and for each kind that it prints: document, item, and columns in the names of the
module.
"""
_PIPELINE = ("PipelineReport", "PipelinePartition")
_SCREENS = (Groups, Topics, Brokers, Events, GroupPartitions, GroupMembers, GroupConfig)


class Printed(NamedTuple):
    """A document and its items, with the keys of their columns."""

    document: str
    item: str
    keys: frozenset[str]


def printed_kinds() -> Iterator[tuple[str, Printed]]:
    """What each place prints."""
    for place, found in places("|".join(PRINTERS), lambda call: _name(call) in PRINTERS).items():
        module = importlib.import_module("kcli." + place.partition(".py:")[0].replace("/", "."))
        names = dict(vars(module))
        if place.startswith("commands/pipeline/"):
            names |= _of_driver(place)
        if place in ELSEWHERE:
            for line in ELSEWHERE[place]:
                document, item, columns = line.split(" ", 2)
                yield place, Printed(document, item, _keys(eval(columns, _with_rows(names))))
            continue
        for call in found:
            yield place, _printed(place, call, names)
    for screen in _SCREENS:
        keys = _keys(fields_of(screen.COLUMNS))
        yield "tui/export.py:rendered", Printed(f"{screen.ITEM}List", screen.ITEM, keys)


def _of_driver(place: str) -> dict[str, Any]:
    """The names of the module that makes the rows of a job, which its command loads when it runs."""
    verb = place.partition(".py:")[0].rpartition("/")[2]
    name = f"kcli.pipeline.drivers.{'import_' if verb == 'import_topics' else verb}"
    return vars(importlib.import_module(name)) if importlib.util.find_spec(name) else {}


def _printed(place: str, call: ast.Call, names: dict[str, Any]) -> Printed:
    keywords = {word.arg: word.value for word in call.keywords}
    try:
        keys = _keys(_value(call.args[PRINTERS[_name(call)]], names))
        if place.startswith("commands/pipeline/") and _name(call) == "print_report":
            return Printed(*_PIPELINE, keys)
        kind = (
            _value(keywords["kind"], names)
            if _name(call) == "show_plan_only"
            else _value(call.args[1], names)
        )
        item = f"{kind}Item"
        if _name(call) == "list_rows":
            item = _value(call.args[2], names)
        elif "item" in keywords:
            item = _value(keywords["item"], names)
    except NameError as error:
        raise AssertionError(f"{place}: {error}: say in ELSEWHERE of {__file__} what it prints") from None
    return Printed(kind, item, keys)


def _keys(columns: Any) -> frozenset[str]:
    return frozenset(column if isinstance(column, str) else column.key for column in columns)


def _with_rows(names: dict[str, Any]) -> dict[str, Any]:
    """``rows`` is the module of the lag's rows, where a module has no other of this name."""
    return {"rows": importlib.import_module("kcli.commands.groups._lag_rows"), "Column": Column, **names}


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    return eval(ast.unparse(node), names)


def _name(call: ast.Call) -> str:
    function = call.func
    return getattr(function, "id", getattr(function, "attr", ""))
