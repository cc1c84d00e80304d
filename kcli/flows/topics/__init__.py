"""The changes of topics, each for the command of its name."""
