"""Interfaces to other tools: their names, arguments and return values over the models of this package."""
