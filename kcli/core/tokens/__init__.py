"""Tokens for OAUTHBEARER: from a file, a program, or the token endpoint of an identity provider."""

from kcli.core.extras import modules_on_use

__getattr__ = modules_on_use(__name__)
