"""Who an instance of a job is, as its client id says."""

import os

import pytest

from kcli.flows.mirror.job.lease import Instance, read_instance, this_instance


@pytest.mark.parametrize(
    "instance",
    [
        Instance("host", 7, 1_790_000_000_000, "abc", "55"),
        Instance("a.b.example.com", 1, 0),
        Instance("", 2**22, 5, "00a", "0010"),
    ],
)
def test_the_client_id_says_who_an_instance_is(instance: Instance) -> None:
    assert read_instance(instance.client_id) == instance


@pytest.mark.parametrize(
    "client_id", ["", "kcli", "kcli-mirror.1.2.3", "kcli-mirror.x.0.0.0.h", "other.1.0.1.0.h"]
)
def test_other_clients_are_no_instances(client_id: str) -> None:
    assert read_instance(client_id) is None


def test_a_process_is_dead_only_where_its_pid_can_be_seen() -> None:
    me = this_instance()
    if not me.place:
        pytest.skip("without /proc no process is known to be dead")
    assert me.pid == os.getpid()
    assert not me.is_dead
    assert me._replace(start=me.start + "1").is_dead, "the pid was used again"
    gone = me._replace(pid=2**22 + 1)
    assert gone.is_dead
    assert not gone._replace(place="elsewhere").is_dead
    assert not gone._replace(start="").is_dead
