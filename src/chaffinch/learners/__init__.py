"""Learners: how a scorer is moved by examples."""
