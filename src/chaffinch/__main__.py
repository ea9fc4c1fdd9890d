"""``python -m chaffinch``: the command line if its script is not on the path."""

from chaffinch.cli import main

if __name__ == "__main__":
    main()
