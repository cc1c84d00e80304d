"""What brokers keep in topics of their own: tables of Kafka's records, and the serdes that read them."""
