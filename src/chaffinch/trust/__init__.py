"""Trust: how sure a model is, and why it said what it said."""
