"""Files to resources: the documents of kcli, of Strimzi, jikkou and topicctl; all that is wrong with them in one error.

Nothing of a cluster is looked at here. A document is read by the shape of its kind (``shapes``); what it refers to in
others, as jikkou's ConfigMaps, is read before it, in whichever file it is.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kcli.core.near_names import near_names
from kcli.files.yaml_nodes import Items, Node, Pairs, Scalar, YamlError, yaml_documents
from kcli.flows.resources import jikkou, strimzi, topicctl
from kcli.flows.resources.faults import Fault, FilesError, place_text
from kcli.flows.resources.foreign import ForeignForm, Shared
from kcli.flows.resources.forms import FORMS, RECORDS, Made
from kcli.flows.resources.resource import API_VERSION, Kind, Place, Ref, Resource
from kcli.flows.resources.scalars import Sort, meaning_of
from kcli.flows.resources.shapes import Document, moved
from kcli.flows.resources.sources import read_sources
from kcli.flows.resources.variables import Variables, read_values
from kcli.output.progress import counted

_OF_GROUP: Mapping[str, Mapping[str, ForeignForm]] = {
    strimzi.GROUP: strimzi.FORMS,
    **dict.fromkeys(jikkou.GROUPS, jikkou.FORMS),
}
_LIST = "List"
_OWN = {str(kind): kind for kind in Kind}


class _Headed(NamedTuple):
    """A document, with what says its kind; both are empty in topicctl's."""

    file: str
    node: Node
    version: str
    kind: str


def read_documents(
    paths: Sequence[str], *, values: Sequence[str] = (), environment: Mapping[str, str]
) -> list[Resource]:
    """The resources of files and folders, ``-`` for stdin, in the order of the text. ``values``: files with variables,
    which win over ``environment``. FilesError has all that is wrong.
    """
    known, faults = read_values(values)
    variables = Variables(known, environment)
    was_enabled = gc.isenabled()
    gc.disable()  # of a million small objects none is garbage
    try:
        documents = list(_documents(paths, faults))
        resources = list(_resources(documents, variables, faults))
    finally:
        if was_enabled:
            gc.enable()
    faults += _repeated(resources)
    faults += variables.faults(values)
    if faults:
        raise FilesError(faults)
    return resources


def ignored_lines(resources: Iterable[Resource]) -> list[str]:
    """What of foreign documents has no meaning here, a line for each key and reason with the first place."""
    first: dict[tuple[str, str], Place] = {}
    count: dict[tuple[str, str], set[Place]] = {}
    for resource in resources:
        for path, reason in resource.ignored.items():
            first.setdefault((path, reason), resource.place)
            count.setdefault((path, reason), set()).add(resource.place)
    return [
        f"{place_text(place)}: {path} has no meaning here: {reason}"
        + (f" (and in {counted(more, 'document')} more)" if (more := len(count[path, reason]) - 1) else "")
        for (path, reason), place in first.items()
    ]


# --- documents -------------------------------------------------------------------------------------


def _documents(paths: Iterable[str], faults: list[Fault]) -> Iterator[_Headed]:
    for source in read_sources(paths):
        if isinstance(source, Fault):
            faults.append(source)
            continue
        repeated: list[YamlError] = []
        try:
            for node in yaml_documents(source.text, repeated):
                if not (isinstance(node, Scalar) and meaning_of(node.text).sort is Sort.EMPTY):
                    yield from _listed(_headed(source.name, node), faults)
        except YamlError as error:
            faults.append(Fault(Place(source.name, error.line, error.column), error.why, do=error.do))
        faults += [Fault(Place(source.name, e.line, e.column), e.why, do=e.do) for e in repeated]


def _headed(file: str, node: Node, version: str = "", kind: str = "") -> _Headed:
    for key, value in node.pairs if isinstance(node, Pairs) else ():
        if isinstance(value, Scalar):
            if key.text == "apiVersion":
                version = value.text
            elif key.text == "kind":
                kind = value.text
    return _Headed(file, node, version, kind)


def _listed(one: _Headed, faults: list[Fault]) -> Iterator[_Headed]:
    """The document, or those of a list: ``kubectl get -o yaml`` and jikkou write them."""
    if not one.kind.endswith(_LIST) or not isinstance(one.node, Pairs):
        yield one
        return
    items = next((value for key, value in one.node.pairs if key.text == "items"), None)
    if not isinstance(items, Items):
        what = f"{one.kind} has no list of items"
        faults.append(Fault(Place(one.file, one.node.line, one.node.column), what))
        return
    version = one.version if one.kind != _LIST else ""
    for item in items.items:
        yield _headed(one.file, item, version, one.kind.removesuffix(_LIST))


# --- resources -------------------------------------------------------------------------------------


def _resources(documents: list[_Headed], variables: Variables, faults: list[Fault]) -> Iterator[Resource]:
    shared = Shared()
    forms = [_form(one, faults) for one in documents]
    later = []
    for one, form in zip(documents, forms, strict=True):
        if isinstance(form, ForeignForm) and form.defines:
            _foreign(one, form, shared, variables, faults)
        elif form is not None:
            later.append((one, form))
    for one, form in later:
        if isinstance(form, ForeignForm):
            yield from _foreign(one, form, shared, variables, faults)
        else:
            yield from _own(one, form, variables, faults)


def _form(one: _Headed, faults: list[Fault]) -> Kind | ForeignForm | None:
    """What the document is; None after a fault."""
    if one.version == API_VERSION and one.kind in _OWN:
        return _OWN[one.kind]
    group = one.version.partition("/")[0]
    found = _OF_GROUP.get(group, {}).get(one.kind)
    if found is None and not one.version and not one.kind and isinstance(one.node, Pairs):
        found = _of_topicctl(one.node)
    if found is None:
        faults.append(_unknown(one, group))
    return found


def _of_topicctl(node: Pairs) -> ForeignForm | None:
    keys = {key.text: value for key, value in node.pairs}
    spec = keys.get("spec")
    if "meta" not in keys or not isinstance(spec, Pairs):
        return None
    names = {key.text for key, _ in spec.pairs}
    if "acls" in names:
        return topicctl.ACLS
    return topicctl.TOPIC if names & {"partitions", "placement", "replicationFactor"} else None


def _unknown(one: _Headed, group: str) -> Fault:
    place = Place(one.file, one.node.line, one.node.column)
    if not isinstance(one.node, Pairs):
        return Fault(place, "a document is a mapping", do="as in apiVersion: kcli/v1, kind: Topic")
    at = {key.text: value for key, value in one.node.pairs}
    if not one.kind or not one.version:
        lacks = " and ".join(
            name for name, text in (("apiVersion", one.version), ("kind", one.kind)) if not text
        )
        return Fault(place, f"the document lacks {lacks}", do=f"kinds of {API_VERSION} are {', '.join(_OWN)}")
    forms = _OWN if one.version == API_VERSION else _OF_GROUP.get(group)
    if forms is not None:
        node = at.get("kind", one.node)
        near = near_names(one.kind, forms)
        return Fault(
            Place(one.file, node.line, node.column),
            f"{one.kind} is no kind of {one.version} that is read",
            f"those are {', '.join(forms)}",
            f"did you mean {near[0]}?" if near else "leave the document out",
        )
    node = at.get("apiVersion", one.node)
    versions = (API_VERSION, *_OF_GROUP)
    near = near_names(one.version, versions)
    return Fault(
        Place(one.file, node.line, node.column),
        f"{one.kind} of {one.version} is no resource of Kafka that is read",
        f"documents are of {', '.join(versions)}, or topicctl's",
        f"did you mean {near[0]}?" if near else "leave the document out, or put it into another folder",
    )


def _own(one: _Headed, kind: Kind, variables: Variables, faults: list[Fault]) -> Iterator[Resource]:
    document = Document(one.file, one.node, variables, faults)
    found = RECORDS[kind].read(one.node, (), document)
    if document.is_bad or found is None:
        return
    metadata = found.get("metadata") or {}
    made = list(FORMS[kind].make(metadata.get("name", ""), found["spec"], document))
    if not document.is_bad:
        yield from _made(made, document, metadata.get("profile"))


def _foreign(
    one: _Headed, form: ForeignForm, shared: Shared, variables: Variables, faults: list[Fault]
) -> list[Resource]:
    document = Document(one.file, one.node, variables, faults)
    found = form.record.read(one.node, (), document)
    if document.is_bad or found is None:
        return []
    made = list(form.make(found, document, shared))
    if not made and not document.is_bad and not form.defines:
        document.fault(
            (), f"{one.kind or 'the document'} describes nothing of a cluster of Kafka", do="leave it out"
        )
    return [] if document.is_bad else list(_made(made, document, None))


def _made(made: Iterable[Made], document: Document, profile: str | None) -> Iterator[Resource]:
    """The resources of a document, each once: rules of Strimzi and jikkou may name an ACL twice."""
    seen = set()
    for kind, name, spec, renamed in made:
        ref = Ref(kind, name)
        if ref not in seen:
            seen.add(ref)
            yield Resource(ref, spec, moved(document.places, renamed), profile, document.ignored)


def _repeated(resources: Iterable[Resource]) -> Iterator[Fault]:
    """One for each resource that two documents describe."""
    first: dict[tuple[str | None, Ref], Resource] = {}
    for resource in resources:
        before = first.setdefault((resource.profile, resource.ref), resource)
        if before is not resource:
            yield Fault(
                resource.place,
                f"{resource.ref} is described twice",
                f"{place_text(before.place)} describes it, too",
                "keep one of them",
            )
