"""Compares both sides, record by record."""
