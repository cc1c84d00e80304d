"""What several commands share: parameters, the context of an invocation, confirmation, usage errors, exit codes."""
