"""The documents of kcli itself, ``apiVersion: kcli/v1``: of each kind what it has, and which resources it makes. By the
same table files are checked and editors are told (``schema.py``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.core.admin.acls import CLUSTER_NAME, AclResource, word
from kcli.core.admin.quotas import CLIENT_ID, IP, USER
from kcli.core.admin.users import ScramMechanism, mechanism_name
from kcli.core.classes import NamedTuple
from kcli.core.names import is_topic_name
from kcli.core.permissions import AclOperation
from kcli.files.yaml_nodes import Items
from kcli.flows.acls.operations import OPERATIONS_OF
from kcli.flows.quotas.values import KEYS_OF_CLIENTS, KEYS_OF_IPS, UNITS, name_of
from kcli.flows.resources.resource import API_VERSION, Kind, acl_name, quota_name
from kcli.flows.resources.shapes import (
    Choice,
    ConfigValue,
    Constant,
    Document,
    Field,
    Listed,
    Mapped,
    Number,
    Path,
    Record,
    Shape,
    Text,
    Whole,
    whole_key,
)
from kcli.output.progress import counted

MECHANISMS = tuple(mechanism_name(one) for one in ScramMechanism)
USUAL_MECHANISM = "SCRAM-SHA-512"
_PASSWORDS = ("password_file", "password_command", "password_env")
TOPIC_NAME = Text(
    "the name of a topic",
    check=lambda name: (
        "" if is_topic_name(name) else "it has 1 to 249 letters, digits, dots, underscores or hyphens"
    ),
    pattern=r"^[A-Za-z0-9._-]{1,249}$",
)
PRINCIPAL = Text(
    "a principal",
    check=lambda text: "" if all(text.partition(":")) else "it has a type and a name, as User:alice has",
    pattern="^[^:]+:.+$",
)
CONFIG = Mapped(ConfigValue(), noun="a mapping of configurations to their values")
_LARGEST = (1 << 63) - 1
_LEAST_ITERATIONS, _MOST_ITERATIONS = 4096, 16384

Spec = dict[str, Any]


class Made(NamedTuple):
    """A resource that a document makes; ``renamed``: where in the document its parts are, see ``moved``."""

    kind: Kind
    name: str
    spec: Spec
    renamed: tuple[tuple[Path, Path], ...] = ((("spec",), ()),)


class Form(NamedTuple):
    """The spec of a kind. ``name``: what ``metadata.name`` is; ``is_named``: whether it must be there. ``make``: the
    resources of a name and a spec that was read.
    """

    meaning: str
    name: Shape
    name_meaning: str
    is_named: bool
    spec: Record
    make: Callable[[str, Spec, Document], Iterator[Made]]

    def record(self, kind: str) -> Record:
        """The whole document."""
        metadata = {
            "name": Field(self.name, self.name_meaning, needed=self.is_named),
            "profile": Field(
                Text("the name of a profile"),
                "the profile of the cluster, where it is not that of the command",
            ),
        }
        return Record(
            {
                "apiVersion": Field(Constant(API_VERSION), "the version of the format", needed=True),
                "kind": Field(Constant(kind), self.meaning, needed=True),
                "metadata": Field(
                    Record(metadata, nullable=not self.is_named), "the name", needed=self.is_named
                ),
                "spec": Field(
                    self.spec, "what is wanted; what it does not name is left as it is", needed=True
                ),
            }
        )


def _topic(name: str, spec: Spec, document: Document) -> Iterator[Made]:
    check_assignment(spec, ("spec",), document)
    yield Made(Kind.TOPIC, name, spec)


def check_assignment(spec: Spec, at: Path, document: Document) -> None:
    """Whether the brokers of the partitions agree with the numbers of partitions and replicas."""
    assignment: Mapping[int, list[int]] = spec.get("assignment") or {}
    path = (*at, "assignment")
    partitions, replicas = spec.get("partitions"), spec.get("replication_factor")
    for partition, brokers in assignment.items():
        where = (*path, str(partition))
        if partitions is not None and partition >= partitions:
            document.fault(where, f"partition {partition} is none of the {partitions} partitions")
        if replicas is not None and len(brokers) != replicas:
            document.fault(
                where,
                f"partition {partition} is on {counted(len(brokers), 'broker')}, not on {replicas}",
                "spec.replication_factor is the number of replicas of each partition",
            )
    missing = sorted(set(range(partitions or max(assignment, default=-1) + 1)) - set(assignment))
    if assignment and missing:
        document.fault(
            path, f"{'.'.join(path)} lacks partition {missing[0]}", do="name the brokers of all partitions"
        )


def _acls(_name: str, spec: Spec, document: Document) -> Iterator[Made]:
    operations = spec.get("operations") or ([spec["operation"]] if "operation" in spec else [])
    resource = spec["resource_type"]
    if resource == "cluster":
        spec.setdefault("resource_name", CLUSTER_NAME)
    if "resource_name" not in spec:
        document.fault(("spec",), "spec lacks resource_name", do="'*' is every one")
        return
    for operation in operations:
        binding = {
            "principal": spec["principal"],
            "host": spec.get("host", "*"),
            "permission": spec.get("permission", "allow"),
            "operation": operation,
            "resource_type": resource,
            "resource_name": spec["resource_name"],
            "pattern": spec.get("pattern", "literal"),
        }
        if check_acl(binding, ("spec",), document):
            yield Made(Kind.ACL_BINDING, acl_name(binding), binding)


def check_acl(binding: Spec, at: Path, document: Document) -> bool:
    """Whether Kafka ever asks for it: brokers store any."""
    name, resource, operation = binding["resource_name"], binding["resource_type"], binding["operation"]
    known = [word(one) for one in OPERATIONS_OF[AclResource[resource.upper()]]]
    what = why = ""
    if operation not in known:
        what, why = f"{operation} is no operation of a {resource}", f"those are {', '.join(known)}"
    elif resource == "cluster" and (name != CLUSTER_NAME or binding["pattern"] != "literal"):
        what = f"the cluster is called {CLUSTER_NAME}, literally"
    if what:
        document.fault(at, what, why)
    return not what


def _user(name: str, spec: Spec, _document: Document) -> Iterator[Made]:
    mechanisms = spec.get("mechanisms") or {USUAL_MECHANISM: {}}
    made: Spec = {"mechanisms": mechanisms}
    yield Made(Kind.USER, name, made | {key: spec[key] for key in _PASSWORDS if key in spec})


def _quota(_name: str, spec: Spec, document: Document) -> Iterator[Made]:
    entity = {kind: None if name is None else name_of(name) for kind, name in spec["entity"].items()}
    if check_quota(entity, spec["limits"], ("spec",), document):
        yield Made(Kind.QUOTA, quota_name(entity), {"entity": entity, "limits": spec["limits"]})


def check_quota(entity: Mapping[str, str | None], limits: Spec, at: Path, document: Document) -> bool:
    """Whether the entity is one, and may have these limits."""
    if not entity:
        document.fault(
            at, f"{'.'.join(at)}.entity names nothing", do=f"it has {USER}, {CLIENT_ID}, or both, or {IP}"
        )
        return False
    if IP in entity and len(entity) > 1:
        document.fault(at, "the quota of an address is for no user or client id", do="write two documents")
        return False
    keys = KEYS_OF_IPS if IP in entity else KEYS_OF_CLIENTS
    wrong = [key for key in limits if key not in keys]
    for key in wrong:
        document.fault(
            (*at, "limits", key), f"{key} is no limit of this entity", f"those are {', '.join(keys)}"
        )
    return not wrong


def _configured(kind: Kind) -> Callable[[str, Spec, Document], Iterator[Made]]:
    def make(name: str, spec: Spec, _document: Document) -> Iterator[Made]:
        yield Made(kind, name, spec)

    return make


def _broker(name: str) -> str:
    return (
        ""
        if name == "default" or (name.isascii() and name.isdigit())
        else "it is the id of a broker, or default"
    )


_ITERATIONS = Record(
    {"iterations": Field(Whole(_LEAST_ITERATIONS, _MOST_ITERATIONS), "of the credential")}, nullable=True
)


class _Mechanisms:
    """A mapping of mechanisms to what they have, or a list of them."""

    noun = f"a list of {' and '.join(MECHANISMS)}, or a mapping of them"

    def __init__(self) -> None:
        self._record = Record({name: Field(_ITERATIONS) for name in MECHANISMS})
        self._list = Listed(Choice(MECHANISMS), unique=True)

    def read(self, node: Any, path: Path, document: Document) -> dict[str, Any] | None:
        if isinstance(node, Items):
            found = self._list.read(node, path, document)
            return None if found is None else {name: {} for name in found}
        return self._record.read(node, path, document)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self._list.schema(), self._record.schema()]}


_OPERATIONS = Choice(word(one) for one in AclOperation)
_GROUP = Text("the name of a group")

FORMS: Mapping[Kind, Form] = {
    Kind.TOPIC: Form(
        "a topic",
        TOPIC_NAME,
        "the name of the topic",
        True,
        Record(
            {
                "partitions": Field(Whole(1), "how many; they can become more, but not fewer"),
                "replication_factor": Field(Whole(1, 32767), "replicas of each partition"),
                "config": Field(
                    CONFIG, "configurations of the topic; those that are not named stay as they are"
                ),
                "assignment": Field(
                    Mapped(
                        Listed(Whole(0), unique=True),
                        whole_key,
                        "^[0-9]+$",
                        "a mapping of partitions to lists of brokers",
                    ),
                    "the brokers of each partition, the preferred leader first",
                ),
            },
            nullable=True,
        ),
        _topic,
    ),
    Kind.ACL_BINDING: Form(
        "an ACL, or one for each of several operations",
        Text(),
        "for people: an ACL is what its spec says",
        False,
        Record(
            {
                "principal": Field(PRINCIPAL, "who, as in User:alice", needed=True),
                "permission": Field(Choice(("allow", "deny")), "default: allow"),
                "operation": Field(_OPERATIONS, "what may be done"),
                "operations": Field(Listed(_OPERATIONS, unique=True), "several, each an ACL of its own"),
                "resource_type": Field(Choice(word(one) for one in AclResource), "with what", needed=True),
                "resource_name": Field(
                    Text("a name"), "its name, its beginning (pattern: prefixed), or '*' for all"
                ),
                "pattern": Field(Choice(("literal", "prefixed")), "default: literal"),
                "host": Field(Text("an address"), "from which address; default: '*', from any"),
            },
            either=("operation", "operations"),
        ),
        _acls,
    ),
    Kind.USER: Form(
        "SCRAM credentials of a user",
        Text("the name of a user"),
        "the name of the user",
        True,
        Record(
            {
                "mechanisms": Field(_Mechanisms(), f"default: {USUAL_MECHANISM}"),
                "password_file": Field(Text("a file"), "a file whose first line is the password"),
                "password_command": Field(Text("a command"), "a command that prints the password"),
                "password_env": Field(Text("a variable"), "an environment variable with the password"),
            },
            nullable=True,
            either=_PASSWORDS,
            or_none=True,
        ),
        _user,
    ),
    Kind.QUOTA: Form(
        "limits of a user, of clients, or of an address",
        Text(),
        "for people: a quota is for its entity",
        False,
        Record(
            {
                "entity": Field(
                    Record(
                        {
                            USER: Field(
                                Text(nullable=True), "a user; null: those without a quota of their own"
                            ),
                            CLIENT_ID: Field(Text(nullable=True), "a client id; null: those without"),
                            IP: Field(Text(nullable=True), "an address; null: those without"),
                        }
                    ),
                    "for whom",
                    needed=True,
                ),
                "limits": Field(
                    Record({key: Field(Number(), f"in {unit}") for key, unit in UNITS.items()}),
                    "the limits",
                    needed=True,
                ),
            }
        ),
        _quota,
    ),
    Kind.BROKER_CONFIG: Form(
        "dynamic configurations of a broker, or of all",
        Text("the id of a broker or default", check=_broker, pattern="^([0-9]+|default)$", numbers=True),
        "the id of a broker, or default for all of them",
        True,
        Record({"config": Field(CONFIG, "dynamic configurations", needed=True)}),
        _configured(Kind.BROKER_CONFIG),
    ),
    Kind.GROUP_CONFIG: Form(
        "dynamic configurations of a group",
        _GROUP,
        "the name of the group",
        True,
        Record({"config": Field(CONFIG, "configurations of the group", needed=True)}),
        _configured(Kind.GROUP_CONFIG),
    ),
    Kind.GROUP_OFFSETS: Form(
        "committed offsets of a group",
        _GROUP,
        "the name of the group",
        True,
        Record(
            {
                "offsets": Field(
                    Mapped(
                        Mapped(
                            Whole(0, _LARGEST), whole_key, "^[0-9]+$", "a mapping of partitions to offsets"
                        ),
                        noun="a mapping of topics to their partitions",
                    ),
                    "topics, in them partitions, and the offset of each",
                    needed=True,
                )
            }
        ),
        _configured(Kind.GROUP_OFFSETS),
    ),
}
"""By kind, in the order in which they are written."""

RECORDS: Mapping[Kind, Record] = {kind: form.record(kind) for kind, form in FORMS.items()}
"""The shapes of whole documents."""
