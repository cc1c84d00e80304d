"""Features of a cluster (KIP-584) as commands show and change them."""
