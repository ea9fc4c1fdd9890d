"""Kernels: similarities of two objects, computed as inner products of implicit features."""

from chaffinch.kernels.cache import GramRows
from chaffinch.kernels.kernel import (
    Component,
    FunctionKernel,
    Kernel,
    Normalised,
    Objects,
    Product,
    Scaled,
    Sum,
)
from chaffinch.kernels.sequences import Mismatch, Spectrum, Subsequence, WordSequence
from chaffinch.kernels.trees import PartialTreeKernel, SubsetTreeKernel, SubtreeKernel
from chaffinch.kernels.vectors import DenseRows, LinearKernel, Polynomial, Rbf, Sigmoid, VectorKernel

Part = Component  # its name in earlier versions

__all__ = [
    "Component",
    "DenseRows",
    "FunctionKernel",
    "GramRows",
    "Kernel",
    "LinearKernel",
    "Mismatch",
    "Normalised",
    "Objects",
    "Part",
    "PartialTreeKernel",
    "Polynomial",
    "Product",
    "Rbf",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "SubsetTreeKernel",
    "SubtreeKernel",
    "Sum",
    "VectorKernel",
    "WordSequence",
]
