"""Which modules there are, and their text: one for each API, one for what members of a group say to each other."""

from tools.protocol import notes
from tools.protocol.definitions import Definition, definitions, versions_of
from tools.protocol.render import Tables, imports

FOLDER = "kcli/core/protocol/messages"
_NEVER = (1, 0)


def modules(kafka: str) -> dict[str, str]:
    """Path → text, not yet formatted, by the definitions of this version of Kafka."""
    known = definitions(kafka)
    found = {}
    for api, about in notes.APIS.items():
        found[f"{FOLDER}/{snake(api)}.py"] = _module(kafka, _api_text(api, known), _titled(api, about, known))
    for module, (about, names) in notes.DATA.items():
        found[f"{FOLDER}/{module}.py"] = _module(kafka, _data_text([known[name] for name in names]), about)
    return found


def apis(kafka: str) -> list[str]:
    """The APIs of a broker or controller that still has them."""
    return [
        definition["name"].removesuffix("Request")
        for definition in definitions(kafka).values()
        if definition["type"] == "request" and versions_of(definition["validVersions"]) != _NEVER
    ]


def snake(api: str) -> str:
    """The name of its module."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in api).lstrip("_")


def _titled(api: str, about: str, known: dict[str, Definition]) -> str:
    return f"{api} (API {known[f'{api}Request']['apiKey']}): {about}"


def _api_text(api: str, known: dict[str, Definition]) -> str:
    request, response = known[f"{api}Request"], known[f"{api}Response"]
    tables = Tables((request, response))
    tables.add(response, "Response")
    options = [f"key={request['apiKey']}", f"versions={_versions(api, request)}"]
    flexible = versions_of(request["flexibleVersions"])
    if flexible != _NEVER:
        options.append(f"flexible={flexible[0]}")
    if api in notes.NO_NEWS:
        options.append(f"no_news={notes.NO_NEWS[api]}")
    tables.add(request, ", ".join(["Request", *options, f"response={response['name']}"]))
    return tables.text


def _data_text(roots: list[Definition]) -> str:
    tables = Tables(roots)
    for root in roots:
        first_line = f"versions: ClassVar[tuple[int, int]] = {versions_of(root['validVersions'])}"
        tables.add(root, "Struct", (first_line, ""))
    return tables.text


def _versions(api: str, request: Definition) -> tuple[int, int]:
    """Without what is not final yet: its form may change."""
    first, last = versions_of(request["validVersions"])
    if request.get("latestVersionUnstable"):
        last -= 1
    return first, min(last, notes.NEWEST_USED.get(api, last))


def _module(kafka: str, text: str, about: str) -> str:
    first = f"# Made by `make protocol` from the definitions of Kafka {kafka}; not to be edited."
    return f'{first}\n"""{about}"""\n\n{imports(text)}\n\n\n{text}'
