"""Groups of kcli's own, in which ``kcli produce --checkpoint`` keeps how far its transactions got. Pure.

No consumer reads by them. The place is in the metadata of a commit at offset 0, in the same transaction as the records;
versions before put the number of the line into the offset, too.
"""

PREFIX = "kcli-produce."


def place_keeper(transactional_id: str) -> str:
    """The group of a transactional id."""
    return PREFIX + transactional_id


def keeps_a_place(group: str) -> bool:
    """Whether a group is one of these: they are left out where groups are listed, and shown when they are named."""
    return group.startswith(PREFIX)


def names_them(glob: str | None) -> bool:
    """Whether a shell pattern is about these groups and no others."""
    return glob is not None and glob.startswith(PREFIX.removesuffix("."))


def what_it_is(group: str) -> str:
    """For a note."""
    name = group.removeprefix(PREFIX)
    return f"no consumer group: keeps how far `kcli produce --checkpoint` got with transactional id {name}"
