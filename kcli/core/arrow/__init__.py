"""Apache Arrow's C Data Interface and its PyCapsules, without any library of Arrow."""
