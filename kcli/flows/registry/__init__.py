"""What ``kcli registry`` does: subjects of a schema registry, read and changed."""
