"""What is in a topic: counts that tasks make apart and that are merged. Pure, but for the report's file."""
