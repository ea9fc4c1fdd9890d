"""Features: templates over token columns, n-grams of text, and the index that numbers them."""
