"""The array libraries and dtypes that the kernels are tested with."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass(frozen=True)
class Library:
    """One way to hold numbers: a library, a floating-point type, and whether arrays may be written to."""

    name: str
    dtype: str = "float64"
    read_only: bool = False

    def __str__(self) -> str:
        return f"{self.name}-{self.dtype}" + ("-read-only" if self.read_only else "")

    @property
    def eps(self) -> float:
        return EPS[self.dtype]

    def array(self, values: Any) -> Any:
        return self._make(np.asarray(values, dtype=float), self.dtype)

    def booleans(self, values: Any) -> Any:
        return self._make(np.asarray(values, dtype=bool), "bool")

    def integers(self, values: Any) -> Any:
        return self._make(np.asarray(values, dtype=int), "int64")

    def numpy(self, x: Any) -> np.ndarray:
        """Return a numpy copy that holds every number of `x`, bfloat16 too."""
        if self.name != "torch":
            return np.array(x)
        x = x.detach()
        return (x.double() if x.is_floating_point() else x).numpy().copy()

    def _make(self, values: np.ndarray, dtype: str) -> Any:
        if self.name == "torch":
            torch = import_module("torch")
            return torch.tensor(values).to(getattr(torch, dtype))
        array = values.astype(dtype)
        array.setflags(write=not self.read_only)
        if self.name == "numpy":
            return array
        return import_module(self.name).asarray(array)


FLOAT64 = [
    Library("numpy"),
    Library("numpy", read_only=True),
    Library("torch"),
    Library("array_api_strict"),
]
LIBRARIES = [
    *FLOAT64,
    Library("numpy", "float16"),
    Library("numpy", "float32"),
    Library("torch", "bfloat16"),
    Library("torch", "float16"),
    Library("torch", "float32"),
    Library("array_api_strict", "float32"),
]
