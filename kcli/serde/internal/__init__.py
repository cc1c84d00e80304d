"""Serdes of brokers' internal topics: their records (kcli.core.protocol.stored) as JSON."""
