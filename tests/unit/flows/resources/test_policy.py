"""Rules for what documents describe."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.core.exit_codes import ExitCode
from kcli.flows.resources.documents import read_documents
from kcli.flows.resources.faults import FilesError
from kcli.flows.resources.policy import broken_rules, policy_error, read_policies
from tests.cli.errors.typing_remedies import type_remedy

DOCUMENTS = """\
apiVersion: kcli/v1
kind: Topic
metadata: {name: orders}
spec:
  partitions: 12
  replication_factor: 3
  config: {min.insync.replicas: 2, cleanup.policy: compact, preallocate: false}
---
apiVersion: kcli/v1
kind: Topic
metadata: {name: Orders-2}
spec:
  partitions: 500
  config: {min.insync.replicas: 1}
  assignment: {0: [1, 2]}
---
apiVersion: kcli/v1
kind: AclBinding
spec: {principal: "User:*", operation: all, resource_type: topic, resource_name: "*"}
"""

Judge = Callable[[str], list[str]]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_text(DOCUMENTS.replace("partitions: 500\n", "partitions: 1\n"))
    resources = read_documents(["f.yaml"], environment={})

    def broken(policy: str) -> list[str]:
        (tmp_path / "p.yaml").write_text(policy)
        return [f"{one} | {one.why}" for one in broken_rules(read_policies(["p.yaml"]), resources)]

    return broken


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("spec.replication_factor >= 3 and metadata.name =~ '^[a-z.]+$'", {"Orders-2"}),
        ("spec.replication_factor == null or spec.replication_factor >= 3", set()),
        ('spec.config."min.insync.replicas" >= 2', {"Orders-2"}),
        ('spec.config."preallocate" == false', {"Orders-2"}),
        ("length(keys(spec.config)) == 3", {"Orders-2"}),
        ('spec.assignment."0" == null', {"Orders-2"}),
        ("kind == 'Topic'", set()),
        ("starts_with(metadata.name, 'o')", {"Orders-2"}),
    ],
)
def test_rules_of_topics(judge: Judge, rule: str, names: set[str]) -> None:
    found = judge(f"- kind: Topic\n  rule: {rule!r}\n  message: m\n" if "'" not in rule else
                  f"- kind: Topic\n  message: m\n  rule: |-\n    {rule}\n")  # fmt: skip
    assert {line.split()[2].rstrip(":") for line in found} == names


def test_a_broken_rule_has_its_place_and_that_of_what_breaks_it(judge: Judge) -> None:
    found = judge("""\
- kind: Topic
  rule: spec.config."min.insync.replicas" >= 2
  message: two replicas at least are in sync
- rule: spec.principal != 'User:*'
  message: nothing is for everybody
""")
    assert found == [
        "f.yaml:14:12: Topic Orders-2: two replicas at least are in sync"
        ' | the rule spec.config."min.insync.replicas" >= 2 is false',
        "f.yaml:19:8: AclBinding allow User:* all topic * (literal) from *: nothing is for everybody"
        " | the rule spec.principal != 'User:*' is false",
    ]


def test_what_cannot_be_judged_is_broken(judge: Judge) -> None:
    (equal, order) = judge("""\
- {kind: AclBinding, rule: spec.principal == 3, message: m}
- {kind: AclBinding, rule: length(spec.operation) > 1 and spec.principal > 3, message: n}
""")
    assert "cannot be judged: spec.principal == 3: the text 'User:*' was compared with the number 3" in equal
    assert "cannot be judged: spec.principal > 3" in order


def test_all_that_is_wrong_with_rules_is_named(judge: Judge) -> None:
    with pytest.raises(FilesError) as caught:
        judge("""\
- {kind: Topc, rule: spec.partitions > 1, message: m}
- {rule: partitions > 1, message: m}
- {rule: 'spec.partitions >', message: m}
- {rule: spec.partitions > 1, mesage: m}
- {rule: "metadata.name =~ '['", message: m}
""")
    assert caught.value.exit_code == ExitCode.USAGE
    type_remedy("`kcli help filters` has the language", str([fault.do for fault in caught.value.faults]))
    assert [f"{one.place.line}:{one.place.column}: {one.what} {one.why} {one.do}" for one in caught.value.faults] == [
        "1:10: rules.1.kind must be one of Topic, AclBinding, User, Quota, BrokerConfig, GroupConfig, GroupOffsets, and is Topc"  # noqa: E501
        "  did you mean Topic?",
        "2:4: the rule 'partitions > 1' is not valid at its column 1 a document has no field partitions; it has kind,"
        " metadata, spec a member of the spec is spec.partitions, text is 'partitions'",
        "3:4: the rule 'spec.partitions >' is not valid at its column 18 expected a field, a number, or text in single"
        " quotes, not the end `kcli help filters` has the language",
        "4:3: rules.4 lacks message  message: what people read where it is false",
        "4:31: rules.4.mesage is unknown  did you mean message?",
        "5:4: the rule \"metadata.name =~ '['\" is not valid at its column 18 expected a regular expression: unterminated"
        " character set at position 0 `kcli help filters` has the language",
    ]  # fmt: skip


def test_the_error_of_many_has_exit_code_8(tmp_path: Path, judge: Judge) -> None:
    judge("- {rule: spec.x == 1, message: m}")
    broken = broken_rules(
        read_policies([str(tmp_path / "p.yaml")]), read_documents(["f.yaml"], environment={})
    )
    error = policy_error(broken)
    assert (error.exit_code, len(error.each), error.what) == (ExitCode.CHECK, 3, "3 resources break 3 rules")
    assert policy_error(broken[:1]).each == ()
    assert policy_error(broken[:1]).exit_code == ExitCode.CHECK
