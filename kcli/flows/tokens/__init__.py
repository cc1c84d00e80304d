"""Delegation tokens as commands show and change them."""
