"""Holds the members of a group back while its offsets are set: from inside the group, or from outside."""
