"""A missing permission in an error: what lacks, and the command that grants it."""

import ast
from pathlib import Path

import pytest

from kcli.core import admin
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
    assert error.do == f"have it granted: `kcli acls create --principal User:NAME --operation {grant}`"
    assert error.exit_code == 4


def test_of_several_permissions_the_code_says_which_is_missing() -> None:
    needs = [on_topic("READ", "orders"), on_group("READ", "billing")]
    assert "group billing" in BrokerError(30, "commit of orders-0", needs=needs).why
    assert "topic orders" in BrokerError(29, "commit of orders-0", needs=needs).why


def test_another_code_keeps_its_text() -> None:
    assert BrokerError(7, "x", needs=[on_topic("READ", "t")]).why == BrokerError(7, "x").why


def test_the_dump_of_a_request_is_no_message() -> None:
    dump = "Request Request(processor=2, connectionId=10.0.0.1:9092-10.0.0.2:5000-1, session=Session(User:al"
    error = BrokerError(31, "listing ACLs", message=dump, needs=[on_cluster("DESCRIBE")])
    assert error.why == "CLUSTER_AUTHORIZATION_FAILED (31): no DESCRIBE permission on the cluster"
    assert "processor" not in BrokerError(29, "x", message=dump).why


@pytest.mark.parametrize("path", sorted(Path(admin.__path__[0]).glob("*.py")), ids=lambda path: path.stem)
def test_every_admin_operation_names_the_permission_that_it_needs(path: Path) -> None:
    """An error that is made with a broker's message says what is missing, and how it is granted."""
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("BrokerError", "verdict"):
            given = {word.arg: word.value for word in call.keywords}
            if "message" in given and not isinstance(given["message"], ast.Constant):
                assert "needs" in given, ast.unparse(call)
            assert ast.unparse(call.func) != "verdict" or len(call.args) + len(given) == 4, ast.unparse(call)
