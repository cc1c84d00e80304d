"""What ``kcli doctor`` checks: facts are gathered by requests, then judged by tables of pure functions."""
