"""The server: models answer over HTTP, people correct them, and they learn from corrections while they answer."""
