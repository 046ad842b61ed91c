"""Input checks shared by the kernels: what was expected, and what came."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

Array = Any  # a numpy, torch or other array-API array


def namespace(**arrays: Array) -> Any:
    """Return the one array namespace of floating-point `arrays` of one dtype on one device.

    Raises TypeError for lists, integers, booleans, or mixed libraries, dtypes or devices.
    """
    for name, x in arrays.items():
        array(name, x)
    xp = _one_namespace(arrays)
    for name, x in arrays.items():
        if not xp.isdtype(x.dtype, "real floating"):
            raise TypeError(f"{name} must be floating point (float16 to float64), got {x.dtype}")
    _same("dtype", {name: x.dtype for name, x in arrays.items()})
    _same("device", {name: device(x) for name, x in arrays.items()})
    return xp


def array(name: str, x: object) -> None:
    """Raise TypeError unless `x` is an array of a library that `array_api_compat` knows."""
    if not is_array_api_obj(x):
        raise TypeError(
            f"{name} must be an array (numpy, torch, ...), got {type(x).__name__}; "
            f"convert it first, for example np.asarray({name}, dtype=float)"
        )


def axes(name: str, x: Array, labels: str) -> None:
    """Raise ValueError unless `x` has at least the axes in `labels` and none of its axes is empty."""
    if x.ndim < max(1, len(labels.split())):
        wanted = f"shape (..., {labels})" if labels else "at least one axis"
        raise ValueError(f"{name} must have {wanted}, got shape {tuple(x.shape)}")
    if 0 in x.shape:
        raise ValueError(f"{name} must have no empty axis, got shape {tuple(x.shape)}")


def equal_sizes(what: str, **sizes: int) -> None:
    """Raise ValueError unless all `sizes` are equal."""
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{what}, got {_listed(sizes)}")


def last_axis(label: str, size: int, **arrays: Array) -> None:
    """Raise ValueError unless the last axis of each of `arrays` (..., n, `label`) has `size` entries."""
    for name, x in arrays.items():
        axes(name, x, f"n, {label}")
        if x.shape[-1] != size:
            raise ValueError(f"the last axis of {name} must be {label} = {size}, got shape {tuple(x.shape)}")


def broadcast(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that `shapes` broadcast to, or raise ValueError."""
    try:
        return np.broadcast_shapes(*(tuple(shape) for shape in shapes))
    except ValueError:
        came = " and ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(f"{what}, got {came}") from None


def queries_and_keys(q: Array, k: Array, scale: float | None) -> None:
    """Raise unless q (..., n_q, d_k) and k (..., n_k, d_k) can be compared."""
    axes("q", q, "n_q, d_k")
    axes("k", k, "n_k, d_k")
    equal_sizes("q and k must have the same last axis d_k", q=q.shape[-1], k=k.shape[-1])
    broadcast("the leading axes of q and k must broadcast", q.shape[:-2], k.shape[:-2])
    if scale is not None:
        finite_number("scale", scale)


def attention_inputs(q: Array, k: Array, v: Array, mask: Array | None, xp: Any) -> None:
    """Raise unless q, k, v (..., n_k, d_v) and mask (..., n_q, n_k) fit together."""
    queries_and_keys(q, k, None)
    axes("v", v, "n_k, d_v")
    equal_sizes("k and v must have the same number of rows n_k", k=k.shape[-2], v=v.shape[-2])
    what = "the leading axes of q, k and v must broadcast"
    leading = broadcast(what, q.shape[:-2], k.shape[:-2], v.shape[:-2])
    if mask is not None:
        boolean_mask(mask, q, xp)
        shape = (*leading, q.shape[-2], k.shape[-2])
        if not _fits(mask.shape, shape):
            raise ValueError(f"mask must broadcast to the scores' shape {shape}, got {tuple(mask.shape)}")


def scores_shape(q: Array, k: Array, mask: Array) -> tuple[int, ...]:
    """Return the shape (..., n_q, n_k) that the masked scores of q and k have."""
    leading = broadcast("leading axes must broadcast", q.shape[:-2], k.shape[:-2])
    return broadcast("mask must fit", (*leading, q.shape[-2], k.shape[-2]), mask.shape)


def boolean_mask(mask: Array, q: Array, xp: Any) -> None:
    """Raise TypeError unless `mask` is a boolean array of q's library and device."""
    if not is_array_api_obj(mask):
        raise TypeError(f"mask must be a boolean array, got {type(mask).__name__}")
    _one_namespace({"q": q, "mask": mask})
    if not xp.isdtype(mask.dtype, "bool"):
        raise TypeError(
            f"mask must be boolean with True = may attend, got {mask.dtype}; write mask == 1 "
            "if 1 means 'may attend', mask == 0 if 1 means 'blocked' or if it is 0 and -inf"
        )
    _same("device", {"q": device(q), "mask": device(mask)})
    axes("mask", mask, "")


def heads_mask(mask: Array, q: Array, k: Array, xp: Any) -> None:
    """Raise unless it is certain which axis of `mask` belongs to the heads of q and k.

    Broadcasting would take the batch axis of (batch, n_q, n_k) for the axis of the heads: an error
    when the sizes differ, and a wrong result without a word when they happen to be equal.
    """
    boolean_mask(mask, q, xp)
    n_axes, n_heads = max(q.ndim, k.ndim), q.shape[-3]
    if mask.ndim > 2 and (mask.ndim < n_axes or mask.shape[-3] not in (1, n_heads)):
        raise ValueError(
            f"mask must have shape (n_q, n_k), or {n_axes} axes with 1 or n_heads = {n_heads} third from the "
            f"end, got {tuple(mask.shape)}; if it is (batch, n_q, n_k), write mask[:, None] for all heads"
        )


def lengths(x: Array, n_k: int) -> Any:
    """Return the namespace of the integer array `x`; raise unless 0 <= x <= n_k."""
    if not is_array_api_obj(x):
        raise TypeError(f"lengths must be an integer array, got {type(x).__name__}")
    xp = array_namespace(x)
    if not xp.isdtype(x.dtype, "integral"):
        raise TypeError(f"lengths must be an integer array, got {x.dtype}")
    x = xp.astype(x, xp.int64)  # a small integer type could not hold n_k
    if bool(xp.any((x < 0) | (x > n_k))):
        raise ValueError(f"lengths must be from 0 to n_k = {n_k}, got {x}")
    return xp


def divides(n_heads: int, d_model: int) -> None:
    """Raise unless `n_heads` divides `d_model`."""
    positive_int("n_heads", n_heads)
    if d_model % n_heads:
        fitting = [n for n in range(1, d_model + 1) if d_model % n == 0]
        raise ValueError(f"n_heads must divide d_model = {d_model} (one of {fitting}), got {n_heads}")


def projections(x_q: Array, x_kv: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array) -> None:
    """Raise unless the weight matrices of multi-head attention fit their inputs."""
    axes("x_q", x_q, "n_q, d_in")
    axes("x_kv", x_kv, "n_k, d_kv")
    for name, w in {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}.items():
        if w.ndim != 2:
            raise ValueError(f"{name} must have 2 axes (d_in, d_out), got shape {tuple(w.shape)}")
    equal_sizes("w_q needs a row for each feature of x_q", x_q=x_q.shape[-1], w_q=w_q.shape[0])
    equal_sizes("w_k needs a row for each feature of x_kv", x_kv=x_kv.shape[-1], w_k=w_k.shape[0])
    equal_sizes("w_v needs a row for each feature of x_kv", x_kv=x_kv.shape[-1], w_v=w_v.shape[0])
    equal_sizes("w_o needs a row for each column of w_v", w_v=w_v.shape[-1], w_o=w_o.shape[0])


def additive_inputs(q: Array, k: Array, w_q: Array, w_k: Array, w_v: Array) -> None:
    """Raise unless the arrays of additive scoring fit together."""
    axes("q", q, "n_q, d_q")
    axes("k", k, "n_k, d_k")
    broadcast("the leading axes of q and k must broadcast", q.shape[:-2], k.shape[:-2])
    for name, w in {"w_q": w_q, "w_k": w_k}.items():
        matrix(name, w, "d_in, d_hidden")
    if w_v.ndim != 1:
        raise ValueError(f"w_v must have shape (d_hidden,), got shape {tuple(w_v.shape)}")
    equal_sizes("w_q needs a row for each feature of q", q=q.shape[-1], w_q=w_q.shape[0])
    equal_sizes("w_k needs a row for each feature of k", k=k.shape[-1], w_k=w_k.shape[0])
    what = "w_q, w_k and w_v must have the same last axis d_hidden"
    equal_sizes(what, w_q=w_q.shape[1], w_k=w_k.shape[1], w_v=w_v.shape[0])


def positions(x: Array, like: Array, xp: Any) -> None:
    """Raise unless `x` holds one number for each row of `like` (..., n, d), in its library and device."""
    array("positions", x)
    _one_namespace({"x": like, "positions": x})
    if not xp.isdtype(x.dtype, ("integral", "real floating")):
        raise TypeError(f"positions must be integers or floating point, got {x.dtype}")
    _same("device", {"x": device(like), "positions": device(x)})
    if tuple(x.shape) != (like.shape[-2],):
        raise ValueError(f"positions must have shape (n,) = ({like.shape[-2]},), got {tuple(x.shape)}")


def matrix(name: str, w: Array, labels: str) -> None:
    """Raise ValueError unless `w` has the two axes in `labels` and neither is empty."""
    if w.ndim != 2:
        raise ValueError(f"{name} must have 2 axes ({labels}), got shape {tuple(w.shape)}")
    axes(name, w, labels)


def positive_number(name: str, value: object) -> None:
    """Raise TypeError unless `value` is a real number, ValueError unless it is finite and above 0."""
    finite_number(name, value)
    if not float(value) > 0:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be above 0, got {value}")


def even(name: str, value: int) -> None:
    """Raise unless `value` is an even integer of at least 2."""
    positive_int(name, value)
    if value % 2:
        raise ValueError(f"{name} must be even, because its columns are taken in pairs, got {value}")


def at_least_float32(dtype: Any, xp: Any) -> Any:
    """Return `dtype`, or float32 for a type of 16 bits."""
    return xp.float32 if xp.finfo(dtype).bits < 32 else dtype


def finite_number(name: str, value: object) -> None:
    """Raise TypeError unless `value` is a real number, ValueError unless it is finite."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")


def share(name: str, value: float) -> None:
    """Raise TypeError unless `value` is a number, ValueError unless it is from 0 to 1."""
    finite_number(name, value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, got {value}")


def axis(name: str, value: int, x: Array) -> None:
    """Raise unless `value` is the number of one axis of `x`."""
    whole_number(name, value)
    if not -x.ndim <= value < x.ndim:
        raise ValueError(f"{name} must be from {-x.ndim} to {x.ndim - 1}, got {value}")


def positive_int(name: str, value: int) -> None:
    """Raise unless `value` is an integer of at least 1."""
    whole_number(name, value)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


def whole_number(name: str, value: object) -> None:
    """Raise TypeError unless `value` is an integer (a bool is not one)."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}")


def _fits(mask: tuple[int, ...], scores: tuple[int, ...]) -> bool:
    """May a mask of this shape be used for scores of that shape? It may add leading axes only."""
    try:
        return np.broadcast_shapes(tuple(mask), scores)[-2:] == scores[-2:]
    except ValueError:
        return False


def _one_namespace(arrays: dict[str, Array]) -> Any:
    try:
        return array_namespace(*arrays.values())
    except TypeError:
        came = _listed({name: type(x).__module__.split(".")[0] for name, x in arrays.items()})
        raise TypeError(f"all arrays must come from one library, got {came}") from None


def _same(what: str, came: dict[str, Any]) -> None:
    if len(set(map(str, came.values()))) > 1:
        raise TypeError(f"all arrays must have one {what}, got {_listed(came)}")


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
