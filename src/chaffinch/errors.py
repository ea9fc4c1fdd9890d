"""Exceptions that say where, what was expected, what came and what to do; and one warning."""

import sys
import warnings


class ChaffinchError(ValueError):
    """The base class of every exception raised on purpose; the command line turns it into exit code 2."""


class DataError(ChaffinchError):
    """Input that cannot be read or used as it stands."""


class ConfigError(ChaffinchError):
    """A setting out of range, an unknown name, or parts that do not fit together."""


class ModelFileError(ChaffinchError):
    """A model file that is damaged, foreign or from a newer version."""


class DataWarning(UserWarning):
    """Input that was read with a guess about its meaning, or with some of it left out.

    :mod:`warnings` can turn it into an error; the command line prints it on standard error.
    """


def warn_about_data(message: str) -> None:
    """Warn how data was understood, at the line that called the package."""
    warnings.warn(message, DataWarning, stacklevel=_frames_inside() + 1)


def _frames_inside() -> int:
    """The number of frames of this package between here and its caller."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("chaffinch"):
        frame, depth = frame.f_back, depth + 1
    return depth


def missing_extra(extra: str, module: str) -> ConfigError:
    """The error for an optional dependency that is not installed.

    >>> print(missing_extra("arrow", "pyarrow"))
    this needs pyarrow, which is not installed: pip install 'chaffinch[arrow]'
    """
    return ConfigError(f"this needs {module}, which is not installed: pip install 'chaffinch[{extra}]'")
