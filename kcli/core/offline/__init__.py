"""Log directories as a cluster that only answers reads: requests are answered in this process, from the files."""
