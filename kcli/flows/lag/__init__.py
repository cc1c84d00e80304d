"""Consumer lag: samples of a cluster, and what follows from one or several of them."""
