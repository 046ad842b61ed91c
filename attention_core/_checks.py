"""Input checks shared by the kernels: what was expected, and what came."""

import math
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj

Array = Any  # a numpy, torch or other array-API array
Shape = tuple[int, ...]

# A check of kinds or of shapes that passed is not made again: it takes as long as a small attention.
_NAMESPACES: dict[frozenset[Any], Any] = {}
_MASKS: set[tuple[Any, Any]] = set()


def namespace(**arrays: Array) -> Any:
    """Return the one array namespace of floating-point `arrays` of one dtype on one device.

    Raises TypeError for lists, integers, booleans, or mixed libraries, dtypes or devices.
    """
    kinds = frozenset([_kind(x) for x in arrays.values()])
    if kinds not in _NAMESPACES:
        _NAMESPACES[kinds] = _checked_namespace(arrays)
    return _NAMESPACES[kinds]


def _checked_namespace(arrays: dict[str, Array]) -> Any:
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
    _axes(name, x.shape, labels)


@lru_cache
def _axes(name: str, shape: Shape, labels: str) -> None:
    if len(shape) <= labels.count(","):
        wanted = f"shape (..., {labels})" if labels else "at least one axis"
        raise ValueError(f"{name} must have {wanted}, got shape {tuple(shape)}")
    if 0 in shape:
        raise ValueError(f"{name} must have no empty axis, got shape {tuple(shape)}")


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


def broadcast(what: str, *shapes: Shape) -> Shape:
    """Return the shape that `shapes` broadcast to, or raise ValueError."""
    try:
        return np.broadcast_shapes(*(tuple(shape) for shape in shapes))
    except ValueError:
        came = " and ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(f"{what}, got {came}") from None


def queries_and_keys(q: Array, k: Array, scale: float | None) -> None:
    """Raise unless q (..., n_q, d_k) and k (..., n_k, d_k) can be compared."""
    _comparable(q.shape, k.shape)
    if scale is not None:
        finite_number("scale", scale)


@lru_cache
def _comparable(q: Shape, k: Shape) -> None:
    _axes("q", q, "n_q, d_k")
    _axes("k", k, "n_k, d_k")
    equal_sizes("q and k must have the same last axis d_k", q=q[-1], k=k[-1])
    broadcast("the leading axes of q and k must broadcast", q[:-2], k[:-2])


def attention_inputs(q: Array, k: Array, v: Array, mask: Array | None, xp: Any) -> None:
    """Raise unless q, k, v (..., n_k, d_v) and mask (..., n_q, n_k) fit together."""
    shape = _attention_shape(q.shape, k.shape, v.shape)
    if mask is not None:
        boolean_mask(mask, q, xp)
        fitting_mask(mask, shape)


@lru_cache
def _attention_shape(q: Shape, k: Shape, v: Shape) -> Shape:
    """Return the shape (..., n_q, n_k) of the scores of q and k with every leading axis of v."""
    _comparable(q, k)
    _axes("v", v, "n_k, d_v")
    equal_sizes("k and v must have the same number of rows n_k", k=k[-2], v=v[-2])
    leading = broadcast("the leading axes of q, k and v must broadcast", q[:-2], k[:-2], v[:-2])
    return (*leading, q[-2], k[-2])


def scores_and_values(scores: Array, v: Array, mask: Array | None, xp: Any) -> None:
    """Raise unless scores (..., n_q, n_k), v (..., n_k, d_v) and mask (..., n_q, n_k) fit together."""
    shape = _weights_shape(scores.shape, v.shape)
    if mask is not None:
        boolean_mask(mask, scores, xp, "scores")
        fitting_mask(mask, shape)


@lru_cache
def _weights_shape(scores: Shape, v: Shape) -> Shape:
    """Return the shape of the scores with every leading axis of v."""
    _axes("scores", scores, "n_q, n_k")
    _axes("v", v, "n_k, d_v")
    equal_sizes("scores need a column for each row of v", scores=scores[-1], v=v[-2])
    leading = broadcast("the leading axes of scores and v must broadcast", scores[:-2], v[:-2])
    return (*leading, *scores[-2:])


def fitting_mask(mask: Array, shape: Shape) -> None:
    """Raise ValueError unless `mask` may be used for scores of this shape: it may add leading axes only."""
    if not _fits(mask.shape, shape):
        raise ValueError(f"mask must broadcast to the scores' shape {shape}, got {tuple(mask.shape)}")


@lru_cache
def _fits(mask: Shape, scores: Shape) -> bool:
    try:
        return np.broadcast_shapes(mask, scores)[-2:] == scores[-2:]
    except ValueError:
        return False


def boolean_mask(mask: Array, like: Array, xp: Any, name: str = "q") -> None:
    """Raise TypeError unless `mask` is a boolean array of the library and device of `like`, called `name`."""
    kinds = (_kind(mask), _kind(like))
    if kinds not in _MASKS:
        _check_mask(mask, like, xp, name)
        _MASKS.add(kinds)
    axes("mask", mask, "")


def _check_mask(mask: Array, like: Array, xp: Any, name: str) -> None:
    if not is_array_api_obj(mask):
        raise TypeError(f"mask must be a boolean array, got {type(mask).__name__}")
    _one_namespace({name: like, "mask": mask})
    if not xp.isdtype(mask.dtype, "bool"):
        raise TypeError(
            f"mask must be boolean with True = may attend, got {mask.dtype}; write mask == 1 "
            "if 1 means 'may attend', mask == 0 if 1 means 'blocked' or if it is 0 and -inf"
        )
    _same("device", {name: device(like), "mask": device(mask)})


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
    _divides("n_heads", n_heads, "d_model", d_model)


def groups(n_kv_heads: int, n_heads: int) -> None:
    """Raise unless the heads of the queries can share `n_kv_heads` heads of keys, equally many each."""
    _divides("n_kv_heads", n_kv_heads, "n_heads", n_heads)


def _divides(name: str, part: int, whole_name: str, whole: int) -> None:
    positive_int(name, part)
    if whole % part:
        fitting = [n for n in range(1, whole + 1) if whole % n == 0]
        raise ValueError(f"{name} must divide {whole_name} = {whole} (one of {fitting}), got {part}")


def projections(
    x_q: Array, x_kv: Array, w_q: Array, w_k: Array, w_v: Array, w_o: Array, n_heads: int, n_kv_heads: int
) -> None:
    """Raise unless the weight matrices of multi-head attention fit their inputs and the numbers of heads."""
    axes("x_q", x_q, "n_q, d_in")
    axes("x_kv", x_kv, "n_k, d_kv")
    for name, w in {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}.items():
        matrix(name, w, "d_in, d_out")
    equal_sizes("w_q needs a row for each feature of x_q", x_q=x_q.shape[-1], w_q=w_q.shape[0])
    equal_sizes("w_k needs a row for each feature of x_kv", x_kv=x_kv.shape[-1], w_k=w_k.shape[0])
    equal_sizes("w_v needs a row for each feature of x_kv", x_kv=x_kv.shape[-1], w_v=w_v.shape[0])
    divides(n_heads, w_q.shape[1])
    groups(n_kv_heads, n_heads)
    d_head = w_q.shape[1] // n_heads
    wanted = f"n_kv_heads · d_head = {n_kv_heads} · {d_head}"
    if w_k.shape[1] != n_kv_heads * d_head:
        raise ValueError(f"w_k must have {wanted} columns, got {w_k.shape[1]}")
    if w_v.shape[1] % n_kv_heads:
        raise ValueError(f"n_kv_heads = {n_kv_heads} must divide the columns of w_v, got {w_v.shape[1]}")
    columns = w_v.shape[1] // n_kv_heads * n_heads
    equal_sizes("w_o needs a row for each value column of each head", columns=columns, w_o=w_o.shape[0])


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


def _kind(x: object) -> tuple[type, Any, Any]:
    return type(x), getattr(x, "dtype", None), getattr(x, "device", None)


def _one_namespace(arrays: dict[str, Array]) -> Any:
    try:
        return array_namespace(*arrays.values())
    except TypeError:
        came = _listed({name: type(x).__module__.split(".")[0] for name, x in arrays.items()})
        raise TypeError(f"all arrays must come from one library, got {came}") from None


def _same(what: str, came: dict[str, Any]) -> None:
    known = [x for x in came.values() if x is not None]  # under jax.jit an array has no device yet
    if len(set(map(str, known))) > 1:
        raise TypeError(f"all arrays must have one {what}, got {_listed(came)}")


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
