"""What ``consume`` does: which records are read and until where (``extent.py``), in which order, and the loop that writes
them.
"""
