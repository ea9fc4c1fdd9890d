"""Learners: algorithms that find the weights of a scorer from examples."""
