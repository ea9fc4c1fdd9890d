"""Templates of span parsers: columns w (the word, or a rare word's form), p (part of speech), s (first sign)."""

# What stands at the ends of a span and beside it, alone, in pairs and with its length; what is in it.
FINE = tuple(
    """
    length
    p[first]  p[last]  p[first-1]  p[last+1]
    w[first]  w[last]  w[first-1]  w[last+1]
    p[first]|length  p[last]|length  p[first-1]|length  p[last+1]|length
    p[first]|p[last]  p[first-1]|p[last+1]  p[first]|p[last+1]  p[first-1]|p[last]
    p[first-1]|p[first]  p[last]|p[last+1]
    w[first]|p[last]  p[first]|w[last]  w[first]|w[last]
    w[first-1]|p[first]  p[first-1]|w[first]  w[first-1]|w[first]
    w[last]|p[last+1]  p[last]|w[last+1]  w[last]|w[last+1]
    w[first-1]|w[last+1]  w[first]|p[last+1]  p[first]|w[last+1]  w[first-1]|p[last]
    p[first-1]|p[first]|p[last]  p[first]|p[last]|p[last+1]  p[first-1]|p[first]|p[last]|p[last+1]
    p[first]|p[first+1]  p[first]|p[first+1]|p[first+2]
    p[last-1]|p[last]  p[last-2]|p[last-1]|p[last]
    p[last+1]|p[last+2]  p[last]|p[last+1]|p[last+2]
    p[first-2]|p[first-1]  p[first-2]|p[first-1]|p[first]
    p[first]|p[last]|length  p[first-1]|p[last+1]|length
    sequence(p,5)  sequence(s,8)  inside(p)
    """.split()
)

# Enough to tell which spans are nodes at all.
COARSE = tuple(
    """
    length
    p[first]|length  p[last]|length  p[first-1]|length  p[last+1]|length
    p[first]|p[last]  p[first-1]|p[last+1]  p[first-1]|p[first]  p[last]|p[last+1]
    p[first-1]|p[first]|p[last]|p[last+1]
    """.split()
)
