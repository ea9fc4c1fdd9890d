"""Scorers: how w . phi is stored."""

from chaffinch.scorers.linear import Block, Example, Layout, Linear

__all__ = ["Block", "Example", "Layout", "Linear"]
