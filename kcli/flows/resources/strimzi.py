"""Strimzi's KafkaTopic and KafkaUser (``kafka.strimzi.io``), as its CustomResourceDefinitions have them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcli.core.admin.quotas import USER
from kcli.core.names import is_topic_name
from kcli.flows.resources.foreign import (
    FOREIGN_CONFIG,
    LIMITS,
    OPERATION,
    PERMISSION,
    RESOURCE_TYPE,
    UNKNOWN,
    ForeignForm,
    Shared,
    document_record,
    made_acl,
    made_quota,
)
from kcli.flows.resources.forms import TOPIC_NAME, USUAL_MECHANISM, Made, Spec
from kcli.flows.resources.resource import Kind
from kcli.flows.resources.shapes import (
    Choice,
    Document,
    Field,
    Listed,
    NoMeaning,
    Number,
    Path,
    Record,
    Text,
    Whole,
)

GROUP = "kafka.strimzi.io"
WITHOUT_MEANING = (
    "Kafka",
    "KafkaNodePool",
    "KafkaConnect",
    "KafkaConnector",
    "KafkaBridge",
    "KafkaMirrorMaker",
    "KafkaMirrorMaker2",
    "KafkaRebalance",
)
"""Kinds that describe nothing in a cluster: not mistyped ones of those that are read."""
_HELD_BACK = {
    "strimzi.io/managed": ("false", "that its topic is not managed"),
    "strimzi.io/pause-reconciliation": ("true", "that it is not to be applied for now"),
}
_RESOURCE = Record(
    {
        "type": Field(RESOURCE_TYPE, needed=True),
        "name": Field(Text("a name")),
        "patternType": Field(Choice(("literal", "prefixed"), loose=True, also={"prefix": "prefixed"})),
    },
    unknown=UNKNOWN,
)
_RULE = Record(
    {
        "resource": Field(_RESOURCE, needed=True),
        "operations": Field(Listed(OPERATION)),
        "operation": Field(OPERATION),
        "host": Field(Text("an address")),
        "type": Field(PERMISSION),
    },
    unknown=UNKNOWN,
)
_TOPIC = Record(
    {
        "topicName": Field(TOPIC_NAME),
        "partitions": Field(Whole(1)),
        "replicas": Field(Whole(1, 32767)),
        "config": Field(FOREIGN_CONFIG),
    },
    unknown=UNKNOWN,
    nullable=True,
)
_SECRET = "Secrets of Kubernetes are not read"  # noqa: S105 - a sentence
_USER = Record(
    {
        "userName": Field(Text("the name of a user")),
        "authentication": Field(
            Record(
                {
                    "type": Field(Choice(("tls", "tls-external", "scram-sha-512")), needed=True),
                    "password": Field(NoMeaning(_SECRET)),
                },
                unknown=UNKNOWN,
            )
        ),
        "authorization": Field(
            Record(
                {
                    "type": Field(Choice(("simple",)), needed=True),
                    "acls": Field(Listed(_RULE, 0), needed=True),
                },
                unknown=UNKNOWN,
            )
        ),
        "quotas": Field(Record({key: Field(Number()) for key in LIMITS}, unknown=UNKNOWN)),
        "template": Field(NoMeaning("it is for the Secret that Strimzi makes")),
    },
    unknown=UNKNOWN,
    nullable=True,
)


def _topic(values: Spec, document: Document, _shared: Shared) -> Iterator[Made]:
    spec = values.get("spec") or {}
    names = {"partitions": "partitions", "replicas": "replication_factor", "config": "config"}
    made = {names[key]: value for key, value in spec.items() if key in names}
    renamed = tuple((("spec", key), (ours,)) for key, ours in names.items())
    name = spec.get("topicName") or values["metadata"]["name"]
    if is_topic_name(name):
        yield Made(Kind.TOPIC, name, made, renamed)
    else:
        document.fault(
            ("metadata", "name"), f"{name} is not the name of a topic", do="spec.topicName is its name"
        )


def _user(values: Spec, document: Document, _shared: Shared) -> Iterator[Made]:
    spec = values.get("spec") or {}
    name = spec.get("userName") or values["metadata"]["name"]
    how = (spec.get("authentication") or {}).get("type")
    if how == "scram-sha-512":
        path: Path = ("spec", "authentication")
        yield Made(Kind.USER, name, {"mechanisms": {USUAL_MECHANISM: {}}}, ((path, ("mechanisms",)),))
    elif how == "tls":
        document.ignore(("spec", "authentication"), "kcli makes no certificates")
    known_as = f"CN={name}" if how in ("tls", "tls-external") else name
    rules: list[Spec] = (spec.get("authorization") or {}).get("acls") or []
    for number, rule in enumerate(rules):
        at = ("spec", "authorization", "acls", str(number))
        operations = rule.get("operations") or ([rule["operation"]] if "operation" in rule else [])
        if not operations:
            document.fault(at, f"{'.'.join(at)} lacks operations")
        for operation in operations:
            binding = {"principal": f"User:{known_as}", "operation": operation, **_described(rule)}
            yield from made_acl(binding, at, document)
    yield from made_quota({USER: known_as}, spec.get("quotas") or {}, ("spec", "quotas"), document)


def _described(rule: Spec) -> Mapping[str, str | None]:
    resource = rule["resource"]
    return {
        "host": rule.get("host"),
        "permission": rule.get("type"),
        "resource_type": resource["type"],
        "resource_name": resource.get("name"),
        "pattern": resource.get("patternType"),
    }


FORMS = {
    "KafkaTopic": ForeignForm(document_record(Text("a name"), _TOPIC, needed=False), _topic, _HELD_BACK),
    "KafkaUser": ForeignForm(document_record(Text("a name"), _USER, needed=False), _user, _HELD_BACK),
}
