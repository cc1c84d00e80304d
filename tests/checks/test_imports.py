"""Who may import whom, and what start-up may import. The contracts are in ``pyproject.toml``."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from benchmarks._call_limits import PATH
from benchmarks._short_commands import COMMANDS, INPUT, cluster

ROOT = Path(__file__).parents[2]

# What costs time, and what a user who only asks for the version or for help must not pay for.
ON_USE_ONLY = {
    # packages
    *("rich", "textual", "msgspec", "jmespath", "pyspark"),
    # compression and checksums
    *("lz4", "cramjam", "backports", "isal", "crc32c", "zlib", "gzip"),
    # of the standard library; not threading, which click imports
    *("ssl", "socket", "selectors", "asyncio", "json", "logging"),
    # profiles and secrets
    *("tomllib", "tomlkit", "yaml", "keyring", "getpass", "resource"),
}


@pytest.mark.case("S0-1")
def test_import_contracts_are_kept(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    status = lint_imports(cache_dir=".cache/import-linter", no_logo=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def modules_imported_by(*arguments: str) -> set[str]:
    """The names of all modules that a fresh interpreter imports for these arguments."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize("question", ["--version", "--help", "-h"])
def test_startup_imports_click_and_little_else(question):
    imported = modules_imported_by("-m", "kcli", question)
    assert "kcli.cli" in imported
    # What the interpreter imports by itself, for a .pth file say, is not ours to judge.
    packages = {name.partition(".")[0] for name in imported - modules_imported_by("-c", "pass")}
    assert packages & ON_USE_ONLY == set()


MODULES_OF_A_MIRROR = 270
# What click brings, or what takes long to make and has a part that does as well (decision 0137).
NEVER = {
    *("dataclasses", "pathlib", "random", "selectors", "signal", "socket", "ssl"),
    *("tempfile", "logging", "json", "msgspec"),
}


def test_short_commands_make_no_more_than_their_limits_say(tmp_path):
    allowed = tomllib.loads(PATH.read_text())["started"]
    assert set(allowed) == set(COMMANDS)
    report = tmp_path / "counts.json"
    with cluster() as bootstrap:
        for name, words in COMMANDS.items():
            argv = [sys.executable, "-m", "benchmarks._started", str(report), "-b", bootstrap, *words]
            subprocess.run(argv, check=True, input=INPUT, stdout=subprocess.DEVNULL, cwd=ROOT)
            made = json.loads(report.read_text())
            for what, limit in allowed[name].items():
                assert made[what] <= limit, f"{name}: {made[what]} {what}, the limit is {limit}"
                assert made[what] >= 0.9 * limit, f"{name}: {made[what]} {what}: lower the limit of {limit}"


def test_short_commands_load_no_slow_modules():
    with cluster() as bootstrap:
        for name, words in COMMANDS.items():
            if name.startswith("-"):
                continue
            code = "import sys, kcli.__main__ as m; code = m.run(sys.argv[1:]); print(*sys.modules); sys.exit(code)"
            argv = [sys.executable, "-c", code, "-b", bootstrap, *words]
            done = subprocess.run(argv, check=True, input=INPUT, stdout=subprocess.PIPE, cwd=ROOT)
            loaded = set(done.stdout.decode().split())
            assert loaded & NEVER == set(), name


NOT_OF_A_MIRROR = (
    # what syncs ACLs or groups, compares, follows a source, serves metrics, keeps a file, or asks
    *("kcli.core.admin.acls", "kcli.flows.mirror.acls.plan", "kcli.flows.mirror.acls.changes"),
    *(
        "kcli.flows.mirror.proof.compare",
        "kcli.flows.mirror.groups.sync",
        "kcli.flows.mirror.follow.discovery",
    ),
    *("kcli.flows.mirror.copy.exactly_once", "kcli.flows.topics.delete", "kcli.flows.journal"),
    *("kcli.exporter.metric", "kcli.flows.mirror.figures", "kcli.flows.produce.checkpoint"),
    *("kcli.flows.configs.units", "dataclasses", "pathlib", "hashlib", "json", "ssl"),
)


def test_a_mirror_loads_only_what_it_does():
    code = "import sys, kcli.__main__ as m; code = m.run(sys.argv[1:]); print(*sys.modules); sys.exit(code)"
    with cluster() as bootstrap:
        words = [
            "mirror",
            "--from",
            bootstrap,
            "--to",
            bootstrap,
            "-t",
            "orders",
            "--map-topic",
            "orders=copy",
        ]
        argv = [sys.executable, "-c", code, *words, "--until-caught-up", "-q", "-o", "tsv"]
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    loaded = set(done.stdout.decode().split())
    assert "kcli.flows.mirror.copy.loop" in loaded
    assert loaded & set(NOT_OF_A_MIRROR) == set()
    ours = sum(name.partition(".")[0] == "kcli" for name in loaded)
    assert ours <= MODULES_OF_A_MIRROR, f"{ours} modules of kcli"


@pytest.mark.case("S0-1")
def test_importing_the_core_costs_nothing():
    imported = modules_imported_by("-c", "import kcli.core")
    ours = {name for name in imported if name.startswith("kcli")}
    assert ours == {"kcli", "kcli.core", "kcli.core.version"}


def test_a_command_without_profiles_and_secrets_loads_nothing_for_them(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("KCLI_TIMEOUT", "100ms")
    code = "import sys; from kcli.__main__ import run; sys.exit(run(['topics', 'list', '-b', '127.0.0.1:1']) != 3)"
    imported = modules_imported_by("-c", code)
    assert "kcli.profiles.resolve" in imported
    unwanted = {"tomllib", "tomlkit", "yaml", "keyring", "getpass", "resource", "kcli.profiles.config_file"}
    assert imported & unwanted == set()


def test_arrow_data_are_sent_without_a_library_of_arrow():
    imported = modules_imported_by("-c", "import kcli.core.producer.column_submission")
    packages = {name.partition(".")[0] for name in imported}
    assert "ctypes" in packages
    assert packages & {"pyarrow", "numpy", "pandas", "polars", "duckdb", "pyspark"} == set()


def test_producers_that_send_no_arrow_data_do_not_pay_for_it():
    imported = modules_imported_by("-c", "import kcli.core.producer.producer")
    assert not {name for name in imported if name == "ctypes" or name.startswith("kcli.core.arrow")}


def test_only_the_pipeline_imports_spark_and_arrow():
    """Every module but those of the pipeline, kcli.spark and the rows of exports; its commands, too, whose help needs
    none of them.
    """
    code = """
import importlib, pkgutil, sys, kcli
def ours(name):
    return (
        name.startswith("kcli.pipeline.")
        or name in ("kcli.spark", "kcli.frames.export_frame")
        or name.endswith("__main__")
    )
for found in pkgutil.walk_packages(kcli.__path__, "kcli.", onerror=lambda name: None):
    if not ours(found.name):
        try:
            importlib.import_module(found.name)
        except ImportError:  # the library of an extra
            pass
print(*sorted({"pyspark", "py4j", "pyarrow", "pandas", "numpy"} & sys.modules.keys()))
print("kcli.commands.consume" in sys.modules, "kcli.commands.pipeline.doctor" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "\nTrue True\n"


def test_the_live_screen_loads_no_openssl():
    """It takes memory that only connections over TLS need, which load it when they are made."""
    load = (
        "import sys; from kcli.commands.top.run import _load_asyncio; _load_asyncio()\n"
        "import kcli.commands.top.app, kcli.tui.run\n"
        "assert not {'ssl', '_ssl', 'msgspec'} & sys.modules.keys()\n"
        "import ssl; ssl.create_default_context()"
    )
    assert "asyncio" in modules_imported_by("-c", load)
