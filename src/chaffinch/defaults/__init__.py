"""Default settings: features, recipe and penalty, chosen by cross-validation within the training data."""
