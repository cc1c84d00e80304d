"""Which modules there are, and their text: one for each API, one for what members of a group say to each other."""

from tools.protocol import notes
from tools.protocol.definitions import Definition, definitions, versions_of
from tools.protocol.render import Tables, imports

FOLDER = "kcli/core/protocol/messages"
RECORDS_FOLDER = "kcli/core/protocol/stored"
_NEVER = (1, 0)


def modules(kafka: str) -> dict[str, str]:
    """Path → text, not yet formatted, by the definitions of this version of Kafka."""
    known = definitions(kafka)
    found = {}
    for api, about in notes.APIS.items():
        found[f"{FOLDER}/{snake(api)}.py"] = _module(kafka, _api_text(api, known), _titled(api, about, known))
    for module, (about, names) in notes.DATA.items():
        found[f"{FOLDER}/{module}.py"] = _module(kafka, _data_text([known[name] for name in names]), about)
    for module, records in notes.RECORDS.items():
        text = _records_text(list(record_definitions(kafka, records).values()))
        found[f"{RECORDS_FOLDER}/{module}.py"] = _module(kafka, text, records.about)
    return found


def record_definitions(kafka: str, records: notes.Records) -> dict[str, Definition]:
    """Name → definition, in the order of their numbers."""
    known = definitions(kafka, records.artifact)
    former = {name: definitions(version, records.artifact)[name] for name, version in records.former.items()}
    wanted = {name: one for name, one in (known | former).items() if name not in records.without}
    numbers = {name: number_of(one, known | former) for name, one in wanted.items()}
    return {name: wanted[name] for name in sorted(wanted, key=lambda name: (numbers[name], name))}


def number_of(definition: Definition, known: dict[str, Definition]) -> int:
    """The number of a kind of records. Before 4.0 it was the version of the key."""
    if "apiKey" in definition:
        return int(definition["apiKey"])
    return versions_of(
        known[definition["name"].removesuffix("Value").removesuffix("Key") + "Key"]["validVersions"]
    )[0]


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


def _records_text(roots: list[Definition]) -> str:
    """The classes, then each number with the classes of its key and value, or of its only part."""
    tables = Tables(roots)
    known = {root["name"]: root for root in roots}
    kinds: dict[int, list[str]] = {}
    for root in roots:
        kinds.setdefault(number_of(root, known), []).append(root["name"])
        if root["type"] == "coordinator-key" or root["name"].endswith("Key"):
            tables.add(as_key(root), "Struct")
            continue
        flexible = versions_of(root["flexibleVersions"])
        lines = (
            f"versions: ClassVar[tuple[int, int]] = {versions_of(root['validVersions'])}",
            f"flexible: ClassVar[int] = {'0x7FFF' if flexible == _NEVER else flexible[0]}",
        )
        tables.add(root, "Struct", (*lines, "") if root["fields"] else lines)
    rows = "".join(
        f"    {number}: {names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'},\n"
        for number, names in kinds.items()
    )
    pair = (
        "type[Struct]"
        if all(len(names) == 1 for names in kinds.values())
        else "tuple[type[Struct], type[Struct]]"
    )
    about = '"""The classes by the number of the kind of records."""'
    return f"{tables.text}\n\nKINDS: dict[int, {pair}] = {{\n{rows}}}\n{about}\n"


def as_key(root: Definition) -> Definition:
    """In place of the version of a key stands the number of the kind: all fields are there."""
    return {**root, "fields": [{**field, "versions": "0+"} for field in root["fields"]], "validVersions": "0"}


def _versions(api: str, request: Definition) -> tuple[int, int]:
    """Without what is not final yet: its form may change."""
    first, last = versions_of(request["validVersions"])
    if request.get("latestVersionUnstable"):
        last -= 1
    return first, min(last, notes.NEWEST_USED.get(api, last))


def _module(kafka: str, text: str, about: str) -> str:
    first = f"# Made by `make protocol` from the definitions of Kafka {kafka}; not to be edited."
    return f'{first}\n"""{about}"""\n\n{imports(text)}\n\n\n{text}'
