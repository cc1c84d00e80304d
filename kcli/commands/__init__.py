"""The commands, one file per noun or verb: parse, call one flow or admin method, print. No protocol, no sockets."""
