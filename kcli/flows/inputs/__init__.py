"""What ``produce -i`` reads: one file per format, each a pure parser that is fed bytes and gives rows."""
