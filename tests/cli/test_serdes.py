"""``-s`` of ``consume`` and ``produce`` as a user runs them: a registry on loopback, brokers in this process."""

import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core.types import Record
from tests.batches import batch_of
from tests.fake.cluster import FakeCluster
from tests.registry.apicurio import Apicurio, Artifact
from tests.registry.fake import FakeRegistry
from tests.registry.server import RunningRegistry
from tests.run import environment, kcli, ok, shell

Done = subprocess.CompletedProcess[bytes]
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
PROTO = 'syntax = "proto3"; package shop; message Order { int32 id = 1; string note = 2; }'
JSON_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
SEVEN = b"\0\0\0\0\1\x0e\0"
"""``{"id": 7, "note": null}`` by the schema 1, which is ORDER."""
OFFSET_KEY = struct.pack(">hh1sh1si", 1, 1, b"g", 1, b"t", 3)
OFFSET_VALUE = struct.pack(">hqih1sq", 3, 1000, 5, 1, b"m", 1732180000000)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=1, topics={"t": 1, "copy": 1}) as found:
        yield found


@pytest.fixture
def registry() -> Iterator[RunningRegistry]:
    with RunningRegistry() as found:
        found.content.register("t-value", {"schema": json.dumps(ORDER)})
        yield found


def at(registry: RunningRegistry) -> tuple[str, str]:
    return ("-X", f"schema.registry.url={registry.url}")


def consume(cluster: FakeCluster, *arguments: str, topic: str = "t") -> Done:
    return kcli("consume", topic, "-e", *arguments, bootstrap=cluster.bootstrap)


def produce(cluster: FakeCluster, *arguments: str, stdin: bytes = b"") -> Done:
    return kcli("produce", "t", *arguments, bootstrap=cluster.bootstrap, stdin=stdin)


def put(cluster: FakeCluster, *pairs: tuple[bytes | None, bytes | None], topic: str = "t") -> None:
    rows = [
        Record(topic, 0, n, 1_700_000_000_000 + n, 0, key, value, ()) for n, (key, value) in enumerate(pairs)
    ]
    cluster.append(topic, 0, bytes(batch_of(rows).raw))


def pairs(cluster: FakeCluster, topic: str = "t") -> list[tuple[Any, Any]]:
    return [(record.key, record.value) for record in cluster.log(topic, 0).records()]


def lines(done: Done) -> list[Any]:
    return [json.loads(line) for line in ok(done).splitlines()]


# --- in and out -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("serde", "text", "data", "value"),
    [
        ("str", "ä", "ä".encode(), "ä"),
        ("json", '{"a": [1, 2]}', b'{"a": [1, 2]}', {"a": [1, 2]}),
        ("json", str(2**70), str(2**70).encode(), 2**70),
        ("short", "-2", b"\xff\xfe", -2),
        ("int", "7", b"\0\0\0\7", 7),
        ("long", str(-(2**63)), b"\x80" + bytes(7), -(2**63)),
        ("float", "0.1", struct.pack(">f", 0.1), 0.1),
        ("double", "NaN", struct.pack(">d", float("nan")), "NaN"),
        ("hex", "00ff", b"\0\xff", "00ff"),
        ("base64", "AP8=", b"\0\xff", "AP8="),
    ],
)
def test_plain_serdes_in_and_out(
    cluster: FakeCluster, serde: str, text: str, data: bytes, value: Any
) -> None:
    ok(produce(cluster, "-K", "|", "-s", serde, stdin=f"{text}|{text}\n".encode()))
    assert pairs(cluster) == [(data, data)]
    shown = ok(consume(cluster, "-s", serde, "-f", "%k|%v\\n"))
    assert shown.decode() == f"{text}|{text}\n"
    (line,) = lines(consume(cluster, "-s", serde, "-o", "ndjson"))
    assert (line["key"], line["key_encoding"]) == (value, serde)
    assert (line["value"], line["value_encoding"]) == (value, serde)


def test_avro_in_and_out_and_an_exact_copy(cluster: FakeCluster, registry: RunningRegistry) -> None:
    avro = ("-s", "value=avro", *at(registry))
    ok(produce(cluster, *avro, stdin=b'{"id":7}\n{"id":8,"note":"x"}\n'))
    assert pairs(cluster) == [(None, SEVEN), (None, b"\0\0\0\0\1\x10\2\2x")]
    found = lines(consume(cluster, *avro, "-o", "ndjson"))
    assert [(one["value"], one["value_encoding"], one["value_schema_id"]) for one in found] == [
        ({"id": 7, "note": None}, "avro", 1),
        ({"id": 8, "note": "x"}, "avro", 1),
    ]
    assert "key_schema_id" not in found[0]
    registry.content.register("copy-value", {"schema": json.dumps(ORDER)})
    flags = " ".join(avro)
    line = f"kcli consume t -e -o ndjson {flags} | kcli produce copy -i ndjson {flags}"
    ok(shell(f"set -o pipefail; {line}", bootstrap=cluster.bootstrap))
    assert pairs(cluster, "copy") == pairs(cluster)


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_copy_of_what_can_and_what_cannot_be_decoded_is_exact(
    cluster: FakeCluster, registry: RunningRegistry, form: str
) -> None:
    put(
        cluster,
        (b"\0\0\0\1", SEVEN),
        (b"words", b'"no avro"'),
        (b"\xff", b"\xff\xfe"),
        (b"\0\0\0\2", None),
        (b"\0\0\0\3", b""),
        (None, b"\0\0\0\0\x63\x01"),
    )
    registry.content.register("copy-value", {"schema": json.dumps(ORDER)})
    flags = " ".join(("-s key=int -s value=avro", *at(registry)))
    line = f"kcli consume t -e -o {form} {flags} | kcli produce copy -i {form} {flags}"
    done = shell(f"set -o pipefail; {line}", bootstrap=cluster.bootstrap)
    ok(done)
    assert pairs(cluster, "copy") == pairs(cluster)
    assert b"warning: 2 keys could not be decoded" in done.stderr
    assert b"warning: 4 values could not be decoded" in done.stderr


def test_protobuf_and_json_schema(cluster: FakeCluster, registry: RunningRegistry) -> None:
    for serde, body in (
        ("protobuf", {"schema": PROTO, "schemaType": "PROTOBUF"}),
        ("jsonschema", {"schema": json.dumps(JSON_SCHEMA), "schemaType": "JSON"}),
    ):
        number = registry.content.register(f"{serde}-s", body)
        ok(produce(cluster, "-s", f"value={serde}:subject={serde}-s", *at(registry), stdin=b'{"id":7}\n'))
        value = pairs(cluster)[-1][1]
        assert value[:5] == b"\0" + number.to_bytes(4, "big")
        found = lines(consume(cluster, "-s", f"value={serde}", *at(registry), "-o", "ndjson"))[-1]
        assert (found["value"]["id"], found["value_encoding"], found["value_schema_id"]) == (7, serde, number)


def test_a_schema_in_a_file_needs_no_registry(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "o.avsc").write_text(json.dumps(ORDER))
    avro = ("-s", f"value=avro:file={tmp_path / 'o.avsc'}")
    ok(produce(cluster, *avro, stdin=b'{"id":7}\n'))
    assert pairs(cluster) == [(None, SEVEN[5:])]
    (found,) = lines(consume(cluster, *avro, "-o", "ndjson"))
    assert found["value"] == {"id": 7, "note": None}
    assert "value_schema_id" not in found


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (("-i", "ndjson"), b'{"key":1,"value":{"id":7}}'),
        (("-i", "kcat"), b'{"key":1,"payload":{"id":7}}'),
        (("-i", "csv"), b'key,value\n1,"{""id"":7}"\n'),
        (("-i", "raw", "-k", "1"), b'\0\0\0\x08{"id":7}'),
        (("-i", "file", "-k", "1"), b'{"id":7}'),
        (("-f", "%k=%v\\n"), b'1={"id":7}\n'),
        (("-k", "1"), b'{"id":7}\n'),
        (("-K", ":", "--rate", "1000"), b'1:{"id":7}\n'),
        (("-K", ":", "--transactional-id", "x"), b'1:{"id":7}\n'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_every_format_of_input_goes_through_the_serdes(
    cluster: FakeCluster, arguments: tuple[str, ...], stdin: bytes
) -> None:
    ok(produce(cluster, "-s", "key=int", "-s", "value=json", *arguments, stdin=stdin))
    assert pairs(cluster)[0] == (b"\0\0\0\1", b'{"id":7}')


def test_what_one_serde_read_another_writes(cluster: FakeCluster, registry: RunningRegistry) -> None:
    put(cluster, (None, b'{"id":7}'))
    ok(
        shell(
            "set -o pipefail; kcli consume t -e -o ndjson -s value=json"
            f" | kcli produce copy -i ndjson -s value=avro:subject=t-value {' '.join(at(registry))}",
            bootstrap=cluster.bootstrap,
        )
    )
    assert pairs(cluster, "copy") == [(None, SEVEN)]


def test_plain_serdes_that_the_input_names_need_no_option(cluster: FakeCluster) -> None:
    data = b'{"key":7,"key_encoding":"long","value":null,"value_encoding":"json"}\n{"value":{},"value_encoding":"avro"}\n'
    done = produce(cluster, "-i", "ndjson", stdin=data)
    assert done.returncode == 6
    assert b"give -s value=avro" in done.stderr
    assert pairs(cluster) == [(bytes(7) + b"\7", b"null")]


# --- what cannot be decoded -------------------------------------------------------------------------------------------


def test_what_cannot_be_decoded_keeps_its_bytes_and_is_counted(
    cluster: FakeCluster, registry: RunningRegistry
) -> None:
    put(cluster, (None, SEVEN), (None, b"plain"), (None, b"\0\0\0\0\x09\0"), (None, b"\0\0\0\0\1\x0e\2\xff"))
    avro = ("-s", "value=avro", *at(registry))
    done = consume(cluster, *avro)
    assert ok(done) == b'{"id":7,"note":null}\nplain\n\0\0\0\0\x09\0\n\0\0\0\0\1\x0e\2\xff\n'
    assert (
        b"warning: 3 values could not be decoded and are shown undecoded; the first: t-0@1: "
        b"the value does not name a schema: it begins with byte 0x70"
    ) in done.stderr
    found = lines(consume(cluster, *avro, "-o", "ndjson", "--progress", "json"))
    assert [(one["value_encoding"], one["value_schema_id"]) for one in found] == [
        ("avro", 1), ("str", None), ("str", 9), ("base64", 1),
    ]  # fmt: skip
    document = json.loads(ok(consume(cluster, *avro, "-o", "json")))
    assert "3 values could not be decoded" in document["warnings"][0]
    done = consume(cluster, *avro, "-n", "1")
    assert b"could not be decoded" not in done.stderr


def test_records_of_apicurio_are_decoded_and_what_cannot_be_keeps_its_bytes(cluster: FakeCluster) -> None:
    good, odd = b"\0" + struct.pack(">q", 1) + b"\x0e\0", b"\0" + struct.pack(">q", 9) + b"x"
    put(cluster, (None, good), (None, odd), (None, None))
    with Apicurio("v3", {"order": Artifact("AVRO", json.dumps(ORDER))}) as apicurio:
        done = consume(
            cluster, "-s", "value=apicurio", "-X", f"schema.registry.url={apicurio.url}", "-o", "ndjson"
        )
    read = [(one["value"], one.get("value_encoding"), one["value_schema_id"]) for one in lines(done)]
    assert read == [({"id": 7, "note": None}, "apicurio", 1), (odd.decode(), "str", 9), (None, None, None)]
    assert b"has schema 9, which Apicurio Registry does not have" in done.stderr
    refused = produce(cluster, "-s", "value=apicurio", stdin=b"{}\n")
    assert (refused.returncode, b"apicurio is only read" in refused.stderr) == (2, True)


def test_filters_see_what_is_decoded(cluster: FakeCluster, registry: RunningRegistry) -> None:
    put(
        cluster,
        (b"\0\0\0\1", SEVEN),
        (b"\0\0\0\2", b"\0\0\0\0\1\x10\2\2x"),
        (b"\0\0\0\3", b"\xff\xff"),
    )
    serdes = ("-s", "key=int", "-s", "value=avro", *at(registry), "-f", "%k ")
    done = consume(cluster, *serdes, "--where", "value.id == `8` && key == `2`")
    assert ok(done) == b"2 "
    assert b"1 value could not be decoded: --where skipped it; the first: t-0@2" in done.stderr
    assert ok(consume(cluster, *serdes, "--grep", 'v:"note":"x"')) == b"2 "
    assert ok(consume(cluster, *serdes, "--grep", r"v:\xff")) == b"3 "
    assert ok(consume(cluster, *serdes, "--key", "1")) == b"1 "
    assert ok(
        consume(cluster, "-s", "value=avro", *at(registry), "--where", "value.id == `7`", "-o", "raw")
    ) == (b"\0\0\0\7" + SEVEN)
    assert consume(cluster, *serdes, "--key", "x").returncode == 2
    assert consume(cluster, "-s", "key=avro", *at(registry), "--key", "x").returncode == 2


@pytest.mark.case("S1-15")
def test_internal_topics_are_decoded_by_themselves(cluster: FakeCluster) -> None:
    topic = "__consumer_offsets"
    cluster.create_topic(topic, 1)
    put(cluster, (OFFSET_KEY, OFFSET_VALUE), (OFFSET_KEY, None), topic=topic)
    done = consume(cluster, "-o", "ndjson", "-v", topic=topic)
    first, last = lines(done)
    assert first["key"]["data"] == {"group": "g", "topic": "t", "partition": 3}
    assert (first["value"]["data"]["offset"], first["value_encoding"]) == (1000, "consumer_offsets")
    assert last["value"] is None
    assert b"decoded as consumer_offsets" in done.stderr
    raw = lines(consume(cluster, "-o", "ndjson", "--raw", topic=topic))
    assert raw[0]["value_encoding"] == "base64"
    assert (
        ok(consume(cluster, "-s", "value=hex", "-n", "1", topic=topic)) == OFFSET_VALUE.hex().encode() + b"\n"
    )
    assert ok(consume(cluster, "-o", "raw", "-n", "1", topic=topic))[4:] == OFFSET_VALUE


# --- what cannot be written -------------------------------------------------------------------------------------------


def test_lines_that_do_not_fit_are_bad_input(
    cluster: FakeCluster, registry: RunningRegistry, tmp_path: Path
) -> None:
    avro = ("-s", "value=avro", *at(registry))
    bad = tmp_path / "bad"
    done = produce(cluster, *avro, "--failed", str(bad), stdin=b'{"id":7}\n{"id":"x"}\nno\n')
    assert done.returncode == 6
    assert pairs(cluster) == [(None, SEVEN)]
    kept = [json.loads(line) for line in bad.read_bytes().splitlines()]
    assert [(one["line"], one["code"], one["input"]) for one in kept] == [
        (2, "BAD_INPUT", '{"id":"x"}'),
        (3, "BAD_INPUT", "no"),
    ]
    assert "does not fit schema 1 (t-value version 1)" in kept[0]["reason"]
    bad.write_bytes(bad.read_bytes().replace(b'\\"x\\"', b"7").splitlines(keepends=True)[0])
    ok(produce(cluster, *avro, "-i", "failed", str(bad)))
    assert pairs(cluster) == [(None, SEVEN)] * 2
    assert produce(cluster, *avro, stdin=b"no\n").returncode == 1
    done = produce(cluster, *avro, "--on-bad-input", "fail", stdin=b'{"id":7}\nno\n{"id":7}\n')
    assert done.returncode == 6
    assert len(pairs(cluster)) == 3


def test_a_checkpoint_is_of_one_way_to_write(cluster: FakeCluster, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"1\n2\n")
    place = ("--checkpoint", str(tmp_path / "at"), str(tmp_path / "in"))
    ok(produce(cluster, "-s", "value=int", *place))
    done = produce(cluster, "-s", "value=long", *place)
    assert done.returncode == 2
    assert b"now it is lines -s value=long" in done.stderr
    assert pairs(cluster) == [(None, b"\0\0\0\1"), (None, b"\0\0\0\2")]


# --- exit statuses ----------------------------------------------------------------------------------------------------


def test_a_registry_that_is_not_there_is_3(cluster: FakeCluster) -> None:
    with RunningRegistry() as gone:
        where = (*at(gone), "-X", "schema.registry.max.retries=0")
    put(cluster, (None, SEVEN))
    for done in (
        consume(cluster, "-s", "value=avro", *where),
        produce(cluster, "-s", "value=avro", *where, stdin=b"{}\n"),
    ):
        assert (done.returncode, done.stdout) == (3, b"")
        assert b"kcli: " in done.stderr
    assert len(pairs(cluster)) == 1


def test_a_registry_that_refuses_authentication_exits_with_4(cluster: FakeCluster, tmp_path: Path) -> None:
    content = FakeRegistry(credentials=("me", "geheim"))
    content.register("t-value", {"schema": json.dumps(ORDER)})
    with RunningRegistry(content) as registry:
        assert produce(cluster, "-s", "value=avro", *at(registry), stdin=b"{}\n").returncode == 4
        file = tmp_path / "client.properties"
        file.write_text(f"schema.registry.url={registry.url}\nbasic.auth.user.info=me:falsch\n")
        done = subprocess.run(
            [sys.executable, "-m", "kcli", "produce", "t", "-s", "value=avro", "-F", str(file), "--debug=conf"],
            input=b'{"id":7}\n', capture_output=True, check=False, timeout=60,
            env=environment(cluster.bootstrap, KCLI_X_BASIC_AUTH_USER_INFO="me:geheim"),
        )  # fmt: skip
        assert done.returncode == 4, done.stderr  # a file is stronger than the environment
        file.write_text(f"schema.registry.url={registry.url}\n")
        done = subprocess.run(
            done.args, input=b'{"id":7}\n', capture_output=True, check=False, timeout=60,
            env=environment(cluster.bootstrap, KCLI_X_BASIC_AUTH_USER_INFO="me:geheim"),
        )  # fmt: skip
        ok(done)
    assert b"basic.auth.user.info = (hidden) (KCLI_X_BASIC_AUTH_USER_INFO)" in done.stderr
    assert b"schema.registry.url = http://127.0.0.1" in done.stderr
    assert b"geheim" not in done.stderr
    assert pairs(cluster) == [(None, SEVEN)]


def test_a_subject_that_is_not_there_is_1_before_any_input(cluster: FakeCluster) -> None:
    with RunningRegistry() as registry:
        for more in ((), ("--dry-run",)):
            done = produce(cluster, "-s", "value=avro", *at(registry), *more, stdin=b"{}\n")
            assert done.returncode == 1
            assert b"register=true" in done.stderr
        assert all(asked.startswith("GET") for asked in registry.content.asked)
    assert pairs(cluster) == []


def test_a_schema_is_registered_when_it_is_requested_and_never_by_a_dry_run(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    (tmp_path / "o.avsc").write_text(json.dumps(ORDER))
    with RunningRegistry() as registry:
        avro = ("-s", f"value=avro:file={tmp_path / 'o.avsc'},register=true", *at(registry))
        done = produce(cluster, *avro, "--dry-run", stdin=b'{"id":7}\n')
        ok(done)
        assert b"a schema would be registered" in done.stderr
        assert registry.content.subjects == {}
        ok(produce(cluster, *avro, stdin=b'{"id":7}\n'))
        assert list(registry.content.subjects) == ["t-value"]
        ok(produce(cluster, *avro, "--dry-run", stdin=b'{"id":7}\n'))
    assert pairs(cluster) == [(None, SEVEN)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("consume", "t", "-s", "value=afro"), b"did you mean avro?"),
        (("consume", "t", "-s", "value=avro"), b"no schema registry is named"),
        (("consume", "t", "-s", "json", "-o", "raw"), b"shows bytes as they are"),
        (("produce", "t", "-s", "consumer_offsets"), b"only read"),
        (("produce", "t", "-s", "key=int", "-k", "x"), b"the key of -k cannot be encoded"),
        (("consume", "t", "-X", "schema.registry.ulr=x"), b"did you mean 'schema.registry.url'?"),
        (
            ("consume", "t", "-s", "avro", "-X", "schema.registry.url=http://a:b@h.invalid"),
            b"--allow-plaintext-secrets",
        ),
        (("produce", "t", "-s", "avro:file=/nowhere.avsc"), b"cannot use the schema in /nowhere.avsc"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_usage_errors_exit_with_2(cluster: FakeCluster, arguments: tuple[str, ...], said: bytes) -> None:
    done = kcli(*arguments, bootstrap=cluster.bootstrap)
    assert done.returncode == 2
    assert said in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["consume", "produce"])
def test_a_library_that_is_missing_is_2_and_named_with_its_extra(
    cluster: FakeCluster, registry: RunningRegistry, command: str
) -> None:
    code = "import sys; sys.modules['fastavro'] = None; from kcli.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, command, "t", "-s", "value=avro", *at(registry)],
        input=b"", capture_output=True, check=False, timeout=60, env=environment(cluster.bootstrap),
    )  # fmt: skip
    assert done.returncode == 2
    assert b"pip install 'kcli-kafka[avro]'" in done.stderr


def test_nothing_is_loaded_without_a_serde(cluster: FakeCluster) -> None:
    put(cluster, (None, b"v"))
    code = (
        "import sys\nfrom kcli.__main__ import run\n"
        "run(['consume', 't', '-e', '-o', 'ndjson'])\nsys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment(cluster.bootstrap)
    )
    loaded = set(done.stderr.decode().split())
    assert not {name for name in loaded if name.startswith("kcli.serde")} - {
        "kcli.serde",
        "kcli.serde.registry",
        "kcli.profiles.secret_keys",
    }
    assert "kcli.output.decoding" not in loaded


# --- nothing is lost on the way -------------------------------------------------------------------------------

LONG = b"7" * 4_400
DOCUMENTS = [
    b'{"amt":12345678901234567.89}',
    b'{ "a" : 1.10, "b":[1e400, -0, 1E+05] }',
    b'{"n":' + LONG + b"}",
    b'{"a":1,"a":{"b":2,"b":3}}',
    b'"\\u00e4\\/"',
]


@pytest.mark.parametrize(
    ("out", "back"),
    [
        (("-o", "ndjson", "-s", "value=json"), ("-i", "ndjson")),
        (("-o", "ndjson", "-s", "value=json"), ("-i", "ndjson", "-s", "value=json")),
        (("-o", "csv", "-s", "value=json"), ("-i", "csv")),
        (("-J", "-s", "value=json"), ("-i", "kcat", "-s", "value=json")),
        (("-J",), ("-i", "kcat")),
        (("-o", "ndjson"), ("-i", "ndjson")),
        (("-o", "csv"), ("-i", "csv")),
    ],
)
def test_digits_members_and_missing_times_survive_the_way_through_a_pipe(
    cluster: FakeCluster, out: tuple[str, ...], back: tuple[str, ...]
) -> None:
    rows = [Record("t", 0, n, -1, 0, b"k", value, ()) for n, value in enumerate(DOCUMENTS)]
    cluster.append("t", 0, bytes(batch_of(rows).raw))
    text = ok(consume(cluster, *out))
    ok(kcli("produce", "copy", *back, bootstrap=cluster.bootstrap, stdin=text))
    copies = list(cluster.log("copy", 0).records())
    exact = "-s" not in out or "csv" in out
    assert [one.value for one in copies] == [one if exact else one.replace(b" ", b"") for one in DOCUMENTS]
    assert [one.timestamp for one in copies] == [-1] * len(DOCUMENTS)


def test_what_a_format_cannot_hold_is_bad_input_with_its_line_and_place(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    schema = tmp_path / "s.avsc"
    schema.write_text('{"type":"record","name":"R","fields":[{"name":"amt","type":"double"}]}')
    lines = b'{"amt":1.5}\n{"amt":12345678901234567.89}\n{"amt":1,"amt":2}\n{"amt":' + LONG + b"}\n"
    done = produce(cluster, "-s", f"value=avro:file={schema}", "--failed", str(tmp_path / "f"), stdin=lines)
    assert done.returncode == 6
    failed = [json.loads(line) for line in (tmp_path / "f").read_text().splitlines()]
    assert [(one["line"], one["code"]) for one in failed] == [
        (2, "BAD_INPUT"),
        (3, "BAD_INPUT"),
        (4, "BAD_INPUT"),
    ]
    assert (
        "amt: it has more digits than a double keeps, which would be 1.2345678901234568e+16"
        in failed[0]["reason"]
    )
    assert "the object has the member 'amt' a second time at character 10" in failed[1]["reason"]
    assert "amt: it is too large" in failed[2]["reason"]
    assert len(pairs(cluster)) == 1
