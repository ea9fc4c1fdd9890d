"""Text: tokens, columns, spans and tag schemes."""
