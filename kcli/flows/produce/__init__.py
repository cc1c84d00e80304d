"""What ``produce`` does: the loop that sends, what became of each line, checkpoints, failed lines, transactions."""
