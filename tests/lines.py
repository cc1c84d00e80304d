"""A line for each command of the registry, for the walks over all commands: what reads, and dry runs of what changes.

Keys: ``{topic}`` and ``{group}`` exist on the cluster, ``{other}`` is a topic with a configuration of its own, ``{load}``
one for records that are made; ``{dir}`` is a folder, ``{broker}`` the cluster's address, ``{name}`` a profile.
"""

from kcli.commands.registry import LOCAL, NOUN, ROWS

PATHS = [path for path, (_place, effect, _summary) in ROWS.items() if effect != NOUN]
"""All commands that do something."""

NO_CLUSTER = {path for path in PATHS if ROWS[path][1] == LOCAL} | {"pipeline doctor"}
"""What contacts no cluster, or, as a doctor, no other than it is told to."""

LINES = {
    "acls check": "--principal User:a --operation read --topic {topic}",
    "acls create": "--principal User:a --operation read --topic {topic} --dry-run",
    "acls delete": "--topic {topic} --dry-run",
    "acls list": "",
    "cluster describe": "--log-dirs",
    "completion": "bash",
    "config check": "",
    "config show": "--origin",
    "configs alter": "topics {topic} --set retention.ms=5 --dry-run",
    "configs describe": "topics {topic}",
    "configs list": "client-metrics",
    "consume": "{topic} --exit -n 3 -s value=json -o ndjson",
    "demo": "--help",  # every package runs it whole: see checks.py
    "doctor": "--topic {topic} --group {group}",
    "elect-leaders": "--topic {topic} --dry-run",
    "exporter": "",
    "groups copy": "{group} new --dry-run",
    "groups create": "new -t {topic} --from earliest --dry-run",
    "groups delete": "{group} --dry-run",
    "groups delete-offsets": "{group} -t {topic} --dry-run",
    "groups describe": "{group} --peek 1",
    "groups why": "{group}",
    "groups export": "{group}",
    "groups import": "{dir}/offsets.csv --dry-run",
    "groups lag": "{group} --time exact",
    "groups list": "",
    "groups remove-members": "{group} somebody --dry-run",
    "groups reset-app": "{group} --dry-run",
    "groups rewind": "{group} --to earliest --dry-run",
    "help": "exit-codes",
    "man": "groups rewind",
    "mirror accept-gap": "--all --to {broker} --dry-run",
    "mirror check": "--from {broker} --to {broker} --max-lag 5 --max-lag-time 5m",
    "mirror promote": "--from {broker} --to {broker} --source-lost --dry-run",
    "mirror reset": "{topic} --from {broker} --to {broker} --offset earliest --dry-run",
    "mirror reverse": "--from {broker} --to {broker} --dry-run",
    "mirror run": "--from {broker} --to {broker} -t {topic} --map-topic {topic}=copy --dry-run",
    "mirror status": "--to {broker}",
    "mirror verify": "--from {broker} --to {broker} -t {topic} --map-topic {topic}={other}",
    "perf compare": "{dir}/perf.json {dir}/perf.json",
    "perf consume": "-t {topic} --num-records 10",
    "perf e2e": "-t {load} --num-records 5 --record-size 100",
    "perf produce": "-t {load} --num-records 50 --record-size 100 --verify -o json",
    "pipeline doctor": "--help",
    "pipeline export": "{topic} {dir}/exported --format ndjson --runner processes",
    "pipeline import": "{dir}/exported --dry-run --runner inline",
    "pipeline mirror": "--from {broker} --to {broker} -t {topic} --map-topic {topic}=copy --dry-run --runner inline",
    "pipeline pack": "--dry-run",
    "pipeline perf": "-t {load} --num-records 10 --record-size 100 --runner inline",
    "pipeline profile": "{topic} --runner inline",
    "pipeline query": "{topic} --sql 'select 1 from source' --dry-run",
    "query": "{topic} select/**/1/**/from/**/source --dry-run",
    "pipeline replay": "{topic} --to copy --force --dry-run --runner inline",
    "pipeline verify": "--from {broker} --to {broker} -t {topic} --map-topic {topic}=copy --runner inline",
    "produce": "{topic} {dir}/lines.txt -z zstd --dry-run",
    "profile add": "{name} -b {broker}",
    "profile copy": "{name} {name}-copy",
    "profile import": "--help",  # reads what other tools have left
    "profile list": "",
    "profile remove": "{name} --yes",
    "profile rename": "{name} {name}-renamed",
    "profile show": "{name}",
    "profile test": "",
    "profile use": "{name}",
    "quotas alter": "--user a --set request_percentage=5 --dry-run",
    "quotas list": "",
    "reassign cancel": "--all --dry-run",
    "reassign plan": "--topic {topic} --dry-run",
    "reassign run": "{dir}/moves.json --dry-run",
    "reassign status": "",
    "sandbox down": "none --dry-run",
    "sandbox logs": "--help",
    "sandbox status": "",
    "sandbox up": "--dry-run",
    "schema": "GroupLag",
    "tokens create": "--hmac-file {dir}/token --dry-run --allow-plaintext-secrets",
    "tokens expire": "token-of-a --dry-run --allow-plaintext-secrets",
    "tokens list": "--allow-plaintext-secrets",
    "tokens renew": "token-of-a --for 1h --dry-run --allow-plaintext-secrets",
    "top": "{group}",
    "topics alter": "{topic} --set retention.ms=5 --partitions 4 --dry-run",
    "topics copy": "{topic} copy --dry-run",
    "topics create": "made --dry-run",
    "topics delete": "{topic} --dry-run",
    "topics describe": "{topic}",
    "topics who": "{topic}",
    "topics list": "",
    "topics offsets": "{topic}",
    "topics trim": "{topic} --before latest --dry-run",
    "txn abort": "--topic {topic} --dry-run",
    "txn describe": "--topic {topic}",
    "txn list": "",
    "undo": "",
    "users delete": "a --dry-run",
    "users list": "",
    "users set": "a --dry-run --allow-plaintext-secrets",
}

DENIED = {
    "acls create": ("CreateAcls", "CLUSTER"),
    "acls delete": ("DeleteAcls", "CLUSTER"),
    "configs alter": ("IncrementalAlterConfigs", "TOPIC"),
    "elect-leaders": ("ElectLeaders", "CLUSTER"),
    "groups copy": ("OffsetCommit", "GROUP"),
    "groups create": ("OffsetCommit", "TOPIC"),
    "groups delete": ("DeleteGroups", "GROUP"),
    "groups delete-offsets": ("OffsetDelete", "GROUP"),
    "groups import": ("OffsetCommit", "GROUP"),
    "groups remove-members": ("LeaveGroup", "GROUP"),
    "groups reset-app": ("OffsetCommit", "GROUP"),
    "groups rewind": ("OffsetCommit", "GROUP"),
    "perf e2e": ("Produce", "TOPIC"),
    "perf produce": ("Produce", "TOPIC"),
    "produce": ("Produce", "TOPIC"),
    "quotas alter": ("AlterClientQuotas", "CLUSTER"),
    "reassign cancel": ("AlterPartitionReassignments", "CLUSTER"),
    "reassign run": ("AlterPartitionReassignments", "CLUSTER"),
    "topics alter": ("IncrementalAlterConfigs", "TOPIC"),
    "topics create": ("CreateTopics", "TOPIC"),
    "topics delete": ("DeleteTopics", "TOPIC"),
    "topics trim": ("DeleteRecords", "TOPIC"),
    "undo": ("OffsetCommit", "GROUP"),
    "users delete": ("AlterUserScramCredentials", "CLUSTER"),
    "users set": ("AlterUserScramCredentials", "CLUSTER"),
}
"""Of commands that change a cluster: the request that brokers refuse, and what the permission that lacks is on."""


def line_of(path: str, **names: str) -> str:
    """The words after the command; of the keys those that are given are replaced."""
    words = LINES[path]
    for key, name in names.items():
        words = words.replace(f"{{{key}}}", name)
    return words
