"""How members are named in a sentence."""

from kcli.core.admin.group_description import MemberDescription
from kcli.flows.groups.members import named


def test_members_are_named_as_they_are_removed() -> None:
    plain = MemberDescription("app-1-3fa9", None, "app", "/10.0.0.7")
    static = MemberDescription("x-77", "billing-2", "app", "/10.0.0.8")
    assert named([plain, static]) == (
        "app at 10.0.0.7 (member app-1-3fa9), app at 10.0.0.8 (instance billing-2)"
    )
    assert (
        named([MemberDescription("m", None, "", "")])
        == "a client without a name at an unknown host (member m)"
    )
    assert named([plain] * 7).endswith(" and 2 more")
