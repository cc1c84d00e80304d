"""A missing permission in an error: what lacks, and the command that grants it."""

import pytest

from kcli.core.errors import BrokerError
from kcli.core.permissions import Permission, on_cluster, on_group, on_topic, on_transactional_id


@pytest.mark.case("S7")
@pytest.mark.parametrize(
    ("permission", "lack", "grant"),
    [
        (on_topic("READ", "orders"), "no READ permission on topic orders", "read --topic orders"),
        (on_group("DELETE", "a b"), "no DELETE permission on group a b", "delete --group 'a b'"),
        (on_cluster("DESCRIBE"), "no DESCRIBE permission on the cluster", "describe --cluster"),
        (
            on_transactional_id("tx"),
            "no WRITE permission on transactional id tx",
            "write --transactional-id tx",
        ),
    ],
)
def test_an_error_names_the_operation_and_the_resource(permission: Permission, lack: str, grant: str) -> None:
    error = BrokerError(permission.code, "doing it", needs=[permission])
    assert error.why.endswith(f"({permission.code}): {lack}")
    assert error.do == f"have it granted: kcli acls create --principal User:NAME --operation {grant}"
    assert error.exit_code == 4


def test_of_several_permissions_the_code_says_which_is_missing() -> None:
    needs = [on_topic("READ", "orders"), on_group("READ", "billing")]
    assert "group billing" in BrokerError(30, "commit of orders-0", needs=needs).why
    assert "topic orders" in BrokerError(29, "commit of orders-0", needs=needs).why


def test_another_code_keeps_its_text() -> None:
    assert BrokerError(7, "x", needs=[on_topic("READ", "t")]).why == BrokerError(7, "x").why
