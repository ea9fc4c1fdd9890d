"""Choices that nobody made: features, recipe and penalty, by cross-validation within the training data."""
