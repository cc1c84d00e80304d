"""The cluster as a client sees it: which broker leads what, where to send, what to retry."""
