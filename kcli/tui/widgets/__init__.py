"""Widgets that draw lines of cells."""
