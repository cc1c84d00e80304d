"""Where exports are: folders of this machine, and buckets of object stores. ``store`` says what all of them offer."""
