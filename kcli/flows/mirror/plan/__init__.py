"""What a run is going to copy, from where, and what the target lacks."""
