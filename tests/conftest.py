"""What every suite gets: options to choose a Kafka, folders of its own, the cluster fixtures, the header.

The XDG folders point into a temporary folder for the whole run, so that no test sees or stops a sandbox, profile
or journal of the developer. The cache of Kafka's jars stays where it is.
"""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests import kafka as kafka_module
from tests.kafka import Kafka, one_node, three_nodes
from tests.scheduling import ClusterFirst, rank

if TYPE_CHECKING:
    from tests.secure_kafka import SecureKafka

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(__file__).parents[1] / ".cache/hypothesis"))

# Two shared cores keep no deadlines. What 20 examples do not find is looked for by `make fuzz`, among a thousand; a test
# has no number of its own, so that both hold for it.
hypothesis.settings.register_profile("kcli", deadline=None, max_examples=20)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1_000)
hypothesis.settings.load_profile("kcli")

_FOLDERS = pytest.StashKey[Path]()

FIXTURES = {"kafka", "kafka3", "secure_kafka", "spark"}
"""Those that are brokers, or a session of Spark."""
ON_REAL_BROKERS = (
    "tests/chaos",
    "tests/fake/test_like_a_real_broker.py",
    "tests/integration",
    "tests/pipeline",
    "tests/proxy",
)
"""Where all tests with the mark ``integration`` are: a run of these alone reads no other file."""
ON_NOTHING_ELSE = "tests/integration"
"""Where no others are: a run without them does not read it."""
COMPUTING = ("tests/checks", "tests/parity", "tests/protocol", "tests/unit")
"""Where tests only compute: all of them have the mark ``computing``, and no others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka")
    group.addoption(
        "--kafka",
        choices=("sandbox", "docker"),
        default="sandbox",
        help="where the broker of integration tests comes from; KCLI_TEST_BOOTSTRAP wins over it",
    )
    group.addoption("--kafka-version", metavar="X.Y.Z", help="the version of that broker")


def pytest_configure(config: pytest.Config) -> None:
    if (
        signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ):  # under nohup: the commands of the tests would inherit that
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    _use_own_folders(config)
    # The default, 700, looks at all that tests have just made again and again: a tenth of the CPU of a run. Commands in
    # processes of their own have the default.
    gc.set_threshold(20_000, 20, 100)
    # A run in the background ignores SIGINT, and so would every process that it starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of a broker as an integration test; those of the cluster come first, then long ones.

    Those that only compute are marked too.
    """
    for item in items:
        where = _below_root(item.path)
        if FIXTURES & _fixtures_of(item) or where.startswith(ON_NOTHING_ELSE):
            item.add_marker("integration")
        if where.startswith(COMPUTING):
            item.add_marker("computing")
    items.sort(key=lambda item: rank(item.path, "kafka3" in _fixtures_of(item)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Ours in place of `--dist loadfile`."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return ClusterFirst(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that have nothing of what ``-m`` chooses, in the three runs of ``make test``."""
    if not collection_path.name.startswith("test_") or collection_path.is_dir():
        return None
    expression, where = str(config.getoption("markexpr")), _below_root(collection_path)
    if " or " in expression:
        return None
    words = expression.split(" and ")
    wanted = not (
        ("integration" in words and not where.startswith(ON_REAL_BROKERS))
        or ("not integration" in words and where.startswith(ON_NOTHING_ELSE))
        or ("computing" in words and not where.startswith(COMPUTING))
        or ("not computing" in words and where.startswith(COMPUTING))
    )
    return None if wanted else True


@cache  # thousands of tests are in hundreds of files
def _below_root(path: Path) -> str:
    return path.relative_to(Path(__file__).parents[1]).as_posix()


def pytest_collection_finish() -> None:
    """What was collected stays until the end: no later collection of garbage searches it."""
    gc.collect()
    gc.freeze()


def _fixtures_of(item: pytest.Item) -> set[str]:
    """The fixtures that a test asks for. An argument that is only a parameter may have the name of one."""
    parameters = (
        item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    )
    return set(getattr(item, "fixturenames", ())) - set(parameters)


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_FOLDERS, None)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"{name}: {text(config)}" for name, text in kafka_module.HEADER]


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """One broker for the whole run, started when the first test asks for it."""
    with one_node(pytestconfig) as found:
        yield found


@pytest.fixture(scope="session")
def kafka3(pytestconfig: pytest.Config) -> Iterator[Kafka]:
    """Three brokers for the whole run. A test that breaks a node mends it before it ends."""
    with three_nodes(pytestconfig) as found:
        yield found


@pytest.fixture(scope="session")
def secure_kafka() -> Iterator["SecureKafka"]:
    """One secure broker for the whole run. Each test has topics, groups and ACLs of its own."""
    from tests.secure_kafka import secure_node  # loads confluent-kafka and cryptography

    with secure_node() as found:
        yield found


@pytest.fixture
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A state folder of this test alone: it sees no sandbox but its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def _use_own_folders(config: pytest.Config) -> None:
    from kcli.sandbox.paths import cache_root

    os.environ["KCLI_CACHE"] = str(cache_root().resolve())
    folder = config.stash[_FOLDERS] = Path(tempfile.mkdtemp(prefix="kcli-tests-"))
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
