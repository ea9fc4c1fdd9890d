"""Kernels as plain values for a model file."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from chaffinch.errors import ConfigError, ModelFileError
from chaffinch.kernels import Component, FunctionKernel, Kernel, Normalised, Product, Scaled, Sum
from chaffinch.kernels.kernel import NAMED
from chaffinch.knobs import configured

SEVERAL: dict[str, type[Kernel]] = {"sum": Sum, "product": Product}
AROUND = ("normalised", "scaled", "part")  # kernels that wrap one other kernel
DEEPEST = 20


def described(kernel: Kernel) -> dict[str, Any]:
    """A kernel as names and numbers; ConfigError for a Python function, which cannot be saved.

    >>> from chaffinch.kernels import Rbf
    >>> described(Rbf(gamma=0.5).normalised())
    {'kernel': 'normalised', 'of': {'kernel': 'rbf', 'gamma': 0.5}}
    """
    for name, named in NAMED.items():
        if type(kernel) is named.kind:
            return {"kernel": name, **asdict(kernel)}  # type: ignore[call-overload]
    match kernel:
        case Sum(kernels) | Product(kernels):
            name = "sum" if isinstance(kernel, Sum) else "product"
            return {"kernel": name, "of": [described(k) for k in kernels]}
        case Scaled(inner, factor):
            return {"kernel": "scaled", "of": described(inner), "factor": factor}
        case Normalised(inner):
            return {"kernel": "normalised", "of": described(inner)}
        case Component(inner, at):
            return {"kernel": "part", "of": described(inner), "at": at}
        case FunctionKernel():
            raise ConfigError(
                "a kernel that is a Python function cannot be saved: a model file holds numbers, not code"
            )
    raise ConfigError(
        f"{type(kernel).__name__} cannot be saved; use one of {', '.join(NAMED)}, or a combination of them"
    )


def restored(description: Any, depth: int = 0) -> Kernel:
    """The kernel of a description; ModelFileError if the description is damaged.

    >>> restored({"kernel": "sum", "of": [{"kernel": "linear"}, {"kernel": "rbf", "gamma": 0.5}]})
    Sum(kernels=(LinearKernel(), Rbf(gamma=0.5)))
    """
    if not isinstance(description, Mapping) or depth > DEEPEST:
        raise ModelFileError("the kernel of the model is damaged: expected a name and settings")
    name, rest = description.get("kernel"), {k: v for k, v in description.items() if k != "kernel"}
    if name not in (*NAMED, *SEVERAL, *AROUND):
        raise ModelFileError(f"the kernel of the model is damaged: there is no kernel {name!r}")
    try:
        if name in NAMED:
            return configured(NAMED[name].kind, rest, f"kernel {name}")
        if name in SEVERAL:
            several = rest["of"]
            if not isinstance(several, list):
                raise TypeError("expected a list")
            return SEVERAL[name](tuple(restored(one, depth + 1) for one in several))  # type: ignore[call-arg]
        inner = restored(rest["of"], depth + 1)
        if name == "normalised":
            return Normalised(inner)
        if name == "scaled" and isinstance(rest["factor"], (int, float)) and math.isfinite(rest["factor"]):
            return Scaled(inner, float(rest["factor"]))
        if name == "part" and isinstance(rest["at"], (int, str)):
            return Component(inner, rest["at"])
    except (ConfigError, KeyError, TypeError) as error:
        raise ModelFileError(f"the kernel of the model is damaged: {error}") from None
    raise ModelFileError(
        f"the kernel of the model is damaged: there is no kernel {name!r} with these settings"
    )
