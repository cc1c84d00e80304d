"""Every line of NDJSON says of what kind it is, and the kinds are those of the documentation."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kcli.core.clock import wall_ms
from kcli.core.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kcli.core.types import OffsetAndMetadata, Record, TopicPartition
from kcli.tui.screens.brokers import Brokers
from kcli.tui.screens.events import Events
from kcli.tui.screens.group_config import GroupConfig
from kcli.tui.screens.group_members import GroupMembers
from kcli.tui.screens.group_partitions import GroupPartitions
from kcli.tui.screens.groups import Groups
from kcli.tui.screens.topics import Topics
from tests.batches import batch_of
from tests.committing import commit, put
from tests.fake.cluster import FakeCluster
from tests.fake.raw_client import RawClient
from tests.fake.raw_transaction import RawTransaction
from tests.registry.server import RunningRegistry
from tests.run import ROOT, kcli, ok
from tests.segments import batch, epochs, write
from tests.unit.flows.perf.made_up_runs import made_up_item

ACL = "--principal User:a --topic t --operation read"
USER = "u --password-file {password} --allow-plaintext-secrets"
PLAIN = "--allow-plaintext-secrets"
QUOTA = "--user a --set request_percentage=5"
LINES = [
    ("groups list", "GroupList", "Group"),
    ("groups describe g", "GroupDescriptionList", "GroupDescription"),
    ("groups why g", "GroupWhyList", "GroupWhy"),
    ("topics who a", "TopicWhoList", "TopicWho"),
    ("groups lag", "GroupLagList", "GroupLag"),
    ("groups lag --by topic", "GroupLagList", "TopicLag"),
    ("groups lag g", "GroupLagList", "PartitionLag"),
    ("groups lag --by member", "GroupLagList", "MemberLag"),
    ("groups rewind g --to 1 --dry-run", "RewindPlan", "RewindPlanItem"),
    ("groups rewind g --to 1 --yes", "RewindReport", "RewindReportItem"),
    ("groups rewind --journal", "RewindJournalList", "RewindJournal"),
    ("groups reset-app g --dry-run", "AppResetPlan", "AppResetPlanItem"),
    ("groups reset-app g --yes", "AppResetReport", "AppResetReportItem"),
    ("groups copy g h --yes", "RewindReport", "RewindReportItem"),
    ("groups import {file} --group i --yes", "OffsetImportReport", "OffsetImportReportItem"),
    ("topics create made --if-not-exists --dry-run", "TopicCreatePlan", "TopicCreatePlanItem"),
    ("topics create made --if-not-exists", "TopicCreateReport", "TopicCreateReportItem"),
    ("topics alter a --set retention.ms=5 --dry-run", "TopicAlterPlan", "TopicAlterPlanItem"),
    ("topics alter a --set retention.ms=5 --yes", "TopicAlterReport", "TopicAlterReportItem"),
    ("configs alter topics a --set retention.ms=6 --dry-run", "ConfigAlterPlan", "ConfigAlterPlanItem"),
    ("configs alter topics a --set retention.ms=6 --yes", "ConfigAlterReport", "ConfigAlterReportItem"),
    ("topics trim a --before latest --dry-run", "TopicTrimPlan", "TopicTrimPlanItem"),
    ("topics trim a --before latest --yes", "TopicTrimReport", "TopicTrimReportItem"),
    ("reassign plan --topic moved", "ReassignmentPlan", "ReassignmentPlanItem"),
    ("reassign run {moves} --yes", "ReassignmentReport", "ReassignmentReportItem"),
    ("reassign status {moving}", "ReassignmentList", "Reassignment"),
    ("reassign cancel --all --dry-run", "ReassignmentCancelPlan", "ReassignmentCancelPlanItem"),
    ("elect-leaders --topic a --dry-run", "LeaderElectionPlan", "LeaderElectionPlanItem"),
    ("elect-leaders --topic a --yes", "LeaderElectionReport", "LeaderElectionReportItem"),
    ("doctor --topic t", "DoctorReport", "DoctorFinding"),
    (f"acls create {ACL} --dry-run", "AclCreatePlan", "AclCreatePlanItem"),
    (f"acls create {ACL} --yes", "AclCreateReport", "AclCreateReportItem"),
    ("acls list", "AclList", "Acl"),
    ("acls delete --topic t --dry-run", "AclDeletePlan", "AclDeletePlanItem"),
    (f"acls delete {ACL} --yes", "AclDeleteReport", "AclDeleteReportItem"),
    ("txn list", "TransactionList", "Transaction"),
    ("txn describe writer", "TransactionDescriptionList", "TransactionDescription"),
    ("txn describe --topic t", "PartitionTransactionList", "PartitionTransaction"),
    ("txn abort --topic t --dry-run", "TransactionAbortPlan", "TransactionAbortPlanItem"),
    ("txn abort --topic b --yes", "TransactionAbortReport", "TransactionAbortReportItem"),
    (f"quotas alter {QUOTA} --dry-run", "QuotaAlterPlan", "QuotaAlterPlanItem"),
    (f"quotas alter {QUOTA} --yes", "QuotaAlterReport", "QuotaAlterReportItem"),
    ("quotas list", "QuotaList", "Quota"),
    ("export topics", "ResourceList", "Resource"),
    ("diff {topic}", "ClusterDiff", "ResourceDifference"),
    ("apply {applied} --dry-run", "ApplyPlan", "ApplyPlanItem"),
    ("apply {applied} --yes", "ApplyReport", "ApplyReportItem"),
    (f"users set {USER} --dry-run", "UserSetPlan", "UserSetPlanItem"),
    (f"users set {USER} --yes", "UserSetReport", "UserSetReportItem"),
    ("users list", "UserList", "User"),
    ("users delete u --dry-run", "UserDeletePlan", "UserDeletePlanItem"),
    (f"tokens create --hmac-file {{hmac}} {PLAIN} --dry-run", "TokenCreatePlan", "TokenCreatePlanItem"),
    (f"tokens create --hmac-file {{hmac}} {PLAIN} --yes", "TokenCreateReport", "TokenCreateReportItem"),
    (f"tokens list {PLAIN}", "TokenList", "Token"),
    (f"tokens renew known --for 1h {PLAIN} --dry-run", "TokenRenewPlan", "TokenRenewPlanItem"),
    (f"tokens renew known --for 1h {PLAIN} --yes", "TokenRenewReport", "TokenRenewReportItem"),
    (f"tokens expire known --in 2h {PLAIN} --dry-run", "TokenExpirePlan", "TokenExpirePlanItem"),
    (f"tokens expire known --in 2h {PLAIN} --yes", "TokenExpireReport", "TokenExpireReportItem"),
    (
        "configs alter client-metrics m --set interval.ms=5s --yes",
        "ConfigAlterReport",
        "ConfigAlterReportItem",
    ),
    ("brokers list", "BrokerList", "Broker"),
    ("brokers describe 1", "BrokerDescriptionList", "BrokerDescription"),
    ("brokers api-versions", "ApiVersionList", "ApiVersion"),
    ("brokers unregister 9 --dry-run", "BrokerUnregisterPlan", "BrokerUnregisterPlanItem"),
    ("brokers unregister 9 --yes", "BrokerUnregisterReport", "BrokerUnregisterReportItem"),
    ("features list", "FeatureList", "Feature"),
    (
        "features downgrade --feature transaction.version=1 --dry-run",
        "FeatureDowngradePlan",
        "FeatureDowngradePlanItem",
    ),
    (
        "features downgrade --feature transaction.version=1 --yes",
        "FeatureDowngradeReport",
        "FeatureDowngradeReportItem",
    ),
    (
        "features upgrade --feature transaction.version=2 --dry-run",
        "FeatureUpgradePlan",
        "FeatureUpgradePlanItem",
    ),
    (
        "features upgrade --feature transaction.version=2 --yes",
        "FeatureUpgradeReport",
        "FeatureUpgradeReportItem",
    ),
    ("quorum describe", "Quorum", "QuorumReplica"),
    ("quorum add-controller 8 --endpoint h:9093 --dry-run", "ControllerAddPlan", "ControllerAddPlanItem"),
    ("quorum add-controller 8 --endpoint h:9093 --yes", "ControllerAddReport", "ControllerAddReportItem"),
    ("quorum remove-controller 8 --dry-run", "ControllerRemovePlan", "ControllerRemovePlanItem"),
    ("quorum remove-controller 8 --yes", "ControllerRemoveReport", "ControllerRemoveReportItem"),
    ("configs list client-metrics", "ConfigResourceList", "ConfigResource"),
    ("consume t --dry-run", "ConsumePlan", "ConsumePlan"),
    ("produce t --dry-run", "ProducePlan", "ProducePlan"),
    ("perf produce -t t --num-records 5 --record-size 50", "PerfReport", "PerfReport"),
    ("perf consume -t t", "PerfReport", "PerfReport"),
    ("perf compare {run} {run}", "PerfComparison", "PerfDifference"),
    ("segments list {log}", "StoredPartitionList", "StoredPartition"),
    ("segments list {log} --by topic", "StoredTopicList", "StoredTopic"),
    ("segments list {log} --by segment", "SegmentList", "Segment"),
    ("segments describe {log}", "StoredPartitionDescriptionList", "StoredPartitionDescription"),
    ("segments dump {log}", "SegmentBatchList", "SegmentBatch"),
    ("segments dump {log} --records", "SegmentRecordList", "SegmentRecord"),
    ("segments dump {log} --indexes", "SegmentEntryList", "SegmentEntry"),
    ("segments verify {log}", "SegmentVerificationList", "SegmentVerification"),
    ("segments verify {log} --compare {replica}", "SegmentComparisonList", "SegmentComparison"),
    ("registry list", "SubjectList", "Subject"),
    ("registry describe s --references", "SubjectDescriptionList", "SubjectDescription"),
    ("registry check s {schema}", "SchemaCheckList", "SchemaCheck"),
    ("registry usage s", "SubjectUsageList", "SubjectUsage"),
    ("registry export", "RegistrySchemaList", "RegistrySchema"),
    ("registry config s", "RegistryConfigList", "RegistryConfig"),
    ("registry mode s", "RegistryModeList", "RegistryMode"),
    ("registry config s --set FULL --dry-run", "RegistryConfigAlterPlan", "RegistryConfigAlterPlanItem"),
    ("registry config s --set BACKWARD --yes", "RegistryConfigAlterReport", "RegistryConfigAlterReportItem"),
    ("registry mode s --set READONLY --dry-run", "RegistryModeAlterPlan", "RegistryModeAlterPlanItem"),
    ("registry mode s --set READWRITE --yes", "RegistryModeAlterReport", "RegistryModeAlterReportItem"),
    ("registry register s {schema} --dry-run", "SchemaRegisterPlan", "SchemaRegisterPlanItem"),
    ("registry register s {schema} --yes", "SchemaRegisterReport", "SchemaRegisterReportItem"),
    ("registry delete s:1 --dry-run", "SchemaDeletePlan", "SchemaDeletePlanItem"),
    ("registry delete gone --yes", "SchemaDeleteReport", "SchemaDeleteReportItem"),
    ("registry undelete gone --dry-run", "SchemaUndeletePlan", "SchemaUndeletePlanItem"),
    ("registry undelete gone --yes", "SchemaUndeleteReport", "SchemaUndeleteReportItem"),
    ("registry import {exported} --dry-run", "SchemaImportPlan", "SchemaImportPlanItem"),
    ("registry import {exported} --yes", "SchemaImportReport", "SchemaImportReportItem"),
]
EXPORTED = {
    "kind": "RegistrySchema", "subject": "imported", "version": 3, "id": 30, "type": "avro", "references": [],
    "schema": '"bytes"', "compatibility": "NONE",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with (
        FakeCluster(2, topics={"t": 1, "a": 1, "b": 1, "__consumer_offsets": 1}) as made,
        RawClient(made.address(1)) as client,
    ):
        put(made, "t", 0)
        put(made, "a", 0)
        for name, topic in (("writer", "t"), ("other", "b")):
            made.move_coordinator("transaction", name, 1)
            transaction = RawTransaction(client, name, topic=topic)
            assert transaction.init() == 0
            assert transaction.produce(0, b"open") == 0
        commit(made, "g", {TopicPartition("t", 0): OffsetAndMetadata(5)})
        made.move_leader("a", 0, 2)
        made.create_topic("moved", replicas={0: [1], 1: [1]})
        made.create_topic("moving", replicas={0: [1]})
        made.settings.hold_reassignments = True
        row = ReassignablePartition(partition_index=0, replicas=[2])
        moving = ReassignableTopic(name="moving", partitions=[row])
        client.ask(AlterPartitionReassignmentsRequest(topics=[moving]), 0)
        made.settings.hold_reassignments = False
        made.tokens.add(wall_ms(), "ANONYMOUS", token_id="known")
        made.quorum.make_dynamic(made.node_ids, [8])
        yield made


@pytest.fixture
def registry() -> Iterator[str]:
    with RunningRegistry() as running:
        for subject in ("s", "gone"):
            running.content.register(subject, {"schema": '"int"'})
        yield running.url


def test_every_line_and_document_has_its_kind(cluster: FakeCluster, registry: str, tmp_path: Path) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text("t,0,3\n")
    files = {"file": file, "password": tmp_path / "password", "run": tmp_path / "run.json"}
    files["hmac"], files["topic"] = tmp_path / "hmac", tmp_path / "topic.yaml"
    files["topic"].write_text(
        "{apiVersion: kcli/v1, kind: Topic, metadata: {name: t}, spec: {partitions: 1}}"
    )
    files["applied"] = tmp_path / "applied.yaml"
    files["applied"].write_text(
        "{apiVersion: kcli/v1, kind: Topic, metadata: {name: a}, spec: {config: {retention.ms: 9}}}"
    )
    files["log"] = tmp_path / "log"
    write(files["log"] / "t-0", [batch(2 * number, [b"a", b"b"]) for number in range(3)])
    (files["log"] / "t-0" / "leader-epoch-checkpoint").write_bytes(epochs([(0, 0)]))
    files["replica"] = shutil.copytree(files["log"], tmp_path / "replica")
    files["schema"], files["exported"] = tmp_path / "s.avsc", tmp_path / "exported.ndjson"
    files["schema"].write_text('"int"')
    files["exported"].write_text(json.dumps(EXPORTED))
    rows = [Record("b", 0, 0, wall_ms(), 0, None, b"\0\0\0\0\1x", ())]
    cluster.append("b", 0, bytes(batch_of(rows).raw))
    files["run"].write_text(json.dumps({"kind": "PerfReport", **made_up_item(Random(1), intervals=50)}))
    files["password"].write_text("x")
    files["password"].chmod(0o600)
    for name, broker in (("moves", "moved"), ("moving", "moving")):
        files[name] = tmp_path / f"{name}.json"
        row = {"topic": broker, "partition": 0, "replicas": [1]}
        files[name].write_text(json.dumps({"version": 1, "partitions": [row]}))

    def run(line: str, form: str) -> str:
        files["hmac"].unlink(missing_ok=True)
        cluster.stopped_brokers.add(9)
        words = line.format(**files).split()
        settings = {"XDG_STATE_HOME": str(tmp_path), "KCLI_X_SCHEMA_REGISTRY_URL": registry}
        done = kcli(*words, "-o", form, bootstrap=cluster.bootstrap, stdin=b"", **settings)
        return ok(done).decode()

    for line, _document, item in LINES:
        assert {json.loads(text)["kind"] for text in run(line, "ndjson").splitlines()} == {item}, line
    for line, document, _item in LINES:
        if "copy" not in line:  # g is copied already
            assert json.loads(run(line, "json"))["kind"] == document
    assert json.loads(run("groups export g", "ndjson"))["kind"] == "OffsetExport"
    (cancelled,) = run("reassign cancel --all --yes", "ndjson").splitlines()  # only once
    assert json.loads(cancelled)["kind"] == "ReassignmentCancelReportItem"
    (deleted,) = run("users delete u --yes", "ndjson").splitlines()  # likewise
    assert json.loads(deleted)["kind"] == "UserDeleteReportItem"
    run(f"users set {USER} --yes", "json")
    assert json.loads(run("users delete u --yes", "json"))["kind"] == "UserDeleteReport"
    assert json.loads(run("reassign cancel --all", "json"))["kind"] == "ReassignmentCancelReport"


def test_the_kinds_are_documented() -> None:
    section = (ROOT / "docs/groups.md").read_text().partition("## Kinds")[2]
    named = set(
        re.findall(
            r"\b[A-Z][a-z]+[A-Z]\w+|\b(?:Acl|Broker|Feature|Group|Quorum|Quota|Reassignment|Resource|Segment|Subject|Token|Transaction|User)\b",
            section,
        )
    )
    deletions = (
        "OffsetImport",
        "GroupDelete",
        "OffsetDelete",
        "MemberRemove",
        "OffsetRestore",
        "TopicRestore",
        "BrokerDrain",
        "ReplicaRestore",
        "LogDirMove",
        "LogDirRestore",
        "ApplyUndo",
    )
    made = {kind + ending for kind in deletions for ending in ("Plan", "PlanItem", "Report", "ReportItem")}
    assert named == {kind for _, *kinds in LINES for kind in kinds} | made | {
        "ClusterCheck",
        "ClusterCheckList",
        "LagSample",
        "MonitorReading",
        "OffsetExport",
        "ReassignmentCancelReport",
        "ReassignmentCancelReportItem",
        "RestartStep",
        "RestartStepList",
        "UndoJournal",
        "UndoJournalList",
        "UserDeleteReport",
        "UserDeleteReportItem",
        "VerdictChange",
    } | {kind for item in _exported() for kind in (item, f"{item}List")}


def _exported() -> set[str]:
    """The kinds that `kcli top` exports."""
    screens = (Groups, Topics, Brokers, Events, GroupPartitions, GroupMembers, GroupConfig)
    return {screen.ITEM for screen in screens}
