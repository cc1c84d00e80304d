"""What ``kcli groups describe`` shows. The rows are made in ``_description_rows.py``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcli.account.survey import Missing
from kcli.commands.groups import _description_rows as view
from kcli.commands.shared.cluster import connect, listed_groups, open_admin, unique
from kcli.commands.shared.context import Invocation
from kcli.commands.shared.row_output import print_rows
from kcli.core.admin.admin import Admin
from kcli.core.admin.groups import ListedGroup
from kcli.core.errors import KcliError, NotFoundError
from kcli.core.types import GroupPartition, Node
from kcli.flows.groups.description import SHARE, STREAMS, Described, commits_of, describe_groups, missing_in
from kcli.flows.groups.nearest import name_nearest
from kcli.output.progress import counted
from kcli.output.tables import Column

if TYPE_CHECKING:
    from kcli.core.consumer.consumer import Consumer

DOCUMENTS = ("json", "ndjson", "yaml")
FOR_PROGRAMS = (*DOCUMENTS, "tsv", "csv")


class Describing:
    """``section`` is ``members``, ``offsets``, ``state``, ``config``, ``tasks``, ``topology``, or None for all but the
    configuration; ``peek`` the number of records shown.
    """

    cluster: str
    nodes: Mapping[int, Node]
    around: view.Records | None = None

    def __init__(self, inv: Invocation, names: Sequence[str], section: str | None, peek: int | None) -> None:
        self.inv, self.names, self.section, self.peek = inv, names, section, peek
        self.form = inv.out.list_kind()
        self.times: view.Times = {}
        self.configs: view.Configs = {}

    def run(self, match: str | None, types: Sequence[str], *, every: bool, internal: bool) -> int:
        """The exit status. ``match`` (a shell pattern) and ``every`` add groups to those that are named, of these
        ``types``.
        """
        self.inv.page()
        with open_admin(self.inv) as admin:
            all_of = every or match is not None
            admin.foresee(
                groups=() if all_of else self.names,
                listing=all_of,
                permissions=all_of,
                topics=all_of and self.section in (None, "offsets", "tasks"),
            )
            self.cluster = connect(self.inv, admin)
            wanted_names = None if every else match
            listed = self._listed(admin, wanted_names, types, internal=internal) if all_of else []
            wanted = unique([*self.names, *(row.group_id for row in listed)])
            described = describe_groups(
                admin, wanted, offsets=self.section in (None, "offsets", "tasks"), listed=listed
            )
            name_nearest(admin, {name: described[name] for name in self.names})
            groups = self._existing(described)
            for part in missing_in(groups):
                self.inv.lacks(part)
            commits = commits_of(groups)
            if commits and (self.form == "wide" or (self.form in FOR_PROGRAMS and self.inv.values.verbose)):
                self.times = self._read_times(admin, commits)
            self.nodes = admin.connect().nodes
            if self.section == "config":
                self._read_configs(admin, groups)
        if self.peek is not None:
            self.around = self._read_records(groups, self.peek)
        self._print(groups)
        self._note_empty(groups)
        return self.inv.finish(done=bool(groups) or not self.names)

    def _listed(
        self, admin: Admin, match: str | None, types: Sequence[str], *, internal: bool
    ) -> list[ListedGroup]:
        """The groups that are described without being named. Of all groups, Kafka's script shows those of consumers."""
        rows = listed_groups(self.inv, admin, match, types=types, internal=internal)
        if self.form != "kafka" or types or match is not None:
            return rows
        found = [row for row in rows if row.is_of_consumers]
        if others := len(rows) - len(found):
            self.inv.talk.warn(
                f"{counted(others, 'group')} left out, as kafka-consumer-groups.sh does: name them, or choose them by "
                "--type or --match"
            )
        return found

    def _read_configs(self, admin: Admin, groups: Sequence[Described]) -> None:
        # Loads configurations.
        from kcli.flows.groups.configuration import configurations

        self.configs = configurations(admin, groups)
        for name, found in self.configs.items():
            if isinstance(found, KcliError):
                self.inv.lacks(Missing.of(found, f"the configuration of group {name}"))

    def _existing(self, described: Mapping[str, Described | KcliError]) -> list[Described]:
        """The groups that exist. A missing group is an error if it was named, else it has been deleted meanwhile."""
        found = []
        for name, group in described.items():
            if isinstance(group, NotFoundError) and name not in self.names:
                self.inv.talk.warn(f"group {name} has been deleted meanwhile")
            elif isinstance(group, KcliError):
                self.inv.lacks(Missing.of(group, f"group {name}"))
            else:
                if group.error is not None:
                    self.inv.lacks(Missing.of(group.error, f"group {name}"))
                elif group.note is not None:
                    self.inv.talk.warn(f"group {name}: {group.note}")
                found.append(group)
        return found

    def _consumer(self) -> "Consumer":
        # Only where records are read.
        from kcli.commands.shared.record_consumer import record_consumer

        return record_consumer(self.inv)

    def _read_times(self, admin: Admin, commits: Mapping[GroupPartition, int]) -> view.Times:
        """When each commit was made, in ms since the epoch, where that can be found."""
        # Loads the consumer.
        from kcli.flows.groups.commit_times import read_commit_times

        try:
            return read_commit_times(admin, self._consumer, commits, timeout=self.inv.timeout)
        except KcliError as error:
            self.inv.talk.warn(f"commit times are not known: {error}")
            return {}

    def _read_records(self, groups: Sequence[Described], count: int) -> view.Records:
        """``count`` records around each commit."""
        # Loads the consumer.
        from kcli.flows.groups.records_around import read_around_commits

        with self._consumer() as consumer:
            return read_around_commits(
                consumer, groups, count, timeout=self.inv.timeout, warn=self.inv.talk.warn
            )

    # --- printing ------------------------------------------------------------------------------------

    def _print(self, groups: Sequence[Described]) -> None:
        if self.form == "kafka":
            self._print_kafka(groups)
        elif self.form in DOCUMENTS or self.form == "name":
            self._print_rows(view.STATES, [self._item(group) for group in groups])
        elif self.section == "state":
            self._print_rows(view.STATES, [view.state_row(group) for group in groups])
        elif self.section == "members":
            self._print_rows(view.MEMBERS, [row for group in groups for row in view.member_rows(group)])
        elif self.section == "tasks":
            self._print_rows(view.TASKS, [row for group in groups for row in view.task_rows(group)])
        elif self.section == "topology":
            rows = [row for group in groups for row in view.subtopology_rows(group)]
            self._print_rows(view.SUBTOPOLOGIES, rows)
        elif self.section == "config":
            rows = [row for group in groups for row in view.config_rows(group, self.configs)]
            self._print_rows(view.CONFIGS, rows)
        elif self.section is None and (
            self.form in ("table", "wide") or (self.form == "plain" and self.inv.out.headers)
        ):
            for number, group in enumerate(groups):
                self.inv.out.shown(("\n" if number else "") + view.heading(group, self.nodes), fold=True)
                if group.positions:
                    self.inv.out.text("\n")
                    rows = view.offset_rows(group, self.times)
                    self._print_rows(view.columns_below_heading(rows, self.form), rows)
                self._print_streams(group)
                self._print_records([group])
        elif groups:
            rows = [row for group in groups for row in view.offset_rows(group, self.times)]
            self._print_rows(view.OFFSETS, rows)
            self._print_records(groups)

    def _print_streams(self, group: Described) -> None:
        """What only a streams group has, below its offsets."""
        for columns, rows in (
            (view.SUBTOPOLOGIES, view.subtopology_rows(group)),
            (view.TASKS, view.task_rows(group)),
        ):
            if rows:
                self.inv.out.text("\n")
                self._print_rows(columns if self.form == "plain" else columns[1:], rows)

    def _note_empty(self, groups: Sequence[Described]) -> None:
        """Says why a table has no rows; documents have empty lists, and Kafka's columns their own messages."""
        if self.form in (*DOCUMENTS, "kafka", "name"):
            return
        for group in groups:
            if group.description is None or group.error is not None:
                continue
            if self.section == "members" and not group.description.members:
                self.inv.talk.note(f"group {group.group_id} has no active members")
            elif self.section == "config" and self.configs[group.group_id] == []:
                self.inv.talk.note(
                    f"group {group.group_id} has no configuration on brokers: it is {group.type}"
                )
            elif self.section == "offsets" and not group.positions:
                self.inv.talk.note(f"group {group.group_id} has no committed offsets")
            elif self.section in ("tasks", "topology") and group.type != STREAMS:
                what = "tasks" if self.section == "tasks" else "topology"
                self.inv.talk.note(f"group {group.group_id} has no {what}: it is a {group.type} group")
            elif self.section == "tasks" and not view.task_rows(group):
                self.inv.talk.note(f"no member of group {group.group_id} has a task")
            elif self.section == "topology" and not view.subtopology_rows(group):
                self.inv.talk.note(
                    f"the topics of group {group.group_id} are not known to its coordinator: no member has initialized "
                    "its topology, or source topics are missing"
                )

    def _item(self, group: Described) -> view.Row:
        """A group in JSON, with the parts that are shown."""
        item, known = view.state_row(group), group.description is not None
        if self.section in (None, "members"):
            item["members"] = view.member_items(group) if known else None
        if self.section in (None, "offsets"):
            readable = known and group.error is None
            item["partitions"] = view.offset_items(group, self.times, self.around) if readable else None
        if group.type == STREAMS or self.section in ("tasks", "topology"):
            of_streams = group.type == STREAMS and known
            if self.section in (None, "topology"):
                parts = view.without_group(view.subtopology_rows(group))
                item["subtopologies"] = parts if of_streams and parts else None
            if self.section in (None, "tasks"):
                item["tasks"] = view.without_group(view.task_rows(group)) if of_streams else None
        if self.section == "config":
            item["configs"] = view.config_items(group, self.configs)
        return item

    def _print_rows(self, columns: Sequence[Column], rows: Sequence[view.Row]) -> None:
        kind = "GroupDescription"
        print_rows(self.inv, f"{kind}List", columns, rows, self.cluster, item=kind)

    def _print_records(self, groups: Sequence[Described]) -> None:
        for group in groups:
            rows = [
                row
                for tp in group.positions
                if (found := (self.around or {}).get(GroupPartition(group.group_id, tp))) is not None
                for row in view.record_rows(tp, found, self.inv.out.width)
            ]
            if rows:
                self.inv.out.text("\n")
                self._print_rows(view.RECORDS, rows)

    def _print_kafka(self, groups: Sequence[Described]) -> None:
        # Only with -o kafka.
        from kcli.commands.groups import _kafka_columns as of_consumers
        from kcli.commands.groups import _kafka_share_columns as of_shares
        from kcli.commands.groups import _kafka_streams_columns as of_streams

        verbose = self.inv.values.verbose > 0
        for group in sorted(groups, key=lambda one: one.group_id):
            if group.description is None:
                continue
            if group.type == STREAMS:
                script: Any = of_streams
                text = None
            elif group.type == SHARE:
                script, text = of_shares, of_shares.message(group, self.section)
            else:
                script, text = of_consumers, of_consumers.message(group)
            if text is not None:
                self.inv.talk.note(text)
            if self.section == "state":
                text = script.states(group, self.nodes, verbose=verbose)
            elif self.section == "members":
                text = script.members(group, verbose=verbose)
            else:
                text = script.offsets(group, verbose=verbose)
            self.inv.out.shown(text)
        self.inv.out.flush()
