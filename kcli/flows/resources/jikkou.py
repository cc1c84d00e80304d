"""Resources of jikkou (``kafka.jikkou.io``, ``core.jikkou.io``): topics, ACLs and roles, quotas, users, groups, and the
ConfigMaps that these refer to. Its templates are not evaluated. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kcli.core.admin.quotas import CLIENT_ID, USER
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
from kcli.flows.resources.forms import MECHANISMS, PRINCIPAL, TOPIC_NAME, Made, Spec
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
    Shape,
    Text,
    Whole,
)

GROUPS = ("kafka.jikkou.io", "core.jikkou.io")
WITHOUT_MEANING = ("KafkaConnector", "KafkaTableRecord", "KafkaBroker", "ValidatingResourcePolicy")
"""Kinds that are not read, and not mistyped ones of those that are."""
_HELD_BACK = {
    "jikkou.io/delete": ("true", "that the resource is to be deleted"),
    "jikkou.io/ignore": ("true", "that it is not to be applied"),
}
_MATCH = "jikkou compares the pattern with the topics that there are; Kafka has no such ACLs"
_ACL = Record(
    {
        "resource": Field(
            Record(
                {
                    "type": Field(RESOURCE_TYPE, needed=True),
                    "pattern": Field(Text("a name"), needed=True),
                    "patternType": Field(
                        Choice(
                            ("literal", "prefixed"),
                            loose=True,
                            also={"prefix": "prefixed"},
                            reasons={"match": _MATCH},
                        )
                    ),
                },
                unknown=UNKNOWN,
            ),
            needed=True,
        ),
        "operations": Field(Listed(OPERATION), needed=True),
        "type": Field(PERMISSION),
        "host": Field(Text("an address")),
    },
    unknown=UNKNOWN,
)
_ACLS = Field(Listed(_ACL, 0, nullable=True))
_NAMES = Field(Listed(Text("a name"), 0, unique=True, nullable=True))
_PASSWORD = "passwords are neither read here nor generated"  # noqa: S105 - a sentence
_NO_NAME = Text(nullable=True)
_QUOTA_ENTITIES: dict[str, Callable[[Spec], dict[str, str | None]]] = {
    "USER": lambda entity: {USER: entity.get("user")},
    "USERS_DEFAULT": lambda _: {USER: None},
    "USER_CLIENT": lambda entity: {USER: entity.get("user"), CLIENT_ID: entity.get("clientId")},
    "USER_ALL_CLIENTS": lambda entity: {USER: entity.get("user"), CLIENT_ID: None},
    "CLIENT": lambda entity: {CLIENT_ID: entity.get("clientId")},
    "CLIENTS_DEFAULT": lambda _: {CLIENT_ID: None},
}
_NEEDED = {
    "USER": ("user",),
    "USER_CLIENT": ("user", "clientId"),
    "USER_ALL_CLIENTS": ("user",),
    "CLIENT": ("clientId",),
}


def _topic(values: Spec, document: Document, shared: Shared) -> Iterator[Made]:
    spec = values["spec"]
    made: Spec = {}
    for key, ours in (("partitions", "partitions"), ("replicas", "replication_factor")):
        number = spec.get(key)
        if number == 0:
            document.fault(("spec", key), f"spec.{key} is 0", do="-1 is the default of the brokers")
        elif number is not None and number > 0:
            made[ours] = number
    config = _config(spec, document, shared)
    if config:
        made["config"] = config
    renamed: tuple[tuple[Path, Path], ...] = (
        (("spec", "partitions"), ("partitions",)),
        (("spec", "replicas"), ("replication_factor",)),
        (("spec", "configs"), ("config",)),
    )
    yield Made(Kind.TOPIC, values["metadata"]["name"], made, renamed)


def _config(spec: Spec, document: Document, shared: Shared) -> dict[str, str]:
    """The configurations, with those of the ConfigMaps, which win as in jikkou."""
    config = dict(spec.get("configs") or {})
    for number, name in enumerate(spec.get("configMapRefs") or ()):
        found = shared.config_maps.get(name)
        if found is None and name not in shared.broken:
            document.fault(
                ("spec", "configMapRefs", str(number)),
                f"there is no ConfigMap {name}",
                "it is in none of the files",
                "name the file that has it, too",
            )
        else:
            config.update(found or {})
    return config


def _group(values: Spec, document: Document, shared: Shared) -> Iterator[Made]:
    config = _config(values.get("spec") or {}, document, shared)
    yield Made(
        Kind.GROUP_CONFIG,
        values["metadata"]["name"],
        {"config": config},
        ((("spec", "configs"), ("config",)),),
    )


def _authorization(values: Spec, document: Document, shared: Shared) -> Iterator[Made]:
    principal, spec = values["metadata"]["name"], values["spec"]
    rules = [(("spec", "acls", str(number)), rule) for number, rule in enumerate(spec.get("acls") or ())]
    for number, name in enumerate(spec.get("roles") or ()):
        at = ("spec", "roles", str(number))
        if name not in shared.roles and name not in shared.broken:
            document.fault(at, f"there is no KafkaPrincipalRole {name}", "it is in none of the files")
        rules += [(at, rule) for rule in shared.roles.get(name, ())]
    for at, rule in rules:
        resource = rule["resource"]
        for operation in rule["operations"]:
            binding = {
                "principal": principal,
                "host": rule.get("host"),
                "permission": rule.get("type"),
                "operation": operation,
                "resource_type": resource["type"],
                "resource_name": resource["pattern"],
                "pattern": resource.get("patternType"),
            }
            yield from made_acl(binding, at, document)


def _quota(values: Spec, document: Document, _shared: Shared) -> Iterator[Made]:
    spec = values["spec"]
    entity, kind = spec.get("entity") or {}, spec["type"]
    missing = [name for name in _NEEDED.get(kind, ()) if not entity.get(name)]
    if missing:
        document.fault(("spec", "entity"), f"spec.entity lacks {missing[0]}", f"spec.type is {kind}")
        return
    yield from made_quota(_QUOTA_ENTITIES[kind](entity), spec["configs"], ("spec", "configs"), document)


def _user(values: Spec, _document: Document, _shared: Shared) -> Iterator[Made]:
    mechanisms = {
        one["type"]: {"iterations": one["iterations"]} if one.get("iterations") else {}
        for one in values["spec"]["authentications"]
    }
    renamed = ((("spec", "authentications"), ("mechanisms",)),)
    yield Made(Kind.USER, values["metadata"]["name"], {"mechanisms": mechanisms}, renamed)


def _config_map(values: Spec, document: Document, shared: Shared) -> Iterator[Made]:
    _define(shared.config_maps, values, document, values.get("data") or {})
    return iter(())


def _role(values: Spec, document: Document, shared: Shared) -> Iterator[Made]:
    _define(shared.roles, values, document, values["spec"].get("acls") or [])
    return iter(())


def _define(known: dict[str, Any], values: Spec, document: Document, what: Any) -> None:
    name = values["metadata"]["name"]
    if name in known:
        document.fault(("metadata", "name"), f"{name} is in the files twice", do="keep one of them")
    known[name] = what


def _spec(fields: dict[str, Shape | Field], *needed: str, nullable: bool = False) -> Record:
    made = {
        key: shape if isinstance(shape, Field) else Field(shape, needed=key in needed)
        for key, shape in fields.items()
    }
    return Record(made, unknown=UNKNOWN, nullable=nullable)


_CONFIGURED: dict[str, Shape | Field] = {"configs": FOREIGN_CONFIG, "configMapRefs": _NAMES}
_GROUP = document_record(Text("the name of a group"), _spec(_CONFIGURED, nullable=True), needed=False)
_ITERATIONS = Whole(4096, 16384)

FORMS = {
    "KafkaTopic": ForeignForm(
        document_record(TOPIC_NAME, _spec({"partitions": Whole(-1), "replicas": Whole(-1), **_CONFIGURED})),
        _topic,
        _HELD_BACK,
    ),
    "KafkaConsumerGroup": ForeignForm(_GROUP, _group, _HELD_BACK),
    "KafkaShareGroup": ForeignForm(_GROUP, _group, _HELD_BACK),
    "KafkaPrincipalAuthorization": ForeignForm(
        document_record(PRINCIPAL, _spec({"acls": _ACLS, "roles": _NAMES})),
        _authorization,
        _HELD_BACK,
    ),
    "KafkaPrincipalRole": ForeignForm(
        document_record(Text("a name"), _spec({"acls": _ACLS})), _role, defines=True
    ),
    "KafkaClientQuota": ForeignForm(
        document_record(
            _NO_NAME,
            _spec(
                {
                    "type": Choice(_QUOTA_ENTITIES),
                    "entity": _spec({"user": _NO_NAME, "clientId": _NO_NAME}, nullable=True),
                    "configs": _spec({key: Number() for key in LIMITS}),
                },
                "type",
                "configs",
            ),
            name_needed=False,
        ),
        _quota,
        _HELD_BACK,
    ),
    "KafkaUser": ForeignForm(
        document_record(
            Text("the name of a user"),
            _spec(
                {
                    "authentications": Listed(
                        _spec(
                            {
                                "type": Choice(MECHANISMS, loose=True),
                                "iterations": _ITERATIONS,
                                "password": NoMeaning(_PASSWORD),
                                "salt": NoMeaning("a salt is made where the password is set"),
                            },
                            "type",
                        )
                    )
                },
                "authentications",
            ),
        ),
        _user,
        _HELD_BACK,
    ),
    "ConfigMap": ForeignForm(
        document_record(Text("a name"), FOREIGN_CONFIG, spec_key="data", needed=False),
        _config_map,
        defines=True,
    ),
}
