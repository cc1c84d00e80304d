"""Which topics are copied, under which names and with which settings, and what stands against it."""
