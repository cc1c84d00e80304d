"""Keys and values as columns of Arrow, with the types that their schemas have."""
