"""The server: models answer over HTTP, people correct them, and they learn on while they answer."""
