"""Queries on DuckDB, in the thread of the command, over our own Arrow stream."""
