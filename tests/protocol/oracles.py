"""``python -m tests.protocol.oracles``: random messages of every API in every version, judged by others. Not a test.

The judges: an interpreter of Kafka's definitions (``kafka_bytes``), Kafka's own classes (``java_messages``, where there
is a JDK), kafka-python's, and the tables of another commit (``--before``). All must write the same bytes, and what our
tables read must be what was written.
"""

import argparse
import random
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

from kcli.core.protocol import compiler
from kcli.core.protocol.api import Request
from kcli.core.protocol.codec import join_splices
from kcli.core.protocol.schema import RECORDS, Array, Struct
from tests.protocol.java_messages import JavaMessages, missing
from tests.protocol.kafka_bytes import encoded, made
from tests.protocol.kafka_json import NEWEST
from tests.protocol.tables import requests
from tools.protocol.definitions import CLIENTS, Definition, definitions, python_name
from tools.protocol.modules import FOLDER, snake

RENAMED = {"generation_id_or_member_epoch": "generation_id"}
"""Fields whose name Kafka has changed, and what earlier tables call them."""


class Sample(NamedTuple):
    """One message: its values by Kafka's names, and its bytes by the interpreter of the definitions."""

    definition: Definition
    version: int
    flexible: bool
    values: dict[str, Any]
    data: bytes


def samples(request: type[Request], count: int, seed: int, kafka: str = NEWEST) -> Iterator[Sample]:
    """``count`` messages: requests and responses, the versions in turn."""
    rng = random.Random(f"{request.__name__} {seed}")
    known = definitions(kafka)
    versions = range(request.versions[0], request.versions[1] + 1)
    for number in range(count):
        definition = known[(request, request.response)[number % 2].__name__]
        version = versions[number // 2 % len(versions)]
        values = made(definition, version, rng)
        data = encoded(definition, version, values)
        yield Sample(definition, version, version >= request.flexible, values, data)


def tables_differ(cls: type[Struct], sample: Sample, *, both_ways: bool = True) -> str:
    """What our tables make of a sample; empty if it is the same."""
    if written(build(cls, sample.values), sample) != sample.data:
        return "our tables write other bytes"
    if both_ways:
        found, end = compiler.decode(
            cls, memoryview(sample.data), 0, sample.version, flexible=sample.flexible
        )
        if end != len(sample.data):
            return "our tables leave bytes"
        if written(_writable(found), sample) != sample.data:
            return "our tables read something else"
    return ""


def written(message: Struct, sample: Sample) -> bytes:
    out, splices = compiler.encode(message, sample.version, flexible=sample.flexible)
    return b"".join(join_splices(out, splices))


def build(cls: type[Struct], values: dict[str, Any]) -> Any:
    """The message of our tables."""
    rows = {row.name: row for row in cls.fields}
    fields = {}
    for name, value in values.items():
        row = rows.get(python_name(name)) or rows[RENAMED[python_name(name)]]
        fields[row.name] = _ours(row.type, value)
    return cls(**fields)


def _ours(type_: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(type_, Array):
        return [_ours(type_.element, item) for item in value]
    if isinstance(type_, type):
        return build(type_, value)
    if type_ == RECORDS:
        return [value]
    return value.bytes if isinstance(value, UUID) else value


def _writable(message: Any) -> Any:
    """Records are read as one buffer, and written as several."""
    for row in message.fields:
        value = getattr(message, row.name)
        if row.type == RECORDS and value is not None:
            setattr(message, row.name, [value])
        elif isinstance(value, Struct):
            _writable(value)
        elif isinstance(row.type, Array) and isinstance(row.type.element, type):
            for item in value or ():
                _writable(item)
    return message


# --- other judges ----------------------------------------------------------------------------------------------------


def by_java(java: JavaMessages, found: list[Sample]) -> list[str]:
    """What Kafka's classes say against the samples."""
    asked = [
        (f"org.apache.kafka.common.message.{s.definition['name']}Data", s.version, s.data) for s in found
    ]
    return [
        ""
        if answer == sample.data
        else f"Kafka's class: {answer if isinstance(answer, str) else 'other bytes'}"
        for sample, answer in zip(found, java.rewritten(asked), strict=True)
    ]


def kafka_python(name: str) -> Any:
    """The class of kafka-python for this message; None if it has none, or one that reads an error as another version."""
    if name == "ApiVersionsResponse":
        return None
    from kafka.protocol import admin, consumer, metadata, producer, sasl

    found = (getattr(module, name, None) for module in (admin, consumer, metadata, producer, sasl))
    return next((cls for cls in found if cls is not None), None)


def by_kafka_python(cls: Any, sample: Sample) -> str:
    """Reads and writes it again; empty if that gives the same bytes."""
    try:
        message = cls.decode(memoryview(sample.data), version=sample.version)
        message._header = None  # which decode() leaves out, and encode() looks at
        again = bytes(message.encode(version=sample.version))
    except (ValueError, TypeError, IndexError, struct.error) as error:
        return f"kafka-python: {error!r}"[:120]
    return "" if again == sample.data else "kafka-python: other bytes"


def earlier(request: type[Request], commit: str) -> type[Request] | None:
    """The table of another commit; None if there was none."""
    path = f"{FOLDER}/{snake(request.api_name)}.py"
    shown = subprocess.run(["git", "show", f"{commit}:{path}"], capture_output=True, text=True, check=False)
    if shown.returncode:
        return None
    module = ModuleType(f"earlier_{snake(request.api_name)}")
    exec(compile(shown.stdout, path, "exec"), module.__dict__)
    found: type[Request] = getattr(module, request.__name__)
    return found


_AT_ONCE = 500


# --- the program -----------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.protocol.oracles", description=__doc__)
    parser.add_argument("apis", nargs="*", metavar="API")
    parser.add_argument("--messages", type=int, default=10_000, help="of each API")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--before", metavar="COMMIT", help="compare with the tables of this commit too")
    options = parser.parse_args()
    judged: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    chosen = [one for one in requests() if not options.apis or one.api_name in options.apis]
    with nullcontext() if missing() else JavaMessages(NEWEST, [CLIENTS]) as java:
        for request in chosen:
            former = earlier(request, options.before) if options.before else None
            left = samples(request, options.messages, options.seed)
            while found := list(islice(left, _AT_ONCE)):
                for judge, verdicts in _verdicts(request, found, java, former):
                    judged[judge] += len(verdicts)
                    for sample, said in verdicts:
                        if said:
                            wrong[f"{sample.definition['name']} v{sample.version}: {said}"] += 1
            print(
                f"{request.api_name}: {sum(judged.values())} verdicts, {sum(wrong.values())} wrong",
                flush=True,
            )
    print(f"{len(chosen)} APIs, {options.messages} messages of each, {sum(wrong.values())} wrong")
    for judge, count in judged.items():
        print(f"{count:>10} judged by {judge}")
    for line, count in wrong.items():
        print(f"{count:>10} {line}")
    return 1 if wrong else 0


def _verdicts(
    request: type[Request], found: list[Sample], java: JavaMessages | None, former: type[Request] | None
) -> Iterator[tuple[str, list[tuple[Sample, str]]]]:
    classes: dict[str, type[Struct]] = {cls.__name__: cls for cls in (request, request.response)}

    def each(judge: Callable[[Sample], str], those: list[Sample]) -> list[tuple[Sample, str]]:
        return [(sample, judge(sample)) for sample in those]

    yield "the interpreter", each(lambda s: tables_differ(classes[s.definition["name"]], s), found)
    if java is not None:
        yield "Kafka's classes", list(zip(found, by_java(java, found), strict=True))
    theirs = {name: kafka_python(name) for name in classes}
    known = [s for s in found if (cls := theirs[s.definition["name"]]) and s.version <= cls.max_version]
    yield "kafka-python", each(lambda s: by_kafka_python(theirs[s.definition["name"]], s), known)
    if former is not None:
        old = {cls.__name__: cls for cls in (former, former.response)}
        shared = [s for s in found if former.versions[0] <= s.version <= former.versions[1]]
        yield (
            "the earlier tables",
            each(lambda s: tables_differ(old[s.definition["name"]], s, both_ways=False), shared),
        )


if __name__ == "__main__":
    sys.exit(main())
