"""Export and import of committed offsets: the contents of files, and the results."""
