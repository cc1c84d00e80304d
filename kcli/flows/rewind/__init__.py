"""Committed offsets moved back or forth: what is asked for, the plan, its journal, its execution. No click, no output."""
