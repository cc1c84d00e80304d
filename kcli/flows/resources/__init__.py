"""The cluster as files: what a cluster has and what files say it should have, in one form, and the way between them."""
