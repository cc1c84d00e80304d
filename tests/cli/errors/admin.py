"""Rows of errors of the commands that read and change a cluster's topics, groups, users and the like. Not a test."""

from kcli.core.protocol.messages.create_partitions import CreatePartitionsRequest
from kcli.core.protocol.messages.create_topics import CreateTopicsRequest
from kcli.core.protocol.messages.describe_acls import DescribeAclsRequest
from kcli.core.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from kcli.core.protocol.messages.list_groups import ListGroupsRequest
from kcli.core.protocol.messages.list_offsets import ListOffsetsRequest
from kcli.core.protocol.messages.produce import ProduceRequest
from tests.cli.errors.row import Row, fails, once, silent
from tests.fake.codes import Code

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
    Row("users list zzz", 1, "user zzz has no SCRAM", "none was set for that name",
        "`kcli users list` shows the credentials"),
    Row("tokens renew zzz --allow-plaintext-secrets --yes", 1, "there is no token zzz", "has expired or was removed",
        "`kcli tokens list` shows the tokens"),
    Row("configs describe client-metrics zzz", 1, "no client metrics zzz", "no key of a subscription",
        "`kcli configs list client-metrics` lists the subscriptions"),
    Row("txn describe zzz", 1, "transactional id zzz", "no producer", "`kcli txn list` lists the open transactions"),
]  # fmt: skip

STATES = [
    Row("topics create orders --if-not-exists --partitions 9", 7, "topic orders exists, and differs", "as it is",
        "see `kcli topics describe orders`; or leave out the options"),
    Row("topics copy compacted orders --settings-only", 7, "topic orders exists, and differs from compacted", "as it is",
        "see `kcli topics describe orders`; or choose another name for the copy"),
    Row("topics copy orders __consumer_offsets", 2, "does not become a copy", "state of brokers",
        "choose another topic; `kcli topics list` lists them"),
    Row("topics copy orders orders", 2, "would be copied to itself", "the same",
        "choose another name: `kcli topics copy orders orders.copy`"),
    Row("topics alter orders --partitions 1", 7, "it cannot have 1", "cannot remove partitions",
        "`kcli consume TOPIC -e -o ndjson | kcli produce NEW -i ndjson`"),
    Row("topics trim __consumer_offsets --before latest --yes", 7, "are not deleted", "",
        "Kafka compacts it by itself; `kcli groups delete-offsets GROUP -t TOPIC` deletes committed offsets",
        lambda here: here.internal("__consumer_offsets")),
    Row("groups rewind mixed --to-group idle --all-topics --yes", 1, "idle", "",
        "`kcli groups describe idle` shows its members",
        lambda here: here.member_of("idle")),
    Row("topics offsets orders --timeout 1s", 3, "", "LEADER_NOT_AVAILABLE",
        "try again in a moment; `kcli topics describe TOPIC` shows leaders and replicas",
        fails(ListOffsetsRequest, Code.LEADER_NOT_AVAILABLE),
        first=lambda here: here.cluster.heal()),
    Row("topics create x --timeout 1s", 3, "", "THROTTLING_QUOTA_EXCEEDED",
        "are created and deleted in a second; `kcli quotas list` shows it", fails(CreateTopicsRequest, 89)),
    Row("produce orders", 4, "not stored", "GROUP_AUTHORIZATION",
        "`kcli acls create --principal User:NAME --operation OPERATION --group GROUP`: read", fails(ProduceRequest, 30)),
    Row("topics offsets orders", 4, "", "",
        "`kcli acls create --principal User:NAME --operation OPERATION --cluster`: describe",
        fails(ListOffsetsRequest, 31)),
    Row("groups list", 4, "", "",
        "`kcli acls create --principal User:NAME --operation OPERATION --topic TOPIC`: read",
        fails(ListGroupsRequest, 29)),
    Row("produce orders", 4, "not stored", "(53)",
        "`kcli acls create --principal User:NAME --operation write --transactional-id ID`", fails(ProduceRequest, 53)),
    Row("mirror check --from {cluster} --to {cluster} --job zzz", 1, "mirror job zzz of this source", "",
        "`kcli mirror status --to HOST:PORT` lists"),
    Row("mirror status --to {cluster} --job zzz", 1, "mirror job zzz", "", "`kcli mirror status --to HOST:PORT` lists"),
    Row("topics trim compacted --before latest --yes", 7, "are not deleted", "without delete",
        "`kcli topics alter compacted --append cleanup.policy=delete`, with which"),
]  # fmt: skip

UNSURE = [
    Row("acls create --principal User:x --operation read --topic orders --yes", 6, "not read back", "",
        "`kcli acls list` shows the ACLs", once(DescribeAclsRequest, Code.CLUSTER_AUTHORIZATION_FAILED, after=2)),
    Row("quotas alter --user ann --set producer_byte_rate=1MB/s --yes", 6, "not read back", "",
        "`kcli quotas list` shows the quotas",
        once(DescribeClientQuotasRequest, Code.CLUSTER_AUTHORIZATION_FAILED, after=2)),
    Row("topics alter orders --partitions 4 --yes --timeout 2s", 3, "orders", "",
        "partitions may have been added: `kcli topics describe orders` shows whether",
        silent(CreatePartitionsRequest, after=2)),
]  # fmt: skip

MENDED = [
    Row("produce made", 1, "made does not exist", "", "`kcli topics create made` creates it",
        lambda here: here.removed_after("made"), mends=True),
]  # fmt: skip

ADDED = [
    Row("topics create orders", 7, "could not create topic orders", "", "use --if-not-exists", adds="--if-not-exists"),
    Row("groups rewind mixed --to 1 --dry-run", 2, "ambiguous", "", "--all-topics", adds="--all-topics"),
    Row("groups delete billing --no-input", 2, "confirmation", "", "--yes", adds="--dry-run --yes"),
    Row("consume orders --offset stored -e", 2, "stored", "", "-g GROUP", adds="-g fresh"),
    Row("consume orders --commit -e", 2, "--commit without -g", "", "-g GROUP", adds="-g fresh"),
    Row("consume cut --offset 1 -e", 5, "out of range", "", "--on-out-of-range", adds="--on-out-of-range earliest"),
    Row("produce orders -X transaction.timeout.ms=9000 --dry-run", 2, "no effect", "", "--transactional-id",
        adds="--transactional-id t"),
    Row("produce orders --transaction-every 9 --dry-run", 2, "", "needs an id", "--transactional-id import-1",
        adds="--transactional-id import-1"),
    Row("produce payments --partitioner manual --dry-run", 2, "without partitions", "", "-p N", adds="-p 0"),
    Row("groups import {dir}/one.csv --dry-run", 2, "does not name its group", "", "--group", adds="--group fresh"),
    Row("reassign cancel", 2, "what is to be cancelled", "", "write --topic TOPIC, or --all", adds="--all"),
]  # fmt: skip

ROWS = [*MENDED, *ADDED, *NOT_THERE, *STATES, *UNSURE]
