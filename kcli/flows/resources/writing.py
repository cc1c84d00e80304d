"""Resources as documents, and as the YAML text of files: the same resource gives the same bytes. Pure.

Values of configurations are text in Kafka. Those that YAML reads as a number or a boolean that is written just so stand
bare, others in quotation marks where any reader would take them for something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kcli.account.survey import Missing
from kcli.flows.quotas.values import spelling
from kcli.flows.resources.resource import API_VERSION, Kind, Resource
from kcli.output.envelope import yaml_lines
from kcli.output.sanitise import visible_line

_UNNAMED = (Kind.ACL_BINDING, Kind.QUOTA)
"""What is identified by the spec."""
_INTEGER = re.compile(r"-?[1-9][0-9]*|0")
_DECIMAL = re.compile(r"-?(?:[1-9][0-9]*|0)\.[0-9]+")
_SEPARATOR = "---\n"
_LAST = "assignment"


def document(resource: Resource) -> dict[str, Any]:
    """As JSON has it. A topic in which nothing is set has no configuration."""
    found: dict[str, Any] = {"apiVersion": API_VERSION, "kind": str(resource.ref.kind)}
    if resource.ref.kind not in _UNNAMED:
        found["metadata"] = {"name": resource.ref.name}
    order = sorted(resource.spec, key=lambda key: key == _LAST)
    spec = {key: _shown(key, resource.spec[key]) for key in order}
    if resource.ref.kind is Kind.TOPIC and not spec.get("config", True):
        del spec["config"]
    return found | {"spec": spec}


def document_text(resource: Resource) -> str:
    """One document, without a separator. ``${`` would begin a variable: it is written ``$${``."""
    return "".join(f"{line}\n" for line in yaml_lines(document(resource))).replace("${", "$${")


def file_text(
    resources: Iterable[Resource], missing: Iterable[Missing] = (), hidden: Iterable[str] = ()
) -> str:
    """All documents, in this order; above them, as comments, what could not be read, and what may be hidden."""
    lacks = [*(f"{part.what} could not be read: {part.why}" for part in missing), *hidden]
    head = "".join(f"# incomplete: {visible_line(text)}\n" for text in lacks)
    return head + _SEPARATOR.join(map(document_text, resources))


def secrets_of(resource: Resource) -> list[str]:
    """The keys that are set on the resource and not in its spec, since brokers do not return their values."""
    return [name for name, entry in resource.entries.items() if not entry.is_default and entry.value is None]


def _shown(key: str, value: Mapping[str, Any]) -> Any:
    if key == "config":
        return {name: _bare(text) for name, text in value.items()}
    if key == "entity":  # null is the default; a name that reads like the default is escaped
        return {kind: name and spelling(name) for kind, name in value.items()}
    return value


def _bare(text: str | None) -> Any:
    """The number or boolean whose usual form is the text; else the text."""
    if text in ("true", "false"):
        return text == "true"
    if text is not None and _INTEGER.fullmatch(text):
        return int(text)
    if text is not None and _DECIMAL.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text
