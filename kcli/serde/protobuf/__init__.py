"""Protobuf: messages of a compiled schema as JSON by Protobuf's own mapping. google.protobuf converts both ways."""
