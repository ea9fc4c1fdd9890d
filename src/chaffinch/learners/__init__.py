"""Learners: algorithms that find the weights of a scorer from examples."""

from chaffinch.learners.fused import ROWS

__all__ = ["ROWS"]
