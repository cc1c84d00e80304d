"""The forms in which committed offsets stand in files, one a module; ``recognise.py`` tells them apart. Pure."""
