"""Changes of the topics of both clusters, while a mirror follows its source."""
