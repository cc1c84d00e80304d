"""Tokens for OAUTHBEARER: from a file, a program, or the token endpoint of an identity provider."""
