"""The exceptions a caller may meet: each message says where, what was expected, what came, what to do."""


class ChaffinchError(ValueError):
    """What every exception raised on purpose inherits from; the command line turns it into exit code 2."""


class DataError(ChaffinchError):
    """Input that cannot be read or used as it stands."""


class ConfigError(ChaffinchError):
    """A setting out of range, an unknown name, or parts that do not fit together."""


class ModelFileError(ChaffinchError):
    """A model file that is damaged, foreign or from a newer version."""


def missing_extra(extra: str, module: str) -> ConfigError:
    """The error for an optional dependency that is not installed.

    >>> print(missing_extra("arrow", "pyarrow"))
    this needs pyarrow, which is not installed: pip install 'chaffinch[arrow]'
    """
    return ConfigError(f"this needs {module}, which is not installed: pip install 'chaffinch[{extra}]'")
