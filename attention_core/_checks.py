"""Input checks of the whole package: what was expected, and what came."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

Array = Any  # a numpy, torch or other array-API array
Shape = tuple[int, ...]

# What arrays of these names hold, in the array API's words and in ours.
KINDS: dict[str, tuple[Any, str]] = {
    "mask": (
        "bool",
        "boolean with True = may attend, got {}; write mask == 1 if 1 means 'may attend', "
        "mask == 0 if 1 means 'blocked' or if it is 0 and -inf",
    ),
    "lengths": ("integral", "an array of integers, got {}"),
    "positions": (("integral", "real floating"), "integers or floating point, got {}"),
}
_PASSED: dict[tuple[Any, type, Any], Any] = {}  # kinds of arrays that were accepted, and their libraries
FLOATING = ("real floating", "floating point numbers, got {}")  # all other arrays, in one dtype


def inputs(spec: str, **arrays: Array) -> Any:
    """Return the array namespace of `arrays`; raise unless their kinds and shapes fit together.

    `spec` has the docstrings' own words: "q ... n_q d_k | k ... n_k d_k | w_q d_k d_model=512". A size
    named twice is the same size, leading axes (...) broadcast, and no axis is empty. Arrays that are
    not in `spec` have their kinds checked alone, but a `mask` must broadcast to (..., n_q, n_k) where
    these are sizes. None is left out.

    Raises TypeError for what is no array, holds other numbers than it should, or for mixed libraries,
    dtypes or devices; ValueError for shapes.
    """
    arrays = {name: x for name, x in arrays.items() if x is not None}
    libraries = [_library(name, x) for name, x in arrays.items()]
    if not _same([xp.__name__ for xp in libraries]):
        came = {name: type(x).__module__.split(".")[0] for name, x in arrays.items()}
        _refuse("all arrays must come from one library", came, TypeError)
    dtypes = {name: x.dtype for name, x in arrays.items() if name not in KINDS}
    if not _same(list(dtypes.values())) and not _autocast(arrays, libraries[0]):
        _refuse("all arrays must have one dtype", dtypes, TypeError)
    places = {name: device(x) for name, x in arrays.items()}
    if not _same([place for place in places.values() if place is not None]):  # jax.jit knows of none
        _refuse("all arrays must have one device", places, TypeError)
    _check_shapes(spec, {name: tuple(x.shape) for name, x in arrays.items()})
    return libraries[0]


def array(name: str, x: object) -> None:
    """Raise TypeError unless `x` is an array of a library that `array_api_compat` knows."""
    if isinstance(x, np.ma.MaskedArray):  # numpy's functions would compute with what it hides
        raise TypeError(f"{name} must be an array without gaps, got MaskedArray; write {name}.filled(0)")
    if not is_array_api_obj(x):
        dtype = {"mask": "bool", "lengths": "int"}.get(name, "float")
        raise TypeError(
            f"{name} must be an array (numpy, torch, ...), got {type(x).__name__}; "
            f"convert it first, for example np.asarray({name}, dtype={dtype})"
        )


def broadcast(*shapes: Shape) -> Shape | None:
    """Return the shape that `shapes` broadcast to, or None."""
    n_axes = max([0, *[len(shape) for shape in shapes]])
    result = [1] * n_axes
    for shape in shapes:
        for axis, size in enumerate(shape, start=n_axes - len(shape)):
            if size != 1 and result[axis] not in (1, size):
                return None
            result[axis] = size if size != 1 else result[axis]
    return tuple(result)


def fitting_mask(mask: Shape, scores: Shape) -> None:
    """Raise ValueError unless a mask of this shape serves such scores: it may add leading axes only."""
    if not mask or 0 in mask:
        raise ValueError(f"mask must have at least one axis, and no empty one, got shape {mask}")
    full = broadcast(mask, scores)
    if full is None or full[-2:] != scores[-2:]:
        raise ValueError(f"mask must broadcast to the scores' shape {scores}, got {mask}")


def integer(name: str, value: object, low: int | None = None, high: int | None = None) -> None:
    """Raise TypeError unless `value` is an integer (no bool), ValueError unless low <= value <= high."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")
    if low is not None and high is None and int(value) < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    if low is not None and high is not None and not low <= int(value) <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {value}")


def number(name: str, value: object, *, above: float | None = None) -> None:
    """Raise TypeError unless `value` is a real number, ValueError unless it is finite and above that."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    if above is not None and not float(value) > above:
        raise ValueError(f"{name} must be above {above}, got {value}")


def equal(what: str, **sizes: int) -> None:
    """Raise ValueError unless all `sizes` are equal."""
    if not _same(list(sizes.values())):
        _refuse(what, sizes)


def _library(name: str, x: Array) -> Any:
    """Return the array namespace of `x`; raise unless it holds what an array of its name should."""
    numbers, words = KINDS.get(name, FLOATING)
    kind = (numbers, type(x), getattr(x, "dtype", None))
    if kind not in _PASSED:
        array(name, x)
        xp = array_namespace(x)
        if not xp.isdtype(x.dtype, numbers):
            raise TypeError(f"{name} must be {words.format(x.dtype)}")
        if not getattr(x.dtype, "isnative", True):
            raise TypeError(f"{name} must have the byte order of this machine, got {x.dtype.str}")
        _PASSED[kind] = xp
    return _PASSED[kind]


def _autocast(arrays: dict[str, Array], xp: Any) -> bool:
    """Is torch.autocast on? Then torch makes one dtype of several."""
    where = next(iter(arrays.values())).device
    return hasattr(xp, "is_autocast_enabled") and xp.is_autocast_enabled(where.type)


def _check_shapes(spec: str, shapes: dict[str, Shape]) -> None:
    sizes: dict[str, int] = {}
    leading: dict[str, Shape] = {}
    for part in spec.split(" | ") if spec else ():
        name, *labels = part.split()
        shape = shapes[name]
        own = labels[1:] if labels[0] == "..." else labels
        start = len(shape) - len(own)  # so many leading axes
        if start < 0 or (start and own is labels):
            raise ValueError(f"{name} must have shape {_in_words(labels)}, got shape {shape}")
        if 0 in shape:
            raise ValueError(f"{name} must have no empty axis, got shape {shape}")
        for label, size in zip(own, shape[start:], strict=True):
            if "=" in label:
                label, wanted = label.split("=")
                if size != int(wanted):
                    raise ValueError(f"{name} must have shape {_in_words(labels)}, got shape {shape}")
            if sizes.setdefault(label, size) != size:
                _misfit(label, spec, shapes)
        if own is not labels:
            leading[name] = shape[:start]
    axes = broadcast(*leading.values())
    if axes is None:
        came = {name: shapes[name] for name in leading}
        _refuse(f"the leading axes of {_and(leading)} must broadcast", came)
    elif "mask" in shapes and "n_q" in sizes:
        fitting_mask(shapes["mask"], (*axes, sizes["n_q"], sizes["n_k"]))


def _misfit(label: str, spec: str, shapes: dict[str, Shape]) -> NoReturn:
    parts = {name: labels for name, *labels in map(str.split, spec.split(" | "))}
    having = [name for name in parts if label in (each.partition("=")[0] for each in parts[name])]
    where = _and(f"{name} {_in_words(parts[name])}" for name in having)
    _refuse(f"{label} must be the same in {where}", {name: shapes[name] for name in having})


def _same(values: list[Any]) -> bool:
    return not values or values.count(values[0]) == len(values)


def _in_words(labels: list[str]) -> str:
    return f"({', '.join(labels)}{',' if len(labels) == 1 else ''})"


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _refuse(wanted: str, came: dict[str, Any], error: type[Exception] = ValueError) -> NoReturn:
    raise error(f"{wanted}, got " + ", ".join(f"{name} {value}" for name, value in came.items()))
