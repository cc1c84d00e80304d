"""Where a client's options come from: files, environment, flags; each value remembers its origin."""
