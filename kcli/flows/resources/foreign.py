"""What the documents of other tools have in common: their words for ACLs, and their metadata. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.core.admin.acls import CLUSTER_NAME, AclResource, word
from kcli.core.classes import NamedTuple, dataclass, field
from kcli.core.permissions import AclOperation
from kcli.flows.resources.forms import Made, Spec, check_acl, check_quota
from kcli.flows.resources.resource import Kind, acl_name, quota_name
from kcli.flows.resources.shapes import (
    Choice,
    ConfigValue,
    Document,
    Field,
    Mapped,
    NoMeaning,
    Path,
    Record,
    Shape,
)

OPERATION = Choice((word(one) for one in AclOperation), loose=True)
RESOURCE_TYPE = Choice((word(one) for one in AclResource), loose=True)
PERMISSION = Choice(("allow", "deny"), loose=True)
ANNOTATIONS = Mapped(ConfigValue(), nullable=True)
FOREIGN_CONFIG = Mapped(ConfigValue(), noun="a mapping of configurations to their values", nullable=True)
CLUSTER_OF_COMMAND = "the cluster is that of the command line or of its profile"
UNKNOWN = "kcli does not know the key"


@dataclass
class Shared:
    """What documents refer to in others, by name: jikkou's ConfigMaps and roles."""

    config_maps: dict[str, dict[str, str]] = field(default_factory=dict)
    roles: dict[str, list[Spec]] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    """Those with faults of their own."""


class ForeignForm(NamedTuple):
    """``record``: the whole document. ``make``: its resources; ``defines``: what others refer to, which is read first.
    ``held_back``: of annotations that keep a document from being applied, the value that does, and what it says.
    """

    record: Record
    make: Callable[[Spec, Document, Shared], Iterator[Made]]
    held_back: Mapping[str, tuple[str, str]] = {}
    defines: bool = False


def document_record(
    name: Shape, spec: Shape, *, needed: bool = True, spec_key: str = "spec", name_needed: bool = True
) -> Record:
    """A document as Kubernetes has it, with the keys that every kind of it has."""
    metadata = Record(
        {
            "name": Field(name, needed=name_needed),
            "annotations": Field(ANNOTATIONS),
            "labels": Field(NoMeaning("resources of Kafka have no labels")),
            "namespace": Field(NoMeaning(CLUSTER_OF_COMMAND)),
        },
        unknown="Kubernetes and the tool itself write it",
        nullable=not name_needed,
    )
    return Record(
        {
            "apiVersion": Field(_SEEN),
            "kind": Field(_SEEN),
            "metadata": Field(metadata, needed=name_needed),
            spec_key: Field(spec, needed=needed),
            "status": Field(NoMeaning("it is what was observed, not what is wanted")),
        },
        unknown=UNKNOWN,
    )


class _Seen:
    """By these keys the shape of the document was chosen."""

    noun = "text"

    def read(self, node: Any, path: Path, document: Document) -> None:
        """Nothing."""

    def schema(self) -> dict[str, Any]:
        return {}


_SEEN = _Seen()


def check_annotations(
    values: Spec, of_list: Mapping[str, str], form: ForeignForm, document: Document
) -> None:
    """Reports a document that an annotation of its own, or of the list that it is in, keeps from being applied. Others
    have no meaning here.
    """
    own = (values.get("metadata") or {}).get("annotations") or {}
    for key, text in {**of_list, **own}.items():
        value, says = form.held_back.get(key, ("", ""))
        path = ("metadata", "annotations", key)
        if value and text == value:
            document.fault(
                path,
                f"the document says {says}, and kcli applies what it reads",
                f"it has the annotation {key}: {text}",
                "leave the document out",
            )
        else:
            document.ignore(path, "annotations are for the tool that they are of")


def made_acl(binding: Mapping[str, str | None], at: Path, document: Document) -> Iterator[Made]:
    """The ACL, with the defaults of every tool: any host, allowed, literal."""
    cluster = binding["resource_type"] == "cluster"
    spec = {
        "principal": binding["principal"],
        "host": binding.get("host") or "*",
        "permission": binding.get("permission") or "allow",
        "operation": binding["operation"],
        "resource_type": binding["resource_type"],
        "resource_name": binding.get("resource_name") or (CLUSTER_NAME if cluster else None),
        "pattern": binding.get("pattern") or "literal",
    }
    if spec["resource_name"] is None:
        document.fault(at, f"the {spec['resource_type']} of the ACL has no name", do="'*' is every one")
    elif check_acl(spec, at, document):
        yield Made(Kind.ACL_BINDING, acl_name(spec), spec, ((at, ()),))


def made_quota(
    entity: Mapping[str, str | None], limits: Mapping[str, Any], at: Path, document: Document
) -> Iterator[Made]:
    """The quota, of limits that may be missing."""
    given = {LIMITS[key]: value for key, value in limits.items() if value is not None}
    if given and check_quota(entity, given, at, document):
        renamed = tuple(((*at, key), ("limits", LIMITS[key])) for key in limits)
        yield Made(Kind.QUOTA, quota_name(entity), {"entity": dict(entity), "limits": given}, renamed)


LIMITS = {
    "producerByteRate": "producer_byte_rate",
    "consumerByteRate": "consumer_byte_rate",
    "requestPercentage": "request_percentage",
    "controllerMutationRate": "controller_mutation_rate",
}
"""Kafka's limits by their names in other tools."""
