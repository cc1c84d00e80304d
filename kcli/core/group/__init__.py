"""Group membership: what members of a group tell each other, and who shall read which partition."""
