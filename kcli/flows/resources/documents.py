"""Files to resources: the documents of kcli, of Strimzi, jikkou and topicctl; all that is wrong with them in one error.

Nothing of a cluster is looked at here. A document is read by the shape of its kind (``shapes``); what it refers to in
others, as jikkou's ConfigMaps, is read before it, in whichever file it is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kcli.core.classes import NamedTuple
from kcli.core.near_names import near_names
from kcli.files.yaml_nodes import Items, Node, Pairs, Scalar, YamlError, yaml_documents
from kcli.flows.resources import jikkou, strimzi, topicctl
from kcli.flows.resources.faults import Fault, FilesError, place_text
from kcli.flows.resources.foreign import ForeignForm, Shared, check_annotations
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
_WITHOUT_MEANING = frozenset((*strimzi.WITHOUT_MEANING, *jikkou.WITHOUT_MEANING))
_LIST = "List"
_OWN = {str(kind): kind for kind in Kind}


class _Headed(NamedTuple):
    """A document, with what says its kind; both are empty in topicctl's. ``annotations``: of the list that it is in."""

    file: str
    node: Node
    version: str
    kind: str
    annotations: Mapping[str, str]


def read_documents(
    paths: Sequence[str],
    *,
    values: Sequence[str] = (),
    environment: Mapping[str, str],
    note: Callable[[str], object] | None = None,
) -> list[Resource]:
    """The resources of files and folders, ``-`` for stdin, in the order of the text. ``values``: files with variables,
    which win over ``environment``. ``note`` is given a line for each document, and each part of one, that has no meaning
    here; without it such documents are faults. FilesError has all that is wrong.
    """
    known, faults = read_values(values)
    variables = Variables(known, environment)
    left_out: list[Fault] = []
    was_enabled = gc.isenabled()
    gc.disable()  # of a million small objects none is garbage
    try:
        documents = list(_documents(paths, faults))
        resources = list(_resources(documents, variables, faults, left_out))
    finally:
        if was_enabled:
            gc.enable()
    faults += _repeated(resources)
    faults += variables.faults(values)
    if note is None or not resources:
        faults += left_out
    if faults:
        raise FilesError(faults)
    if note is not None:
        for fault in left_out:
            note(f"{place_text(fault.place)}: left out: {fault.what}")
        for line in ignored_lines(resources):
            note(line)
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


def _headed(
    file: str,
    node: Node,
    version: str = "",
    kind: str = "",
    annotations: Mapping[str, str] = MappingProxyType({}),
) -> _Headed:
    for key, value in node.pairs if isinstance(node, Pairs) else ():
        if isinstance(value, Scalar):
            if key.text == "apiVersion":
                version = value.text
            elif key.text == "kind":
                kind = value.text
    return _Headed(file, node, version, kind, annotations)


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
    annotations = _annotations(one.node)
    for item in items.items:
        yield _headed(one.file, item, version, one.kind.removesuffix(_LIST), annotations)


def _annotations(node: Node) -> dict[str, str]:
    """Those of a list, which are those of all its items."""
    for name in ("metadata", "annotations"):
        pairs = node.pairs if isinstance(node, Pairs) else ()
        node = next((value for key, value in pairs if key.text == name), Scalar("", True, 0, 0))
    pairs = node.pairs if isinstance(node, Pairs) else ()
    return {key.text: value.text for key, value in pairs if isinstance(value, Scalar)}


# --- resources -------------------------------------------------------------------------------------


def _resources(
    documents: list[_Headed], variables: Variables, faults: list[Fault], left_out: list[Fault]
) -> Iterator[Resource]:
    shared = Shared()
    later = []
    for one in documents:
        form = _form(one, faults, left_out)
        if isinstance(form, ForeignForm) and form.defines:
            _foreign(one, form, shared, variables, faults)
        elif form is not None:
            later.append((one, form))
    for one, form in later:
        if isinstance(form, ForeignForm):
            made = _foreign(one, form, shared, variables, faults)
            if made is None:
                what = f"{one.kind or 'the document'} describes nothing in a cluster of Kafka"
                left_out.append(Fault(_place(one), what, do="leave it out"))
            yield from made or ()
        else:
            yield from _own(one, form, variables, faults)


def _form(one: _Headed, faults: list[Fault], left_out: list[Fault]) -> Kind | ForeignForm | None:
    """What the document is; None after a fault, or for one that is left out."""
    if one.version == API_VERSION and one.kind in _OWN:
        return _OWN[one.kind]
    group = one.version.partition("/")[0]
    found = _OF_GROUP.get(group, {}).get(one.kind)
    if found is None and not one.version and not one.kind and isinstance(one.node, Pairs):
        found = _of_topicctl(one.node)
    if found is None:
        fault, is_foreign = _unknown(one, group)
        (left_out if is_foreign else faults).append(fault)
    return found


def _place(one: _Headed, key: str = "") -> Place:
    """Of the document, or of the value of one of its keys."""
    pairs = one.node.pairs if isinstance(one.node, Pairs) else ()
    node = next((value for name, value in pairs if name.text == key), one.node)
    return Place(one.file, node.line, node.column)


def _of_topicctl(node: Pairs) -> ForeignForm | None:
    keys = {key.text: value for key, value in node.pairs}
    spec = keys.get("spec")
    if "meta" not in keys or not isinstance(spec, Pairs):
        return None
    names = {key.text for key, _ in spec.pairs}
    if "acls" in names:
        return topicctl.ACLS
    return topicctl.TOPIC if names & {"partitions", "placement", "replicationFactor"} else None


def _is_cluster_of_topicctl(node: Pairs) -> bool:
    spec = next((value for key, value in node.pairs if key.text == "spec"), None)
    return isinstance(spec, Pairs) and any(key.text in ("bootstrapAddrs", "zkAddrs") for key, _ in spec.pairs)


def _unknown(one: _Headed, group: str) -> tuple[Fault, bool]:
    """Why a document cannot be read, and whether it is one of other tools that describes no resource of Kafka."""
    if not isinstance(one.node, Pairs):
        return Fault(
            _place(one), "a document is a mapping", do="as in apiVersion: kcli/v1, kind: Topic"
        ), False
    if not one.kind and not one.version and _is_cluster_of_topicctl(one.node):
        what = "topicctl's file of a cluster describes nothing in it"
        return Fault(_place(one), what, do="leave it out; a profile has the connection of a cluster"), True
    if not one.kind or not one.version:
        lacks = [name for name, text in (("apiVersion", one.version), ("kind", one.kind)) if not text]
        what, do = (
            f"the document lacks {' and '.join(lacks)}",
            f"kinds of {API_VERSION} are {', '.join(_OWN)}",
        )
        return Fault(_place(one), what, do=do), False
    forms = _OWN if one.version == API_VERSION else _OF_GROUP.get(group)
    if forms is not None:
        near = () if one.kind in _WITHOUT_MEANING else near_names(one.kind, forms)
        fault = Fault(
            _place(one, "kind"),
            f"{one.kind} is no kind of {one.version} that is read",
            f"those are {', '.join(forms)}",
            f"did you mean {near[0]}?" if near else "leave the document out",
        )
        return fault, forms is not _OWN and not near
    near = near_names(one.version, (API_VERSION, *_OF_GROUP))
    fault = Fault(
        _place(one, "apiVersion"),
        f"{one.kind} of {one.version} describes nothing in a cluster of Kafka",
        f"documents are of {', '.join((API_VERSION, *_OF_GROUP))}, or topicctl's",
        f"did you mean {near[0]}?" if near else "leave the document out",
    )
    return fault, not near


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
) -> list[Resource] | None:
    """None for a document without faults that makes no resource."""
    document = Document(one.file, one.node, variables, faults)
    found = form.record.read(one.node, (), document)
    if found is not None:
        check_annotations(found, one.annotations, form, document)
    if document.is_bad or found is None:
        if form.defines and found is not None and found.get("metadata"):
            shared.broken.add(found["metadata"].get("name", ""))
        return []
    made = list(form.make(found, document, shared))
    return [] if document.is_bad else list(_made(made, document, None)) or None


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
