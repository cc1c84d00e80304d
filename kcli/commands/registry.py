"""Every command in one table: its name, module, what it does to a cluster, and one line of help.

The command line, its help and completion, the manual and the walks over all commands in tests are made from it: a new
command is a row here and a module. Imported at every start: no command, and nothing of click, is imported here.
"""

NOUN = "noun"
"""Not a command itself: it has verbs, which are the next rows."""
CHANGES, BY_FLAGS = "changes", "by flags"
"""It changes something on the cluster, which a read-only profile refuses; or with some of its flags only."""
READS, LOCAL = "reads", "local"
"""It reads from a cluster; it contacts none that its client options name."""

Row = tuple[str, str, str]
"""The module below ``kcli.commands`` and the command in it, one of the words above, the line of help."""

ROWS: dict[str, Row] = {
    "produce": ("produce:produce", CHANGES, "send lines or records to a topic"),
    "consume": ("consume:consume", READS, "read records of topics"),
    "topics": ("topics:topics", NOUN, "list, describe, create and delete topics"),
    "topics list": ("topics.list:list_topics", READS, "list topics"),
    "topics describe": (
        "topics.describe:describe_topics", READS,
        "show the partitions, offsets and configuration of topics",
    ),
    "topics offsets": ("topics.offsets:topic_offsets", READS, "show the offsets of topics, by partition"),
    "topics who": ("topics.who:who_topics", READS, "show who writes to topics, who reads them, and who may"),
    "topics create": ("topics.create:create_topics", CHANGES, "create topics"),
    "topics copy": ("topics.copy:copy_topic", CHANGES, "copy a topic within its cluster, and prove that they are equal"),
    "topics alter": ("topics.alter:alter_topic", CHANGES, "change the configuration of topics, and add partitions"),
    "topics trim": ("topics.trim:trim_topic", CHANGES, "delete the records of a topic before an offset or a time"),
    "topics delete": ("topics.delete:delete_topics", CHANGES, "delete topics with all their records"),
    "groups": ("groups:groups", NOUN, "list, describe and change groups and their offsets"),
    "groups list": ("groups.list:list_groups", READS, "list groups of all kinds"),
    "groups lag": ("groups.lag:lag", READS, "show how far groups are behind, in records and in time"),
    "groups describe": ("groups.describe:describe_groups", READS, "show members, assignments and offsets of groups"),
    "groups why": ("groups.why:why_group", READS, "say why a group is behind, and what to do about it"),
    "groups rewind": ("groups.rewind:rewind", BY_FLAGS, "move committed offsets back or forward, and undo that"),
    "groups export": ("groups.export:export_groups", READS, "write committed offsets to a file"),
    "groups import": ("groups.import_offsets:import_offsets", CHANGES, "commit the offsets of a file"),
    "groups copy": ("groups.copy:copy_group", CHANGES, "copy the committed offsets of one group to another"),
    "groups create": ("groups.create:create_group", CHANGES, "create a group that starts at a given offset or time"),
    "groups delete": ("groups.delete:delete_groups", CHANGES, "delete groups with their committed offsets"),
    "groups delete-offsets": ("groups.delete_offsets:delete_offsets", CHANGES, "delete committed offsets of a group"),
    "groups reset-app": ("groups.reset_app:reset_app", CHANGES, "have a Kafka Streams application start anew"),
    "groups remove-members": ("groups.remove_members:remove_members", CHANGES, "remove members from a group"),
    "cluster": ("cluster:cluster", NOUN, "describe and check the cluster"),
    "cluster describe": (
        "cluster.describe:describe_cluster", READS,
        "show brokers, controller, versions, and partitions that are offline or under-replicated",
    ),
    "cluster check": ("cluster.check:check_cluster", READS, "check that all is well, and that a broker may be stopped"),
    "brokers": ("brokers:brokers", NOUN, "list and describe brokers, and take them out of the cluster"),
    "brokers list": ("brokers.list:list_brokers", READS, "list brokers: state, roles, address, rack, version, replicas"),
    "brokers drain": (
        "brokers.drain:drain_brokers", CHANGES,
        "move everything away from brokers: leaders first, then replicas",
    ),
    "brokers move-log-dir": (
        "brokers.move_log_dir:move_log_dir", CHANGES,
        "move replicas of a broker to another of its log directories",
    ),
    "brokers describe": (
        "brokers.describe:describe_brokers", READS,
        "describe brokers: listeners, roles, features, log directories",
    ),
    "brokers api-versions": (
        "brokers.api_versions:api_versions", READS,
        "show the versions of APIs that brokers offer, and what differs between brokers",
    ),
    "brokers unregister": (
        "brokers.unregister:unregister_brokers", CHANGES,
        "unregister brokers that are gone for good, and have no replicas",
    ),
    "quorum": ("quorum:quorum", NOUN, "describe the quorum of the controllers, add and remove voters"),
    "quorum describe": (
        "quorum.describe:describe_quorum", READS,
        "show the quorum: leader, voters and observers, and how far each is behind",
    ),
    "quorum add-controller": (
        "quorum.add_controller:add_controller", CHANGES,
        "make a controller a voter: after a plan and a question, with the majority checked",
    ),
    "quorum remove-controller": (
        "quorum.remove_controller:remove_controller", CHANGES,
        "remove a controller from the voters: after a plan and a question, with the majority checked",
    ),
    "features": ("features:features", NOUN, "list, upgrade and downgrade features, such as metadata.version"),
    "features list": (
        "features.list:list_features", READS,
        "list features: the levels in effect, and those that brokers support",
    ),
    "features upgrade": (
        "features.upgrade:upgrade_features", CHANGES,
        "upgrade features to higher levels, after the brokers were upgraded",
    ),
    "features downgrade": (
        "features.downgrade:downgrade_features", CHANGES,
        "downgrade features to lower levels, or switch them off",
    ),
    "configs": ("configs:configs", NOUN, "show and change configurations"),
    "configs describe": (
        "configs.describe:describe_configs", READS,
        "show configurations: each value with where it comes from",
    ),
    "configs list": (
        "configs.list:list_configs", READS,
        "list the groups or client metrics that have a configuration of their own",
    ),
    "configs alter": (
        "configs.alter:alter_configs", CHANGES,
        "change configurations: after a plan and a question, and with a check of the values afterwards",
    ),
    "reassign": ("reassign:reassign", NOUN, "move replicas of partitions to other brokers"),
    "reassign plan": (
        "reassign.plan:plan_reassignment", READS,
        "plan which replicas to move: balanced, spread over racks, and as few as possible",
    ),
    "reassign run": ("reassign.run:run_reassignment", CHANGES, "move replicas as FILE says; - is stdin"),
    "reassign status": (
        "reassign.status:reassignment_status", READS,
        "show the partitions that are being moved, or how far those of FILE are",
    ),
    "reassign cancel": (
        "reassign.cancel:cancel_reassignment", CHANGES,
        "cancel moves in progress: partitions keep the replicas that they had before",
    ),
    "elect-leaders": ("elect_leaders:elect_leaders", CHANGES, "make preferred replicas leaders of their partitions"),
    "acls": ("acls:acls", NOUN, "list, check, create and delete ACLs: who may do what"),
    "acls list": ("acls.list:list_acls", READS, "list ACLs"),
    "acls check": ("acls.check:check_acls", READS, "say whether ACLs allow an operation, and which of them decides"),
    "acls create": (
        "acls.create:create_acls", CHANGES,
        "create ACLs: after a plan and a question, and with a check afterwards",
    ),
    "acls delete": (
        "acls.delete:delete_acls", CHANGES,
        "delete ACLs: those that are selected and shown in the plan, and no others",
    ),
    "export": ("export:export_cluster", READS, "write what the cluster has as YAML documents"),
    "diff": ("diff:diff", READS, "compare what files describe with what the cluster has"),
    "apply": ("apply:apply_files", CHANGES, "change a cluster to what files describe"),
    "top": ("top:top", READS, "watch groups, topics and brokers live"),
    "exporter": ("exporter:exporter", READS, "export the lag of groups for Prometheus"),
    "txn": ("txn:txn", NOUN, "find the transactions that hold partitions back, and end them"),
    "txn list": ("txn.list:list_transactions", READS, "list open transactions, and those that hang"),
    "txn describe": (
        "txn.describe:describe_transactions", READS,
        "show a transactional id, or what holds partitions of a topic back",
    ),
    "txn abort": (
        "txn.abort:abort_transactions", CHANGES,
        "abort an open transaction: its records are never read as committed",
    ),
    "quotas": ("quotas:quotas", NOUN, "show and change quotas of users, client ids and IP addresses"),
    "quotas list": ("quotas.list:list_quotas", READS, "list quotas: a line for each key"),
    "quotas alter": (
        "quotas.alter:alter_quotas", CHANGES,
        "change quotas: after a plan and a question, and with a check of the values afterwards",
    ),
    "tokens": ("tokens:tokens", NOUN, "list, create, renew and expire delegation tokens"),
    "tokens list": ("tokens.list:list_tokens", READS, "list delegation tokens, with the time left until they expire"),
    "tokens create": (
        "tokens.create:create_token", CHANGES,
        "create a delegation token: a client that has it authenticates as its owner",
    ),
    "tokens renew": ("tokens.renew:renew_tokens", CHANGES, "renew delegation tokens: they expire later"),
    "tokens expire": ("tokens.expire:expire_tokens", CHANGES, "have delegation tokens expire, at once or in a while"),
    "users": ("users:users", NOUN, "list, set and delete users: their SCRAM credentials"),
    "users list": ("users.list:list_users", READS, "list users with SCRAM credentials"),
    "users set": ("users.set:set_user", CHANGES, "set the password of a user: makes SCRAM credentials, or replaces them"),
    "users delete": ("users.delete:delete_user", CHANGES, "delete SCRAM credentials of a user"),
    "registry": ("schema_registry:registry", NOUN, "list, register, check and delete schemas of a schema registry"),
    "registry list": ("schema_registry.list:list_subjects", READS, "list subjects, with the latest version of each"),
    "registry describe": (
        "schema_registry.describe:describe_subject", READS,
        "show versions of a subject: ids, references, compatibility, schemas",
    ),
    "registry register": ("schema_registry.register:register_schema", CHANGES, "register a schema under a subject"),
    "registry check": (
        "schema_registry.check:check_schema", READS,
        "check whether a schema is compatible with a subject, and say why not",
    ),
    "registry usage": ("schema_registry.usage:subject_usage", READS, "find the topics that use a subject"),
    "registry delete": (
        "schema_registry.delete:delete_subject", CHANGES,
        "delete versions of a subject, softly or for good",
    ),
    "registry undelete": (
        "schema_registry.undelete:undelete_subject", CHANGES,
        "bring softly deleted versions of a subject back",
    ),
    "registry export": (
        "schema_registry.export:export_schemas", READS,
        "write schemas with their ids, each after those to which it refers",
    ),
    "registry import": (
        "schema_registry.import_schemas:import_schemas", CHANGES,
        "register the schemas of an export, with their ids",
    ),
    "registry config": (
        "schema_registry.config:registry_config", BY_FLAGS,
        "show or change the compatibility of a subject, or of all",
    ),
    "registry mode": (
        "schema_registry.mode:registry_mode", BY_FLAGS,
        "show or change the mode of a subject, or of all",
    ),
    "doctor": ("doctor:doctor", READS, "find out why something does not work, step by step"),
    "undo": ("undo:undo", BY_FLAGS, "undo a change that deleted something"),
    "mirror": ("mirror:mirror", NOUN, "copy topics to another cluster, and prove that they are equal"),
    "mirror run": ("mirror.run:run", BY_FLAGS, "copy topics, and follow them"),
    "mirror check": ("mirror.check:check_job", READS, "check that a job runs, copies, and is not too far behind"),
    "mirror status": ("mirror.status:status", READS, "list the jobs that write to a cluster, and how far they are"),
    "mirror reset": ("mirror.reset:reset", CHANGES, "move positions of a job: copy records again, or skip them"),
    "mirror accept-gap": ("mirror.accept_gap:accept_gap", CHANGES, "acknowledge gaps, so that status shows them no more"),
    "mirror promote": ("mirror.promote:promote", CHANGES, "end a job for good, and state what of the source is there"),
    "mirror reverse": ("mirror.reverse:reverse", CHANGES, "copy back what was written since a job was promoted"),
    "mirror verify": ("mirror.verify:verify", READS, "compare what a job has copied with its source"),
    "perf": ("perf:perf", NOUN, "measure rate and latency of a cluster"),
    "perf produce": ("perf.produce:produce", CHANGES, "send records, and measure rate and latency"),
    "perf consume": ("perf.consume:consume", READS, "read records, and measure the rate"),
    "perf e2e": ("perf.e2e:e2e", CHANGES, "send and receive records, and measure the time between"),
    "perf compare": ("perf.compare:compare", LOCAL, "compare two runs, with confidence intervals"),
    "query": ("query:query", READS, "query topics by SQL"),
    "segments": ("segments:segments", NOUN, "read, verify and restore the files of brokers' logs"),
    "segments list": (
        "segments.list:list_segments", LOCAL,
        "list topics, partitions or segments of log directories, with sizes, offsets and times",
    ),
    "segments describe": ("segments.describe:describe_segments", LOCAL, "describe partitions by their files"),
    "segments dump": ("segments.dump:dump_segments", LOCAL, "print batches, records, or entries of indexes"),
    "segments verify": (
        "segments.verify:verify_segments", LOCAL,
        "check that logs are whole, and that replicas are equal",
    ),
    "segments restore": (
        "segments.restore:restore", CHANGES,
        "restore topics to a cluster, each record once, and prove that they are there",
    ),
    "pipeline": ("pipeline:pipeline", NOUN, "query, export, copy and compare whole topics, on Spark"),
    "pipeline export": ("pipeline.export:export", READS, "write the records of topics to files, each once"),
    "pipeline import": ("pipeline.import_topics:import_topics", CHANGES, "restore the topics of an export"),
    "pipeline mirror": ("pipeline.mirror:mirror", CHANGES, "copy topics to another cluster by many tasks, exactly once"),
    "pipeline query": ("pipeline.query:query", READS, "query topics by SQL"),
    "pipeline replay": ("pipeline.replay:replay", CHANGES, "send dead letters to where they belong, once more"),
    "pipeline verify": ("pipeline.verify:verify", BY_FLAGS, "compare topics of two clusters, and repair what differs"),
    "pipeline profile": ("pipeline.profile:profile", READS, "show skew, keys, sizes, times and schema of topics"),
    "pipeline perf": ("pipeline.perf:perf", CHANGES, "load a topic from many tasks, and measure rate and latency"),
    "pipeline doctor": ("pipeline.doctor:doctor", READS, "find out why jobs do not run on Spark"),
    "pipeline pack": ("pipeline.pack:pack", LOCAL, "write kcli and its libraries to an archive for executors"),
    "profile": ("profile:profile", NOUN, "name clusters, with their options and secrets"),
    "profile list": ("profile.list:list_profiles", LOCAL, "list the profiles"),
    "profile show": (
        "profile.show:show_profile", LOCAL,
        "show the options of one profile, with the lines where they stand; secrets are hidden",
    ),
    "profile use": ("profile.use:use_profile", LOCAL, "make a profile the current one"),
    "profile add": (
        "profile.add:add_profile", LOCAL,
        "add a profile with the options of this command line: -b, -X, -F and --client-id",
    ),
    "profile copy": ("profile.copy:copy_profile", LOCAL, "add a profile with the options of another one"),
    "profile rename": ("profile.rename:rename_profile", LOCAL, "give a profile another name"),
    "profile test": ("profile.test:test_profile", READS, "test whether a profile leads to its cluster, step by step"),
    "profile remove": ("profile.remove:remove_profile", LOCAL, "remove a profile"),
    "profile import": (
        "profile.import_profiles:import_profiles", LOCAL,
        "add profiles from the file of another tool, or from a Java .properties file",
    ),
    "config": ("config:config", NOUN, "show and check the client options of all sources"),
    "config show": ("config.show:show_config", LOCAL, "show the client options that are set, from all sources"),
    "config check": ("config.check:check_config", LOCAL, "check the options of all sources"),
    "sandbox": ("sandbox:sandbox", NOUN, "run a real Apache Kafka on this machine"),
    "sandbox up": ("sandbox.up:up", LOCAL, "start a sandbox in the background; returns when every broker responds"),
    "sandbox down": ("sandbox.down:down", LOCAL, "stop a sandbox"),
    "sandbox status": ("sandbox.status:status", LOCAL, "show all sandboxes, running or not"),
    "sandbox logs": ("sandbox.logs:logs", LOCAL, "print the end of the brokers' logs, also after a start that failed"),
    "demo": ("demo:demo", LOCAL, "see it work on a throw-away sandbox, with proofs"),
    "completion": ("completion:completion", LOCAL, "print or install the completion script of a shell"),
    "schema": ("schema:schema", LOCAL, "print the JSON Schema of what -o json prints"),
    "man": ("man:man", LOCAL, "show the manual page of a command or a concept"),
    "help": ("help:help_command", LOCAL, "help on a command, on client options, on concepts"),
}  # fmt: skip

ALIASES = {
    "profiles": "profile",
    "topic": "topics",
    "group": "groups",
    "acl": "acls",
    "broker": "brokers",
    "quota": "quotas",
    "user": "users",
    "transactions": "txn",
    "tui": "top",
}
"""Singular nouns, and other words for a command, hidden."""

SECTIONS: dict[str, tuple[str, ...]] = {
    "Records": ("consume", "produce", "query"),
    "Topics and groups": ("topics", "groups", "configs", "txn", "registry"),
    "Cluster and access": (
        "cluster", "brokers", "quorum", "features", "reassign", "elect-leaders", "acls", "users", "tokens", "quotas",
    ),
    "The cluster as files": ("export", "diff", "apply"),
    "Copy and pipeline": ("mirror", "pipeline"),
    "Files of brokers": ("segments",),
    "Watch and measure": ("top", "exporter", "perf", "doctor"),
    "This tool": (
        "profile", "config", "sandbox", "demo", "undo", "completion", "schema", "man", "help",
    ),
}  # fmt: skip
"""The commands of the root as its help groups them."""


def below(noun: str) -> dict[str, Row]:
    """The rows of a noun's verbs by their names; without a noun those of the root."""
    start = f"{noun} ".lstrip()
    return {
        name: row
        for path, row in ROWS.items()
        if path.startswith(start) and " " not in (name := path[len(start) :])
    }
