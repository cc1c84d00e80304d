"""The kinds of lists, and what their items have: a new list needs a row here.

Columns are named by module (below ``kcli``) and name; they are imported when they are needed.
"""

from kcli.core.classes import NamedTuple


class Items(NamedTuple):
    """Items of a list. ``columns``: ``MODULE:NAME``, or several names with ``+``; empty where the schema is a file.
    ``printed_by``: commands, where they are not those of the list.
    """

    kind: str
    meaning: str = ""
    columns: str = ""
    printed_by: str = ""


class Listed(NamedTuple):
    """A list of such items. ``printed_by``: commands, with commas between them. ``head``: columns that are keys of the
    document itself.
    """

    kind: str
    meaning: str
    printed_by: str
    items: tuple[Items, ...]
    head: str = ""


def _list(printed_by: str, meaning: str, item: Items, *, kind: str = "", head: str = "") -> Listed:
    return Listed(kind or f"{item.kind}List", meaning, printed_by, (item,), head)


def _screen(name: str, rows: str, module: str) -> Listed:
    items = Items(name, f"A row of a screen of kcli top: {rows}.", f"tui.{module}:FIELDS")
    return _list("top", f"An export of a screen of kcli top: {rows}.", items)


LISTS = {
    made.kind: made
    for made in (
        _list(
            "acls check",
            "What ACLs allow.",
            Items("AclCheck", "An operation on a resource.", "flows.acls.check:COLUMNS"),
        ),
        _list("acls list", "ACLs: who may do what.", Items("Acl", "An ACL.", "flows.acls.rows:ACL")),
        _list(
            "brokers api-versions",
            "The versions of APIs that brokers offer.",
            Items("ApiVersion", "An API with one range of versions.", "flows.brokers.api_versions:COLUMNS"),
        ),
        _list(
            "brokers describe",
            "Brokers in full.",
            Items("BrokerDescription", "A broker.", "flows.brokers.rows:DESCRIBED+FURTHER"),
        ),
        _list("brokers list", "Brokers.", Items("Broker", "A broker.", "flows.brokers.rows:COLUMNS")),
        _list(
            "cluster check",
            "Whether the cluster is well, and what the stop of brokers would do to it.",
            Items("ClusterCheck", "A check.", "flows.health.rows:COLUMNS+DETAILS"),
            head="flows.health.rows:HEAD",
        ),
        _list(
            "cluster check --watch",
            "The steps of a rolling restart, as they are seen.",
            Items("RestartStep", "What has become of a broker or controller.", "flows.health.rows:STEPS"),
        ),
        _list(
            "cluster describe",
            "The cluster: the only item.",
            Items("ClusterDescription", "A cluster.", "commands.cluster._rows:CLUSTER+FURTHER"),
        ),
        _list(
            "config check",
            "What is wrong with the options of the clients.",
            Items("ConfigProblem", "A problem.", "commands.config._problems:COLUMNS"),
        ),
        _list(
            "config show, profile show",
            "The options of clients that are set.",
            Items("ClientConfig", "An option.", "commands.shared.option_rows:COLUMNS+FURTHER"),
            head="commands.shared.option_rows:HEAD",
        ),
        _list(
            "configs describe",
            "Configuration values of topics, brokers, groups, loggers or client metrics.",
            Items("ConfigValue", "A value.", "commands.configs.describe:WITH_ORIGIN"),
        ),
        _list(
            "configs list",
            "What has a configuration of its own.",
            Items(
                "ConfigResource",
                "A group, or a subscription of client metrics.",
                "commands.configs.list:COLUMNS",
            ),
        ),
        _list(
            "consume --dry-run",
            "Where reading would begin and stop.",
            Items("ConsumePlan", "", "commands.consume.dry_run:COLUMNS"),
            kind="ConsumePlan",
        ),
        _list(
            "consume --count",
            "How many records there are, in all or by fields.",
            Items(
                "RecordCount",
                "A group: its further properties are the fields of --by.",
                "commands.consume.count:COUNTED",
            ),
        ),
        _list("consume -o json", "Records.", Items("Record")),
        _list(
            "diff",
            "What files describe, compared with what the cluster has.",
            Items("ResourceDifference", "A resource.", "commands._diffing:COLUMNS"),
            kind="ClusterDiff",
        ),
        _list(
            "export",
            "What the cluster has, as documents of files.",
            Items("Resource", "A resource.", "commands.export:COLUMNS"),
        ),
        _list(
            "consume --select",
            "Fields of records.",
            Items(
                "RecordFields",
                "A record: its properties are the fields of --select.",
                "commands.consume.fields:SELECTED",
            ),
        ),
        _list(
            "doctor, pipeline doctor",
            "What was checked, step by step.",
            Items("DoctorFinding", "A step.", "commands.shared.findings:FINDING"),
            kind="DoctorReport",
            head="commands.shared.findings:HEAD",
        ),
        _list(
            "features list",
            "The features of the cluster.",
            Items("Feature", "A feature with one range of levels.", "flows.features.rows:COLUMNS"),
            head="flows.features.rows:HEAD",
        ),
        _list(
            "groups describe",
            "Descriptions of groups.",
            Items(
                "GroupDescription",
                "A group with its members and its partitions.",
                "commands.groups._description_rows:STATES+PARTS",
            ),
        ),
        _list(
            "groups why",
            "Why a group is behind.",
            Items("GroupWhy", "A group.", "commands.groups._why_page:GROUP_WHY"),
        ),
        Listed(
            "GroupLagList",
            "The lag of groups.",
            "groups lag",
            (
                Items(
                    "PartitionLag",
                    "The lag of a group in a partition.",
                    "commands.groups._lag_rows:BY_PARTITION+WATCHED",
                    "groups lag GROUP, groups lag --by partition",
                ),
                Items(
                    "TopicLag",
                    "The lag of a group in a topic.",
                    "commands.groups._lag_rows:BY_TOPIC+WATCHED",
                    "groups lag --by topic",
                ),
                Items(
                    "MemberLag",
                    "The lag of a member of a group.",
                    "commands.groups._lag_rows:BY_MEMBER+WATCHED",
                    "groups lag --by member",
                ),
                Items(
                    "GroupLag",
                    "The lag of a group: the sum of its partitions in records, the worst of them in time.",
                    "commands.groups._lag_rows:BY_GROUP+TREND+WATCHED",
                    "groups lag, groups lag --by group",
                ),
            ),
        ),
        _list(
            "groups list",
            "The groups of a cluster.",
            Items("Group", "A group.", "commands.groups._listing:COLUMNS+LAG"),
        ),
        _list(
            "groups rewind --journal",
            "The rewinds that were made from this machine.",
            Items("RewindJournal", "A rewind of a group.", "commands.groups.rewind.journal:JOURNALS+OFFSETS"),
        ),
        Listed(
            "MirrorReport",
            "What was copied.",
            "mirror run",
            (
                Items("MirrorPartition", "A partition.", "commands.mirror.report:COLUMNS"),
                Items(
                    "MirrorGroupOffset",
                    "An offset of a group: a line of ndjson; other documents have them in their groups.",
                    "commands.mirror.report:GROUP_COLUMNS",
                    "mirror run --sync-groups",
                ),
            ),
            "commands.mirror.report:HEAD",
        ),
        _list(
            "mirror run --dry-run, pipeline mirror --dry-run, segments restore --dry-run",
            "What would be copied, or compared.",
            Items("MirrorPlanItem", "A partition.", "commands.shared.copy_plan:COLUMNS"),
            kind="MirrorPlan",
            head="commands.shared.copy_plan:HEAD",
        ),
        Listed(
            "MirrorPromotion",
            "The recovery point of a job that is promoted.",
            "mirror promote",
            (
                Items("PromotedPartition", "A partition of the source.", "commands.mirror.promoting:COLUMNS"),
                Items(
                    "MirrorGroupOffset",
                    "An offset of a group: a line of ndjson; other documents have them in their groups.",
                    "commands.mirror.report:GROUP_COLUMNS",
                    "mirror promote",
                ),
            ),
            "commands.mirror.promoting:HEAD",
        ),
        _list(
            "mirror promote --dry-run",
            "What is known of a job before it is promoted.",
            Items(
                "MirrorPromotionPlanItem",
                "A partition of the source.",
                "commands.mirror.promoting:PLAN_COLUMNS",
            ),
            kind="MirrorPromotionPlan",
            head="commands.mirror.promoting:PLAN_HEAD",
        ),
        Listed(
            "MirrorReversal",
            "What was copied back.",
            "mirror reverse",
            (
                Items(
                    "ReturnedPartition",
                    "A partition of the cluster that is copied from.",
                    "commands.mirror.report:COLUMNS+STRANDED",
                ),
                Items(
                    "MirrorGroupOffset",
                    "An offset of a group: a line of ndjson; other documents have them in their groups.",
                    "commands.mirror.report:GROUP_COLUMNS",
                    "mirror reverse",
                ),
            ),
            "commands.mirror.report:HEAD",
        ),
        _list(
            "mirror reverse --dry-run",
            "What would be copied back.",
            Items(
                "MirrorReversalPlanItem",
                "A partition of the cluster that is copied from.",
                "commands.mirror.returning:PLAN_COLUMNS",
            ),
            kind="MirrorReversalPlan",
            head="commands.mirror.returning:PLAN_HEAD",
        ),
        _list(
            "mirror verify, mirror run --verify-only",
            "What was compared.",
            Items("VerifiedPartition", "A partition.", "commands.mirror.comparing:COLUMNS"),
            kind="MirrorVerification",
            head="commands.mirror.comparing:HEAD",
        ),
        _list(
            "mirror check",
            "Whether a mirror job is as it has to be.",
            Items("MirrorCheckPartition", "A partition of the job.", "commands.mirror.check:COLUMNS"),
            kind="MirrorCheck",
            head="commands.mirror.check:HEAD",
        ),
        _list(
            "mirror status",
            "The mirror jobs of a target.",
            Items("MirrorJob", "A partition of a job.", "commands.mirror.status:COLUMNS"),
        ),
        _list(
            "perf compare",
            "Two runs, or two sets of runs, compared.",
            Items("PerfDifference", "A figure.", "commands.perf.compare:COLUMNS"),
            kind="PerfComparison",
            head="commands.perf.compare:HEAD",
        ),
        _list(
            "perf produce, perf consume, perf e2e",
            "The result of a measurement.",
            Items("PerfReport", "", "commands.perf.result:FIGURES+FURTHER"),
            kind="PerfReport",
        ),
        _list(
            "pipeline export, pipeline import, pipeline mirror, pipeline replay, "
            "pipeline verify, pipeline profile, pipeline perf",
            "The report of a job.",
            Items(
                "PipelinePartition",
                "A partition or a task; which properties it has depends on the job.",
                "commands.pipeline._report_keys:KEYS",
            ),
            kind="PipelineReport",
            head="commands.pipeline._report_keys:HEAD",
        ),
        _list(
            "query, pipeline query",
            "The result of a query.",
            Items(
                "QueryRow",
                "A row: its properties are the columns of the query.",
                "commands.pipeline._report_keys:QUERY_ROW",
            ),
            kind="QueryResult",
            head="commands.pipeline._report_keys:QUERY",
        ),
        _list(
            "produce --dry-run",
            "What would be sent.",
            Items("ProducePlan", "", "commands.produce._documents:PLAN"),
            kind="ProducePlan",
        ),
        _list(
            "produce -o json",
            "What was sent.",
            Items("ProduceReport", "", "commands.produce._documents:REPORT"),
            kind="ProduceReport",
        ),
        _list(
            "profile list",
            "The profiles of this user.",
            Items("Profile", "A profile.", "commands.profile._showing:COLUMNS"),
        ),
        _list(
            "quorum describe",
            "The quorum of the controllers: the replicas of the metadata log.",
            Items("QuorumReplica", "A voter or an observer.", "flows.quorum.rows:COLUMNS+WATCHED"),
            kind="Quorum",
            head="flows.quorum.rows:HEAD",
        ),
        _list("quotas list", "Quotas.", Items("Quota", "A quota: one key.", "commands.quotas.list:COLUMNS")),
        _list(
            "reassign status",
            "The moves that are in progress, or those of a file.",
            Items("Reassignment", "A partition.", "commands.reassign._status:COLUMNS+TARGET"),
        ),
        _list(
            "registry check",
            "Whether a schema is compatible with a subject.",
            Items("SchemaCheck", "A schema.", "flows.registry.check:COLUMNS"),
        ),
        _list(
            "registry config",
            "The compatibility of a subject of a schema registry, or of all.",
            Items("RegistryConfig", "A setting.", "flows.registry.settings:CONFIG"),
        ),
        _list(
            "registry describe",
            "Versions of a subject.",
            Items("SubjectDescription", "A version.", "flows.registry.rows:DESCRIBED"),
        ),
        _list(
            "registry export",
            "Schemas of a registry, each after those to which it refers.",
            Items("RegistrySchema", "A version of a subject.", "flows.registry.exported:COLUMNS"),
        ),
        _list("registry list", "Subjects.", Items("Subject", "A subject.", "flows.registry.rows:SUBJECTS")),
        _list(
            "registry mode",
            "The mode of a subject of a schema registry, or of all.",
            Items("RegistryMode", "A setting.", "flows.registry.settings:MODE"),
        ),
        _list(
            "registry usage",
            "Topics whose last records carry an id of a subject.",
            Items("SubjectUsage", "An id in the keys or values of a topic.", "flows.registry.usage:COLUMNS"),
            head="flows.registry.usage:HEAD",
        ),
        _list(
            "sandbox status, sandbox up",
            "Sandboxes on this machine.",
            Items("SandboxStatus", "", "commands.sandbox._statuses:COLUMNS+FURTHER"),
            kind="SandboxStatus",
        ),
        _list(
            "schema",
            "The kinds that have a schema.",
            Items("Schema", "A kind.", "commands.schema:COLUMNS"),
        ),
        _screen("TopBroker", "brokers", "broker_columns"),
        _screen("TopConfig", "configuration of a group or topic", "config_columns"),
        _screen("TopEvent", "events", "event_columns"),
        _screen("TopGroup", "groups", "group_columns"),
        _screen("TopMember", "members of a group", "member_columns"),
        _screen("TopMirror", "mirror jobs", "mirror_columns"),
        _screen("TopPartition", "partitions of a group", "partition_columns"),
        _screen("TopReader", "groups that read a topic", "reader_columns"),
        _screen("TopReplica", "replicas of the metadata quorum", "quorum_columns"),
        _screen("TopTopic", "topics", "topic_columns"),
        _screen("TopTopicPartition", "partitions of a topic", "topic_partition_columns"),
        _screen("TopTransaction", "open transactions", "transaction_columns"),
        _list(
            "topics describe",
            "Descriptions of topics.",
            Items(
                "TopicDescription", "A topic with its partitions.", "commands.topics._describing:DESCRIPTION"
            ),
        ),
        _list("topics list", "Topics.", Items("Topic", "A topic.", "commands.topics._tables:LIST+SIZES")),
        _list(
            "topics offsets",
            "Offsets of topics: their ends, or with --time those of a time.",
            Items("TopicOffset", "A partition.", "commands.topics._offset_tables:ENDS+TIMES"),
        ),
        _list(
            "topics who",
            "Who writes to topics, who reads them, and who may.",
            Items("TopicWho", "A topic.", "flows.topics.who:WHO"),
        ),
        _list(
            "txn describe --topic",
            "Open transactions of partitions.",
            Items(
                "PartitionTransaction",
                "An open transaction in a partition, or a partition without one.",
                "commands.txn._rows:PARTITION",
            ),
        ),
        _list(
            "txn describe TXN_ID",
            "A transactional id: the only item.",
            Items(
                "TransactionDescription",
                "A transactional id, with the partitions of its transaction.",
                "commands.txn._rows:TRANSACTION",
            ),
        ),
        _list("txn list", "Transactions.", Items("Transaction", "A transaction.", "commands.txn._rows:LIST")),
        _list(
            "undo",
            "The changes made from this machine that can be undone.",
            Items("UndoJournal", "A change that can be undone.", "commands.undo:JOURNALS+ENTRIES"),
        ),
        _list(
            "segments list --by topic",
            "Topics of log directories.",
            Items("StoredTopic", "A topic.", "flows.segments.listing:TOPICS"),
        ),
        _list(
            "segments list",
            "Partitions of log directories.",
            Items("StoredPartition", "A folder of a partition.", "flows.segments.listing:PARTITIONS"),
        ),
        _list(
            "segments list --by segment",
            "Segments of log directories.",
            Items("Segment", "A segment.", "flows.segments.listing:SEGMENTS"),
        ),
        _list(
            "segments describe",
            "Partitions of log directories in full.",
            Items(
                "StoredPartitionDescription",
                "A folder of a partition.",
                "flows.segments.describing:DESCRIBED",
            ),
        ),
        _list(
            "segments dump",
            "Batches of segments.",
            Items("SegmentBatch", "A batch.", "flows.segments.dumping:BATCHES"),
        ),
        _list(
            "segments dump --records",
            "Records of segments.",
            Items("SegmentRecord", "A record.", "flows.segments.dumping:RECORDS"),
        ),
        _list(
            "segments dump --indexes",
            "Entries of indexes, and producers of snapshots.",
            Items("SegmentEntry", "An entry.", "flows.segments.dumping:ENTRIES"),
        ),
        _list(
            "segments verify",
            "Whether logs are whole.",
            Items(
                "SegmentVerification",
                "A folder of a partition.",
                "flows.segments.verification_rows:VERIFIED+FURTHER",
            ),
            head="flows.segments.verification_rows:HEAD",
        ),
        _list(
            "segments verify --compare",
            "Whether replicas are equal.",
            Items(
                "SegmentComparison",
                "Two replicas of a partition.",
                "flows.segments.verification_rows:COMPARED",
            ),
        ),
        Listed(
            "RestoreReport",
            "What was restored of log directories: the recovery point.",
            "segments restore",
            (
                Items("RestoredPartition", "A partition.", "commands.mirror.report:RESTORED"),
                Items(
                    "MirrorGroupOffset",
                    "An offset of a group: a line of ndjson; other documents have them in their groups.",
                    "commands.mirror.report:GROUP_COLUMNS",
                    "segments restore",
                ),
            ),
            "commands.mirror.report:HEAD",
        ),
        _list(
            "tokens list",
            "Delegation tokens, without their HMACs.",
            Items("Token", "A delegation token.", "commands.tokens.list:COLUMNS"),
        ),
        _list(
            "users list",
            "SCRAM credentials of users.",
            Items("User", "A credential.", "commands.users.list:COLUMNS"),
        ),
    )
}
