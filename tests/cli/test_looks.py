"""What only a terminal gets: marks of silence, folded notes, the format of the profile. A pipe gets whole lines."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.core import Producer
from kcli.core.types import ProducerRecord
from tests.fake.cluster import FakeCluster
from tests.run import KCLI, environment, kcli_process

pexpect = pytest.importorskip("pexpect")

QUICK = (
    "import runpy, sys; import kcli.output.gaps as gaps; gaps.SHORTEST = 0.3; "
    "sys.argv[0] = 'kcli'; runpy.run_module('kcli', run_name='__main__')"
)
"""kcli with silences that a test can wait for."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(1, topics={"orders": 1}) as found:
        yield found


def send(cluster: FakeCluster, *values: bytes) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for value in values:
            producer.send(ProducerRecord("orders", value=value))


def on_terminal(cluster: FakeCluster, *arguments: str, columns: int = 100, **more: str) -> Any:
    environ = environment(cluster.bootstrap, TERM="xterm", NO_COLOR="1", **more)
    command = [KCLI[0], "-c", QUICK, *arguments]
    return pexpect.spawn(
        command[0], command[1:], env=environ, encoding="utf-8", timeout=120, dimensions=(24, columns)
    )


@pytest.mark.parametrize("form", ["value", "pretty", "table", "hex"])
def test_a_silence_is_marked_on_a_terminal(cluster: FakeCluster, form: str) -> None:
    send(cluster, b"one")
    child = on_terminal(cluster, "consume", "orders", "-o", form, "-n", "2")
    child.expect("one")
    with pytest.raises(pexpect.TIMEOUT):
        child.expect("later", timeout=0.6)
    send(cluster, b"two")
    child.expect(r"── \ds later, \d\d:\d\d:\d\d ──\r\n")
    child.expect("two")
    child.expect(pexpect.EOF)
    child.close()


@pytest.mark.parametrize(
    "arguments", [("-o", "ndjson"), ("-o", "csv"), ("-f", "%v\n"), ("-D", ";"), ("-q",), ("--raw",)]
)
def test_no_silence_is_marked_in_what_programs_read(cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    send(cluster, b"one")
    child = on_terminal(cluster, "consume", "orders", "-n", "2", *arguments)
    child.expect("one")
    with pytest.raises(pexpect.TIMEOUT):
        child.expect("two", timeout=0.6)
    send(cluster, b"two")
    child.expect("two")
    assert "later" not in child.before + child.read()
    child.close()


def profiles(tmp_path: Path, cluster: FakeCluster) -> dict[str, str]:
    config = tmp_path / "kcli" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        f'[profiles.dev]\nbootstrap.servers = "{cluster.bootstrap}"\nrecord_format = "pretty"\n'
        f'[profiles.odd]\nbootstrap.servers = "{cluster.bootstrap}"\nrecord_format = "prety"\n'
    )
    return {"XDG_CONFIG_HOME": str(tmp_path), "KCLI_BOOTSTRAP_SERVER": "", "KCLI_PROFILE": "dev"}


def test_a_profile_chooses_the_format_of_a_terminal(cluster: FakeCluster, tmp_path: Path) -> None:
    send(cluster, b'{"id": 1}')
    more = profiles(tmp_path, cluster)

    def shown(*arguments: str) -> str:
        child = on_terminal(cluster, "consume", "orders", "-e", "-q", *arguments, **more)
        text: str = child.read()
        child.close()
        return text

    assert "orders-0@0" in shown()
    assert '  value  {"id": 1}' in shown()
    assert shown("-o", "value") == '{"id": 1}\r\n'
    assert shown("-f", "%o\n") == "0\r\n"
    assert shown("-D", ";") == '{"id": 1};'
    assert shown("--select", "value.id").splitlines()[-1].strip() == "1"
    assert shown("--count") == "1\r\n"
    assert "it must be one of value, pretty, table, ndjson, hex" in shown("--profile", "odd")
    done = kcli_process("consume", "orders", "-e", bootstrap="", **more)  # type: ignore[arg-type]
    assert done.stdout == b'{"id": 1}\n'


@pytest.mark.parametrize("columns", [30, 40])
def test_long_notes_and_errors_are_folded_on_a_terminal_only(cluster: FakeCluster, columns: int) -> None:
    words = ("consume", "orderz", "-e", "--timeout", "3s")
    child = on_terminal(cluster, *words, columns=columns)
    shown = child.read().replace("\r\n", "\n")
    child.close()
    lines = shown.splitlines()
    assert all(len(line) <= columns for line in lines)
    done = kcli_process(*words, bootstrap=cluster.bootstrap).stderr.decode()
    assert len(done.splitlines()) <= 3 < len(lines)
    assert re.sub(r"\s+", " ", shown) == re.sub(r"\s+", " ", done)
