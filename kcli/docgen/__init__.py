"""Renderings of a given click tree: man pages, completions, README blocks. Imports no command."""
