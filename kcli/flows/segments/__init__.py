"""What ``kcli segments`` does with the files of a log directory: list, describe, dump and verify. Nothing is written."""
