"""Records of brokers' internal topics: tables of Kafka's records, and the serdes that read them."""
