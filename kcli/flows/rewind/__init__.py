"""Moving committed offsets back or forward: targets, plan, journal and execution. Does no click and no output."""
