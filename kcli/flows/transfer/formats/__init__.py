"""The file formats for committed offsets, one per module; ``recognise.py`` distinguishes them. Pure."""
