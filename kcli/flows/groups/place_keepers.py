"""kcli's own groups, in which ``kcli produce --checkpoint`` stores the progress of its transactions. Pure.

No consumer reads with them. The input position is in the metadata of a commit at offset 0, in the same transaction as
the records; earlier versions also used the line number as the offset.
"""

PREFIX = "kcli-produce."


def place_keeper(transactional_id: str) -> str:
    """The group of a transactional id."""
    return PREFIX + transactional_id


def keeps_a_place(group: str) -> bool:
    """Whether a group is one of these: they are left out of listings, and shown when named explicitly."""
    return group.startswith(PREFIX)


def names_them(glob: str | None) -> bool:
    """Whether a shell pattern can only match these groups."""
    return glob is not None and glob.startswith(PREFIX.removesuffix("."))


def what_it_is(group: str) -> str:
    """A description for a note."""
    name = group.removeprefix(PREFIX)
    return f"no consumer group: keeps how far `kcli produce --checkpoint` got with transactional id {name}"
