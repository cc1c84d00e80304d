"""Tests of the project itself: its imports, its packaging, its frame."""
