"""Operations on groups for commands and screens: reading and joining what brokers report. Nothing is printed here."""
