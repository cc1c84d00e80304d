"""Protobuf: messages of a compiled schema ↔ JSON by Protobuf's own mapping. google.protobuf does both directions."""
