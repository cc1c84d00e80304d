"""topicctl's files of topics and of ACLs, which have ``meta`` and ``spec`` and name no kind. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.flows.resources.foreign import (
    CLUSTER_OF_COMMAND,
    FOREIGN_CONFIG,
    OPERATION,
    PERMISSION,
    RESOURCE_TYPE,
    UNKNOWN,
    ForeignForm,
    Shared,
    made_acl,
)
from kcli.flows.resources.forms import PRINCIPAL, TOPIC_NAME, Made, Spec, check_assignment
from kcli.flows.resources.resource import Kind
from kcli.flows.resources.shapes import (
    Choice,
    Document,
    Field,
    Listed,
    NoMeaning,
    Record,
    Shape,
    Text,
    Whole,
)

_RETENTION = "retention.ms"
_MINUTE = 60_000  # ms
_PLACED = "brokers choose where a new topic is, and its replicas stay where they are"
_PLACEMENT = Record(
    {
        "strategy": Field(
            Choice(("any", "balanced-leaders", "in-rack", "cross-rack", "static", "static-in-rack")),
            needed=True,
        ),
        "staticAssignments": Field(Listed(Listed(Whole(0), unique=True))),
        "staticRackAssignments": Field(NoMeaning(_PLACED)),
        "picker": Field(NoMeaning(_PLACED)),
    },
    unknown=UNKNOWN,
)


def _record(name: Shape, spec: Record) -> Record:
    cluster = Field(NoMeaning(CLUSTER_OF_COMMAND))
    note = Field(NoMeaning("resources of Kafka have no description"))
    meta = Record(
        {
            "name": Field(name, needed=True),
            "cluster": cluster,
            "environment": cluster,
            "region": cluster,
            "description": note,
            "labels": note,
            "consumers": note,
        },
        unknown=UNKNOWN,
    )
    return Record({"meta": Field(meta, needed=True), "spec": Field(spec, needed=True)}, unknown=UNKNOWN)


def _topic(values: Spec, document: Document, _shared: Shared) -> Iterator[Made]:
    spec = values["spec"]
    made: Spec = {"partitions": spec["partitions"], "replication_factor": spec["replicationFactor"]}
    config = dict(spec.get("settings") or {})
    minutes = spec.get("retentionMinutes", 0)
    if minutes and _RETENTION in config:
        document.fault(
            ("spec", "retentionMinutes"), f"spec has retentionMinutes and {_RETENTION}", do="keep one of them"
        )
    elif minutes:
        config[_RETENTION] = str(minutes * _MINUTE)
    if config:
        made["config"] = config
    placement = spec.get("placement") or {}
    strategy, brokers = placement.get("strategy", "any"), placement.get("staticAssignments")
    if strategy == "static" and brokers:
        made["assignment"] = dict(enumerate(brokers))
        check_assignment(made, ("spec", "placement"), document)
    elif strategy == "static":
        document.fault(("spec", "placement"), "spec.placement lacks staticAssignments")
    elif strategy != "any":
        document.ignore(("spec", "placement", "strategy"), _PLACED)
    yield Made(
        Kind.TOPIC,
        values["meta"]["name"],
        made,
        (
            (("spec", "partitions"), ("partitions",)),
            (("spec", "replicationFactor"), ("replication_factor",)),
            (("spec", "settings"), ("config",)),
            (("spec", "retentionMinutes"), ("config", _RETENTION)),
            (("spec", "placement", "staticAssignments"), ("assignment",)),
        ),
    )


def _acls(values: Spec, document: Document, _shared: Shared) -> Iterator[Made]:
    for number, rule in enumerate(values["spec"]["acls"]):
        resource = rule["resource"]
        for operation in rule["operations"]:
            binding = {
                "principal": resource["principal"],
                "host": resource.get("host"),
                "permission": resource.get("permission"),
                "operation": operation,
                "resource_type": resource["type"],
                "resource_name": resource["name"],
                "pattern": resource.get("patternType"),
            }
            yield from made_acl(binding, ("spec", "acls", str(number)), document)


_RESOURCE = Record(
    {
        "type": Field(RESOURCE_TYPE, needed=True),
        "name": Field(Text("a name"), needed=True),
        "patternType": Field(Choice(("literal", "prefixed"), loose=True)),
        "principal": Field(PRINCIPAL, needed=True),
        "host": Field(Text("an address")),
        "permission": Field(PERMISSION),
    },
    unknown=UNKNOWN,
)
TOPIC = ForeignForm(
    _record(
        TOPIC_NAME,
        Record(
            {
                "partitions": Field(Whole(1), needed=True),
                "replicationFactor": Field(Whole(1, 32767), needed=True),
                "retentionMinutes": Field(Whole(0)),
                "settings": Field(FOREIGN_CONFIG),
                "placement": Field(_PLACEMENT),
                "migration": Field(NoMeaning("options of the command say how data move")),
            },
            unknown=UNKNOWN,
        ),
    ),
    _topic,
)
ACLS = ForeignForm(
    _record(
        Text("a name"),
        Record(
            {
                "acls": Field(
                    Listed(
                        Record(
                            {
                                "resource": Field(_RESOURCE, needed=True),
                                "operations": Field(Listed(OPERATION), needed=True),
                            },
                            unknown=UNKNOWN,
                        )
                    ),
                    needed=True,
                )
            },
            unknown=UNKNOWN,
        ),
    ),
    _acls,
)
