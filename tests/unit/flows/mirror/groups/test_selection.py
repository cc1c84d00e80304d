"""Which groups --sync-groups selects."""

import pytest

from kcli.core.errors import ConfigError
from kcli.flows.mirror.groups.selection import group_selectors

GROUPS = ["audit", "billing", "billing-eu", "__kcli.mirror.j", "kcli-produce.t"]


@pytest.mark.parametrize(
    ("selector", "excluded", "expected"),
    [
        ("*", (), ["audit", "billing", "billing-eu"]),
        ("billing*", (), ["billing", "billing-eu"]),
        ("^bill.*", (), ["billing", "billing-eu"]),
        ("^bill", (), []),
        ("*", ("audit", "*-eu"), ["billing"]),
        ("*", ("^bill.*",), ["audit"]),
        ("*", ("aud",), ["audit", "billing", "billing-eu"]),
        ("__kcli.*", (), []),
        ("^kcli-produce.*", (), []),
    ],
)
def test_patterns(selector: str, excluded: tuple[str, ...], expected: list[str]) -> None:
    found = group_selectors([selector], excluded)
    assert not found.names
    assert found.selected(selector, GROUPS) == expected


def test_names_are_no_patterns() -> None:
    assert group_selectors(["billing", "a.b"]).names == ["billing", "a.b"]


@pytest.mark.parametrize("name", ["__kcli.mirror.j", "kcli-produce.t"])
def test_a_group_of_kclis_own_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match="--sync-groups") as raised:
        group_selectors(["billing", name])
    assert raised.value.why.startswith("it is not a consumer group")


@pytest.mark.parametrize(("selectors", "excluded"), [(["^("], ()), (["a"], ["^("])])
def test_an_invalid_regex_is_refused(selectors: list[str], excluded: list[str]) -> None:
    with pytest.raises(ConfigError, match="invalid regular expression") as raised:
        group_selectors(selectors, excluded)
    assert raised.value.do == "correct it; groups that do not begin with ^ are names or shell patterns"
