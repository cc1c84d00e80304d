"""What a secure sandbox has beyond a plain one: certificates, users, tokens, and files for its clients."""
