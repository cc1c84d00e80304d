"""What the target of a mirror gets of the ACLs of the source: every kind of resource, operation and principal."""

from collections.abc import Iterable

import pytest

from kcli.core.admin.acls import AclBinding, AclPattern, AclPermission, AclResource
from kcli.core.errors import ConfigError
from kcli.core.permissions import AclOperation
from kcli.flows.mirror.acls.rules import (
    Scope,
    carried,
    covering_prefixes,
    denies_writing,
    mapped_principal,
    parse_principal_rule,
    stale,
    unused_rules,
    whole_prefixes,
)
from kcli.flows.mirror.topics.routes import Rename, parse_rename
from kcli.flows.mirror.topics.survey import Selection

TOPICS = {"orders-eu": "dr.orders-eu", "orders-us": "orders-us", "refunds": "refunds"}
SCOPE = Scope(TOPICS, ("billing", "audit"))


def acl(text: str) -> AclBinding:
    """``User:a allow read topic orders literal *``."""
    principal, permission, operation, kind, name, pattern, host = text.split()
    return AclBinding(
        AclResource[kind.upper()],
        name,
        AclPattern[pattern.upper()],
        principal,
        AclPermission[permission.upper()],
        AclOperation[operation.upper()],
        host,
    )


def acls(*lines: str) -> set[AclBinding]:
    return {acl(line) for line in lines}


def names(bindings: Iterable[AclBinding]) -> set[tuple[str, str]]:
    return {(one.name, one.pattern.name.lower()) for one in bindings if isinstance(one.pattern, AclPattern)}


# --- resources -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("permission", ["allow", "deny"])
@pytest.mark.parametrize(
    ("resource", "whole", "expected"),
    [
        ("topic orders-eu literal", (), {"dr.orders-eu"}),
        ("topic orders-us literal", (), {"orders-us"}),
        ("topic dr.orders-eu literal", (), set()),
        ("topic other literal", (), set()),
        ("topic * literal", (), {"dr.orders-eu", "orders-us", "refunds"}),
        ("topic orders- prefixed", (), {"dr.orders-eu", "orders-us"}),
        ("topic orders-us prefixed", (), {"orders-us"}),
        ("topic orders-usa prefixed", (), set()),
        ("topic ref prefixed", ("ref",), {"ref prefixed"}),
        ("topic refunds prefixed", ("ref",), {"refunds"}),
        ("topic ref literal", ("ref",), set()),
        ("group billing literal", (), {"billing"}),
        ("group other literal", (), set()),
        ("group * literal", (), {"billing", "audit"}),
        ("group bill prefixed", (), {"billing"}),
        ("group bill prefixed", ("bill",), {"billing"}),
        ("cluster kafka-cluster literal", (), set()),
        ("transactional_id orders-eu literal", (), set()),
        ("transactional_id billing literal", (), set()),
        ("user bill prefixed", (), set()),
    ],
)
def test_an_acl_is_carried_to_the_copies_that_it_applies_to_and_to_nothing_else(
    permission: str, resource: str, whole: tuple[str, ...], expected: set[str]
) -> None:
    source = acl(f"User:a {permission} read {resource} 192.0.2.7")
    found = carried([source], SCOPE._replace(whole=whole), [])
    assert not found.later
    assert not found.unknown
    assert names(found.now) == {tuple(f"{one} literal".split()[:2]) for one in expected}
    for one in found.now:
        assert (one.principal, one.permission, one.host) == ("User:a", source.permission, "192.0.2.7")
        assert one.resource == source.resource


def test_without_topics_or_groups_nothing_is_carried() -> None:
    source = acls("User:a allow read topic * literal *", "User:a allow read group * literal *")
    assert carried(source, Scope({}, ()), []).now == frozenset()


# --- operations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", list(AclOperation))
@pytest.mark.parametrize("resource", ["topic refunds", "group billing"])
def test_until_it_is_promoted_a_copy_is_only_read(operation: AclOperation, resource: str) -> None:
    source = acl(f"User:a allow {operation.name} {resource} literal *")
    found = carried([source], SCOPE, [])
    reads = {"READ", "DESCRIBE", "DESCRIBE_CONFIGS"}
    now = {AclOperation(one.operation).name for one in found.now}
    if operation is AclOperation.ALL:
        assert now == {"READ", "DESCRIBE_CONFIGS"}, "READ includes DESCRIBE"
    else:
        assert now == {operation.name} & reads
    assert found.now <= {source} or operation is AclOperation.ALL
    assert source in found.now | found.later, "promoted, it has all that the source has"
    assert (source in found.later) is (operation.name not in reads)


@pytest.mark.parametrize("operation", list(AclOperation))
def test_what_is_denied_is_denied_at_once_and_as_it_is(operation: AclOperation) -> None:
    source = acl(f"User:a deny {operation.name} topic refunds literal *")
    found = carried([source], SCOPE, [])
    assert (found.now, found.later) == ({source}, frozenset())


def test_numbers_that_this_version_does_not_know() -> None:
    known = acl("User:a allow read topic refunds literal *")
    pattern = AclBinding(2, "refunds", 9, "User:a", AclPermission.ALLOW, AclOperation.READ, "*")
    permission = AclBinding(2, "refunds", AclPattern.LITERAL, "User:a", 9, AclOperation.READ, "*")
    operation = AclBinding(2, "refunds", AclPattern.LITERAL, "User:a", AclPermission.ALLOW, 99, "*")
    denied = AclBinding(2, "refunds", AclPattern.LITERAL, "User:a", AclPermission.DENY, 99, "*")
    found = carried([known, pattern, permission, operation, denied], SCOPE, [])
    assert found.unknown == {pattern, permission}
    assert found.now == {known, denied}, "an operation is what it is, and waits if it allows something"
    assert found.later == {operation}


# --- prefixes ------------------------------------------------------------------------------------------


def whole(prefix: str, *selectors: str, renames: str = "", source: str = "", target: str = "") -> bool:
    selection = Selection(selectors, [parse_rename(text) for text in renames.split()])
    return whole_prefixes([prefix], selection, source.split(), target.split()) == {prefix}


@pytest.mark.parametrize(
    ("prefix", "selector", "expected"),
    [
        ("orders-", "*", True),
        ("orders-", "orders-*", True),
        ("orders-", "ord*", True),
        ("orders-", "orders-e*", False),
        ("orders-", "orders-?", False),
        ("orders-", "*-eu", False),
        ("orders-", "o*s-*", False),
        ("orders-", "orders-eu", False),
        ("orders-", "^.*", True),
        ("orders-", "^orders-.*", True),
        ("orders-", "^orders-.*$", True),
        ("a.b", r"^a\..*", True),
        ("a.b", "^a..*", False),
        ("axb", r"^a\..*", False),
        ("orders-", "^orders-.+", False),
        ("orders-", "^orders-(eu|us)", False),
        ("orders-", "^(orders-|x).*", False),
        ("__consumer", "*", True),
    ],
)
def test_a_prefix_is_kept_where_a_pattern_selects_all_topics_that_begin_so(
    prefix: str, selector: str, expected: bool
) -> None:
    assert whole(prefix, selector) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"source": "orders-eu x", "target": "orders-eu y"}, True),
        ({"target": "orders-old"}, True),  # selected, should the source have it
        ({"renames": "orders-eu=copy"}, False),
        ({"renames": "refunds=copy"}, True),
        ({"renames": r"^(.*)$=eu.\1"}, False),
    ],
)
def test_a_prefix_is_not_kept_where_a_topic_is_renamed(given: dict[str, str], expected: bool) -> None:
    assert whole("orders-", "orders-*", **given) is expected


def test_a_prefix_is_not_kept_where_topics_that_begin_so_are_no_copies() -> None:
    selection = Selection(["orders-*"], [], copies={"orders-back"})
    assert whole_prefixes(["orders-"], selection, ["orders-eu", "orders-back"], []) == set()
    everything = Selection(["*"], [])
    assert whole_prefixes(["__"], everything, ["__consumer_offsets"], []) == set()
    assert whole_prefixes(["__k"], everything, [], ["__kcli_mirror"]) == set()


def test_only_prefixes_of_acls_for_the_topics_are_looked_at() -> None:
    found = acls(
        "User:a allow read topic orders- prefixed *",
        "User:a allow read topic other- prefixed *",
        "User:a allow read topic refunds literal *",
        "User:a allow read group refunds prefixed *",
    )
    assert covering_prefixes(found, TOPICS) == {"orders-"}


# --- principals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "principal", "expected"),
    [
        ("User:alice=User:dr-alice", "User:alice", "User:dr-alice"),
        ("User:alice=User:dr-alice", "User:alice2", "User:alice2"),
        (r"^User:(.*)$=User:dr-\1", "User:bob", "User:dr-bob"),
        (r"^User:(.*)$=User:dr-\1", "User:*", "User:*"),
        (r"^User:(.*)$=User:dr-\1", "Group:x", "Group:x"),
        ("User:CN=al,OU=x=User:al", "User:CN=al,OU=x", "User:al"),
        ("User:al=User:CN=al,OU=x", "User:al", "User:CN=al,OU=x"),
        (r"^User:CN=(\w+),.*$=User:\1", "User:CN=al,OU=x", "User:al"),
        ("User:a b=User:c d", "User:a b", "User:c d"),
    ],
)
def test_a_rule_maps_principals(rule: str, principal: str, expected: str) -> None:
    assert mapped_principal(principal, [parse_principal_rule(rule)]) == expected


def test_the_first_rule_that_matches_counts() -> None:
    rules = [parse_principal_rule("User:a=User:b"), parse_principal_rule(r"^User:(.*)$=User:x-\1")]
    assert [mapped_principal(f"User:{name}", rules) for name in "abc"] == ["User:b", "User:x-b", "User:x-c"]
    found = acls("User:a allow read topic refunds literal *", "User:b deny read topic * literal *")
    assert {one.principal for one in carried(found, SCOPE, rules).now} == {"User:b", "User:x-b"}


@pytest.mark.parametrize(
    "text",
    ["", "=", "User:a", "User:a=", "=User:b", "User:a=b", "a=User:b", "^(=User:b", r"^User:a=User:\1",
     "User:*=User:a", "User:a=User:*"],
)  # fmt: skip
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(ConfigError, match="invalid --map-principal"):
        parse_principal_rule(text)


def test_rules_that_map_nobody_are_found() -> None:
    rules = [parse_principal_rule(f"User:{name}=User:x") for name in ("a", "typo")]
    found = acls("User:a allow read topic t literal *", "User:* allow read topic t literal *")
    assert unused_rules(found, rules) == [1]
    assert unused_rules(found, [parse_principal_rule(r"^User:\W$=User:x")]) == [0], "not by User:*"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User:* deny write topic refunds literal *", True),
        ("User:* deny all topic refunds literal *", True),
        ("User:me deny describe topic refunds literal *", True),
        ("User:me deny read topic refunds literal *", False),
        ("User:eve deny write topic refunds literal *", False),
        ("User:* allow write topic refunds literal *", False),
        ("User:* deny all group billing literal *", False),
    ],
)
def test_what_would_keep_the_mirror_itself_from_writing(text: str, expected: bool) -> None:
    assert denies_writing(acl(text), {"User:me"}) is expected


# --- what the source does not have ---------------------------------------------------------------------


def pruned(there: str, *source: str, rules: tuple[Rename, ...] = (), **scope: tuple[str, ...]) -> bool:
    one = acl(there)
    return stale([one], acls(*source), SCOPE._replace(**scope), rules, {"User:me"}) == [one]


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ("User:old allow read topic refunds literal *", True),
        ("User:old allow describe topic dr.orders-eu literal *", True),
        ("User:old deny write topic refunds literal *", True),
        ("User:old allow read group billing literal *", True),
        ("User:me allow read topic refunds literal *", False),  # the mirror's own
        ("User:old allow write topic refunds literal *", False),  # perhaps, too
        ("User:old allow all topic refunds literal *", False),
        ("User:old allow read topic orders-eu literal *", False),  # the target's own topic of that name
        ("User:old allow read topic other literal *", False),
        ("User:old allow read topic * literal *", False),
        ("User:old allow read topic ref prefixed *", False),
        ("User:old allow read group other literal *", False),
        ("User:old allow read group bill prefixed *", False),
        ("User:old allow read transactional_id refunds literal *", False),
        ("User:old allow describe transactional_id billing literal *", False),
        ("User:old allow describe cluster kafka-cluster literal *", False),
    ],
)
def test_only_what_is_the_jobs_alone_is_deleted(there: str, expected: bool) -> None:
    assert pruned(there) is expected


def test_a_prefix_that_is_the_jobs_alone_is_deleted() -> None:
    assert pruned("User:old allow read topic ref prefixed *", whole=("ref",))


@pytest.mark.parametrize(
    "source",
    [
        "User:a allow read topic refunds literal *",
        "User:a allow read topic * literal *",
        "User:a allow read topic ref prefixed *",
        "User:a allow all topic refunds literal *",
    ],
)
@pytest.mark.parametrize("whole", [(), ("ref",)])
def test_what_the_source_has_in_any_form_stays(source: str, whole: tuple[str, ...]) -> None:
    assert not pruned("User:a allow read topic refunds literal *", source, whole=whole)


def test_an_acl_of_a_principal_that_is_mapped_by_now_is_deleted() -> None:
    there, rule = "User:a allow read topic refunds literal *", parse_principal_rule("User:a=User:b")
    assert pruned(there, there, rules=(rule,))
    assert not pruned("User:b allow read topic refunds literal *", there, rules=(rule,))
