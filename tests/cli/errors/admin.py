"""Rows of errors of the commands that read and change a cluster's topics, groups, users and the like. Not a test."""

from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from tests.cli.errors.row import Row, silent

NOT_THERE = [
    Row("consume zzzzzzz -e", 1, "zzzzzzz does not exist", "of that name",
        "check the topic name; `kcli topics list` lists the topics"),
    Row("groups describe zzzzzzz", 1, "zzzzzzz does not exist", "of that name", "`kcli groups list` lists the groups"),
    Row("perf produce -t nope --num-records 1", 1, "nope does not exist", "",
        "`kcli topics create nope --partitions N` creates it"),
    Row("configs alter topics orders --set zzzzz=1", 2, "no configuration key", "nothing was changed",
        "`kcli configs describe topics orders --all` lists the keys"),
    Row("configs describe brokers 9", 1, "no broker 9", "it has 1", "`kcli cluster describe` lists the brokers"),
    Row("reassign plan --brokers 9 --topic orders", 1, "broker 9 is not alive", "the brokers are 1",
        "`kcli cluster describe` lists the brokers; correct --brokers"),
    Row("users list zzz", 1, "user zzz has no SCRAM", "none was set for that name", "`kcli users list` shows the credentials"),
    Row("txn describe zzz", 1, "transactional id zzz", "no producer", "`kcli txn list` lists the open transactions"),
]  # fmt: skip

STATES = [
    Row("topics create orders --if-not-exists --partitions 9", 7, "topic orders exists, and differs", "as it is",
        "see `kcli topics describe orders`; or leave out the options"),
    Row("topics alter orders --partitions 1", 7, "it cannot have 1", "cannot remove partitions",
        "`kcli consume TOPIC -e -o ndjson | kcli produce NEW -i ndjson`"),
    Row("topics trim compacted --before latest --yes", 7, "are not deleted", "without delete",
        "`kcli topics alter compacted --append cleanup.policy=delete`, with which"),
]  # fmt: skip

UNSURE = [
    Row("topics alter orders --partitions 4 --yes --timeout 500ms", 3, "orders", "",
        "partitions may have been added: `kcli topics describe orders` shows whether", silent(CreatePartitionsRequest, after=1)),
]  # fmt: skip

ROWS = [*NOT_THERE, *STATES, *UNSURE]
