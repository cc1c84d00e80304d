"""What commands and screens do with groups: reading and joining what brokers tell of them. Nothing is printed here."""
