"""Profiles from the files of other tools: kcat, kafkactl, rpk, kaf, kcl, and Java's ``.properties``."""
