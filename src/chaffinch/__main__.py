"""The entry point, also of ``python -m chaffinch``: Ctrl-C while the command line is imported is one sentence, too."""

import sys


def main() -> None:
    """Import the command line, which takes most of the start-up time, and run it."""
    try:
        from chaffinch.cli import main as command_line
    except BaseException as e:
        cause: BaseException | None = e
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__  # Python wraps what is raised while a class is made
        if cause is None:
            raise
        sys.stderr.write("chaffinch: interrupted: nothing was begun\n")
        raise SystemExit(130) from None
    command_line()


if __name__ == "__main__":
    main()
