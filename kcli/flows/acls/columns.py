"""The columns of an ACL: of the list, of plans and of reports. Without what reads and changes ACLs."""

from kcli.output.tables import Column

ACL = (
    Column("principal", "prose", values="string", meaning="Who it is for, such as User:alice."),
    Column("permission", values="string", meaning="allow or deny."),
    Column("operation", values="string", meaning="The operation, such as read."),
    Column("resource_type", values="string", meaning="The type of the resource, such as topic."),
    Column("resource_name", "prose", values="string", meaning="Name or prefix of the resource, or *."),
    Column("pattern", values="string", meaning="literal or prefixed."),
    Column("host", spare=1, values="string", meaning="The host from which it applies, or *."),
)
