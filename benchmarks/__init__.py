"""Benchmarks: one file per question, ours beside its rivals on the same input; see README.md."""
