"""Selection and renaming of the topics of a mirror."""

import re

import pytest

from kcli.core.errors import ConfigError, NotFoundError
from kcli.flows.mirror.topics.routes import (
    Route,
    idle_excludes,
    idle_renames,
    idle_selectors,
    parse_rename,
    parse_renames,
    plan_routes,
    select_topics,
)

TOPICS = ["orders", "orders-eu", "payments", "__consumer_offsets", "__kcli_mirror", "__kcli_later", "__own"]


@pytest.mark.parametrize(
    ("selectors", "found"),
    [
        (["orders"], ["orders"]),
        (["orders", "orders"], ["orders"]),
        (["orders*"], ["orders", "orders-eu"]),
        (["^orders"], ["orders"]),
        (["^orders.*", "payments"], ["orders", "orders-eu", "payments"]),
        (["*"], ["__own", "orders", "orders-eu", "payments"]),
        (["^.*"], ["__own", "orders", "orders-eu", "payments"]),
        (["nothing*"], []),
    ],
)
def test_selectors(selectors: list[str], found: list[str]) -> None:
    assert select_topics(TOPICS, selectors) == found


def test_a_name_that_is_missing_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="topic invoices does not exist on the source"):
        select_topics(TOPICS, ["orders", "invoices"])


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__kcli_mirror", "__kcli_later"])
def test_a_named_internal_topic_is_refused(topic: str) -> None:
    with pytest.raises(ConfigError, match=f"topic {topic} is not copied"):
        select_topics(TOPICS, [topic])


def test_an_invalid_regular_expression_is_refused() -> None:
    with pytest.raises(ConfigError, match="invalid regular expression"):
        select_topics(TOPICS, ["^("])


@pytest.mark.parametrize(
    ("rule", "name", "renamed"),
    [
        ("orders=sales", "orders", "sales"),
        ("orders=sales", "orders-eu", None),
        (r"^(.*)$=eu.\1", "orders", "eu.orders"),
        (r"^orders-(\w+)=\1_orders", "orders-eu", "eu_orders"),
        (r"^orders-(?P<r>\w+)=\g<r>.o", "orders-eu", "eu.o"),
        ("^a=b=c", "a=b", "c"),
    ],
)
def test_rename_rules(rule: str, name: str, renamed: str | None) -> None:
    assert parse_rename(rule).apply(name) == renamed


@pytest.mark.parametrize("rule", ["", "orders", "=x", "orders=", "^(=x", r"^(a)=\2", "^a"])
def test_an_invalid_rule_is_refused(rule: str) -> None:
    with pytest.raises(ConfigError, match="invalid rename rule"):
        parse_rename(rule)


def test_the_first_rule_that_matches_renames() -> None:
    rules = [parse_rename("orders=first"), parse_rename(r"^(.*)=eu.\1")]
    assert plan_routes(["orders", "payments"], rules, same_cluster=False) == [
        Route("orders", "first"),
        Route("payments", "eu.payments"),
    ]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("orders=a b", "cannot be copied to 'a b'"),
        ("orders=__consumer_offsets", "internal topic"),
        ("orders=payments", "topics orders and payments would both be copied to payments"),
    ],
)
def test_a_route_that_cannot_be_is_refused(rule: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        plan_routes(["orders", "payments"], [parse_rename(rule)], same_cluster=False)
    assert message in f"{raised.value.what} {raised.value.why}"


def test_within_one_cluster_no_target_may_be_a_source() -> None:
    for topics, rules in ((["orders"], []), (["a", "b"], ["a=b", "b=c"])):
        with pytest.raises(ConfigError, match="would be copied to"):
            plan_routes(topics, [parse_rename(rule) for rule in rules], same_cluster=True)
    assert plan_routes(["a"], [parse_rename("a=b")], same_cluster=True) == [Route("a", "b")]


def test_patterns_do_not_select_copies_and_names_do() -> None:
    available, copies = ["a.orders", "orders"], {"a.orders"}
    assert select_topics(available, ["*"], copies) == ["orders"]
    assert select_topics(available, ["^.*"], copies) == ["orders"]
    assert select_topics(available, ["*", "a.orders"], copies) == ["a.orders", "orders"]


@pytest.mark.parametrize(
    ("selectors", "excludes", "found"),
    [
        (["*"], ["orders"], ["__own", "orders-eu", "payments"]),
        (["*"], ["orders*", "^__.*"], ["payments"]),
        (["^orders.*"], ["^.*-eu"], ["orders"]),
        (["orders", "pay*"], ["*"], ["orders"]),  # a name is asked for, whatever patterns leave out
        (["*"], ["none"], ["__own", "orders", "orders-eu", "payments"]),
        (["*"], ["*"], []),
    ],
)
def test_excludes_leave_out_what_patterns_select(
    selectors: list[str], excludes: list[str], found: list[str]
) -> None:
    assert select_topics(TOPICS, selectors, excludes=excludes) == found


def test_an_exclude_that_is_no_regular_expression_is_refused() -> None:
    with pytest.raises(ConfigError, match="invalid regular expression"):
        select_topics(TOPICS, ["*"], excludes=["^("])


def test_excludes_that_leave_out_nothing_are_known() -> None:
    """A pattern that matches only what is never copied leaves out nothing."""
    excludes = ["orders", "none", "*-us", "^__kcli.*", "none"]
    assert idle_excludes(TOPICS, excludes) == ["none", "*-us", "^__kcli.*"]


def test_patterns_that_select_nothing_are_known() -> None:
    assert idle_selectors(["orders", "pay-eu"], ["orders", "pay-*", "nope*", "^x.*", "nope*"]) == [
        "nope*",
        "^x.*",
    ]


def test_rules_that_rename_nothing_are_known() -> None:
    """Of two rules for one topic the first counts, so the second renames nothing."""
    rules = [
        parse_rename(text) for text in ("orders=a", "^(orders)=b", r"^(pay)-.*=\1", "ordrs=c", "ordrs=c")
    ]
    assert idle_renames(["orders", "refunds"], rules) == ["^(orders)=b", r"^(pay)-.*=\1", "ordrs=c"]


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (("a=b",), "the topics are orders, orders-eu"),
        (("orders=b", "orders=c"), "a rule before it renames orders"),
        (("^orders.*=b", "orders-eu=c"), "a rule before it renames orders-eu"),
    ],
)
def test_a_rule_that_renames_nothing_is_refused(texts: tuple[str, ...], why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"--map-topic {texts[-1]} renames no topic")) as caught:
        parse_renames(texts, TOPICS[:2])
    assert caught.value.why == why
