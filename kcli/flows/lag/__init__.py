"""How far groups are behind: samples of a cluster, and what follows from one or from several of them."""
