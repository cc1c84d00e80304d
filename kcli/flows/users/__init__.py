"""SCRAM credentials of users, and the changes of them, each for the command of its name."""
