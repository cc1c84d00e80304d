"""What a job carries of a configuration, and what a task makes of it."""

import os
import pickle
from pathlib import Path

import pytest

from kcli.core.errors import ConfigError
from kcli.core.options import ConsumerOptions
from kcli.pipeline.cluster_ref import ClusterRef, cluster_ref
from kcli.profiles.resolve import resolve
from kcli.profiles.sources import SourceFiles, Sources

PASSWORD = "canary-4711"
SASL = ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=ops", "bootstrap.servers=h:9092")


def ref(tmp_path: Path, *pairs: str, file: str = "", environ: dict[str, str] | None = None) -> ClusterRef:
    paths = []
    if file:
        path = tmp_path / "client.properties"
        path.write_text(file)
        path.chmod(0o600)
        paths.append(str(path))
    files = SourceFiles()
    resolved = resolve(
        Sources(
            properties=[*SASL, *pairs],
            files=paths,
            environ=environ or {},
            read_file=files.properties,
            file_state=files.states.get,
            user=os.getuid(),
        )
    )
    return cluster_ref(resolved, tuple(paths), 10)


@pytest.mark.case("K10", "X30")
def test_a_job_contains_no_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    monkeypatch.setenv("KCLI_X_SASL_PASSWORD", PASSWORD)
    for found in (
        ref(tmp_path, f"sasl.password_file={secret}"),
        ref(tmp_path, file=f"sasl.password={PASSWORD}\n"),
        ref(tmp_path, environ={"KCLI_X_SASL_PASSWORD": PASSWORD}),
    ):
        carried = pickle.dumps(found)
        assert PASSWORD.encode() not in carried
        options = pickle.loads(carried).options(ConsumerOptions, client_id="task")
        assert options.sasl_password.reveal() == PASSWORD
        assert (options.bootstrap_servers, options.sasl_username, options.client_id) == (
            "h:9092",
            "ops",
            "task",
        )


@pytest.mark.case("K10")
def test_a_password_on_the_command_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"sasl\.password is on the command line") as caught:
        ref(tmp_path, f"sasl.password={PASSWORD}")
    assert "sasl.password_file" in caught.value.do
    assert PASSWORD not in f"{caught.value}{caught.value.do}"


def test_a_password_that_is_not_known_where_the_task_runs_is_named(tmp_path: Path) -> None:
    found = ref(tmp_path, environ={"KCLI_X_SASL_PASSWORD": PASSWORD})
    with pytest.raises(ConfigError, match=r"sasl\.password is not known on") as caught:
        found.options(ConsumerOptions)
    assert "KCLI_X_SASL_PASSWORD" in caught.value.why
