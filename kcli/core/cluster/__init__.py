"""The cluster as a client sees it: who leads what, where to send, what to try again."""
