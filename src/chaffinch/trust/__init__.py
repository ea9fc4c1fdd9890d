"""Trust: calibrated confidence and explanations."""
