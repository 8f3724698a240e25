"""Every primitive that has an interval rule, used at least once, on boxes of every sign."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.graph import Graph, Interval, trace

from .soundness import sample
from .zoo import clipped_exponential, draws, scaled

ANY = Interval(
    np.array([-1.5, -0.3, 0.2, 1.0, -2.0, 0.0]), np.array([-0.5, 0.4, 0.9, 1.0, 3.0, 0.5])
)
OTHER = Interval(
    np.array([0.5, -1.0, -3.0, -0.2, 1.0, -2.0]), np.array([1.5, 2.0, -1.0, 0.3, 1.0, 0.0])
)
POSITIVE = Interval(
    np.array([0.1, 1.0, 2.0, 0.5, 1e-3, 30.0]), np.array([0.4, 1.5, 7.0, 0.5, 4.0, 60.0])
)
UNIT = Interval(
    np.array([-0.9, -0.2, 0.1, 0.5, -0.6, 0.0]), np.array([-0.4, 0.3, 0.8, 0.5, 0.7, 0.99])
)
IMAGE = Interval.around(draws(2, 4, 5, 5), 0.3)
KERNEL = Interval.around(draws(4, 2, 3, 2), 0.1)
MATRIX = Interval.around(draws(3, 4), 0.5)

W = draws(5, 6, seed=2)
FIXED_KERNEL = draws(4, 2, 3, 2, seed=9)


def _windows(x, kind):
    init = {lax.max: -jnp.inf, lax.min: jnp.inf, lax.add: 0.0}[kind]
    return lax.reduce_window(
        x,
        init,
        kind,
        (1, 1, 3, 2),
        (1, 1, 2, 1),
        ((0, 0), (0, 0), (1, 2), (0, 1)),
        base_dilation=(1, 1, 1, 2),
        window_dilation=(1, 1, 1, 2),
    )


def _convolve(x, k):
    return lax.conv_general_dilated(
        x,
        k,
        (2, 1),
        ((1, 2), (-1, 1)),
        lhs_dilation=(1, 2),
        rhs_dilation=(2, 1),
        feature_group_count=2,
    )


TABLE = {
    "exp": lambda v: jnp.exp(v["any"]),
    "exp2": lambda v: jnp.exp2(v["any"]),
    "expm1": lambda v: jnp.expm1(v["any"]),
    "log": lambda v: jnp.log(v["positive"]),
    "log1p": lambda v: jnp.log1p(v["unit"]),
    "tanh": lambda v: jnp.tanh(v["any"]),
    "logistic": lambda v: jax.nn.sigmoid(v["any"]),
    "erf": lambda v: lax.erf(v["any"]),
    "erfc": lambda v: lax.erfc(v["any"]),
    "erf_inv": lambda v: lax.erf_inv(v["unit"]),
    "sinh": lambda v: jnp.sinh(v["any"]),
    "asinh": lambda v: jnp.arcsinh(v["any"]),
    "acosh": lambda v: jnp.arccosh(v["positive"] + 1),
    "atanh": lambda v: jnp.arctanh(v["unit"]),
    "atan": lambda v: jnp.arctan(v["any"]),
    "asin": lambda v: jnp.arcsin(v["unit"]),
    "acos": lambda v: jnp.arccos(v["unit"]),
    "cbrt": lambda v: jnp.cbrt(v["any"]),
    "rsqrt": lambda v: lax.rsqrt(v["positive"]),
    "sqrt": lambda v: jnp.sqrt(v["positive"]),
    "sin": lambda v: jnp.sin(3 * v["any"]),
    "cos": lambda v: jnp.cos(3 * v["any"]),
    "tan": lambda v: jnp.tan(v["unit"]),
    "cosh": lambda v: jnp.cosh(v["any"]),
    "atan2": lambda v: jnp.arctan2(v["any"], v["other"]),
    "add": lambda v: v["any"] + v["other"],
    "add_any": lambda v: jax.grad(lambda x: jnp.sum(x * jnp.sin(x)))(v["any"]),
    "sub": lambda v: v["any"] - v["other"],
    "mul": lambda v: v["any"] * v["other"],
    "div": lambda v: v["any"] / v["positive"],
    "neg": lambda v: -v["any"],
    "abs": lambda v: jnp.abs(v["any"]),
    "square": lambda v: jnp.square(v["any"]),
    "integer_pow": lambda v: (
        v["any"] ** 4,
        v["any"] ** 5,
        v["positive"] ** -3,
        (v["any"] + 4) ** -2,
    ),
    "pow": lambda v: (v["positive"] ** v["any"], v["positive"] ** 1.5),
    "rem": lambda v: lax.rem(v["any"], jnp.asarray(0.7)),
    "sign": lambda v: jnp.sign(v["any"]),
    "floor": lambda v: jnp.floor(2 * v["any"]),
    "ceil": lambda v: jnp.ceil(2 * v["any"]),
    "round": lambda v: (jnp.round(2 * v["any"]), lax.round(2 * v["any"])),
    "max": lambda v: jnp.maximum(v["any"], v["other"]),
    "min": lambda v: jnp.minimum(v["any"], v["other"]),
    "clamp": lambda v: lax.clamp(-0.1, v["any"], 0.6),
    "select_n": lambda v: jnp.where(v["other"] > 0.25, v["any"], v["positive"]),
    "lt": lambda v: v["any"] < v["other"],
    "le": lambda v: v["any"] <= v["other"],
    "gt": lambda v: v["any"] > v["other"],
    "ge": lambda v: v["any"] >= v["other"],
    "eq": lambda v: jnp.round(v["any"]) == jnp.round(v["other"]),
    "ne": lambda v: jnp.round(v["any"]) != jnp.round(v["other"]),
    "and": lambda v: (v["any"] > 0) & (v["other"] > 0),
    "or": lambda v: (v["any"] > 0) | (v["other"] > 0),
    "xor": lambda v: (v["any"] > 0) ^ (v["other"] > 0),
    "not": lambda v: ~(v["any"] > 0),
    "is_finite": lambda v: jnp.isfinite(v["any"]),
    "convert_element_type": lambda v: ((3 * v["any"]).astype(int), (v["any"] > 0).astype(float)),
    "copy": lambda v: jnp.array(v["any"], copy=True),
    "stop_gradient": lambda v: lax.stop_gradient(v["any"]),
    "reduce_sum": lambda v: v["matrix"].sum(1),
    "reduce_max": lambda v: v["matrix"].max(0),
    "reduce_min": lambda v: v["matrix"].min(),
    "reduce_prod": lambda v: v["matrix"].prod(1),
    "reduce_and": lambda v: (
        v["matrix"] > v["matrix"].min(1, keepdims=True) + v["any"][1] - 0.05
    ).all(1),
    "reduce_or": lambda v: (v["matrix"] > 0).any(1),
    "argmax": lambda v: jnp.argmax(v["matrix"], 1),
    "argmin": lambda v: jnp.argmin(v["matrix"], 0),
    "cumsum": lambda v: (lax.cumsum(v["matrix"], 1), lax.cumsum(v["matrix"], 0, reverse=True)),
    "cumprod": lambda v: (lax.cumprod(v["matrix"], 1), lax.cumprod(v["matrix"], 0, reverse=True)),
    "cummax": lambda v: lax.cummax(v["matrix"], 1, reverse=True),
    "cummin": lambda v: lax.cummin(v["matrix"], 0),
    "sort": lambda v: (lax.sort(v["matrix"], dimension=0), jnp.argsort(v["matrix"], axis=1)),
    "top_k": lambda v: (lax.top_k(v["matrix"], 2), lax.top_k(v["matrix"], 2, axis=0)),
    "reduce_window_sum": lambda v: _windows(v["image"], lax.add),
    "reduce_window_max": lambda v: _windows(v["image"], lax.max)[:, :, :2, 1:],
    "reduce_window_min": lambda v: _windows(v["image"], lax.min)[:, :, :2, 1:],
    "dot_general": lambda v: (
        W @ v["any"],
        v["matrix"].T @ v["matrix"],
        v["any"] @ v["any"],
        jnp.einsum("bchw,bchv->bhwv", v["image"], v["image"]),
    ),
    "conv_general_dilated": lambda v: (
        _convolve(v["image"], FIXED_KERNEL),
        _convolve(v["image"], v["kernel"]),
        lax.conv_general_dilated(
            v["image"].transpose(0, 2, 3, 1),
            jnp.asarray(FIXED_KERNEL.T),
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "WHIO", "NHWC"),
            feature_group_count=2,
        ),
    ),
    "reshape": lambda v: v["matrix"].reshape(2, 6),
    "transpose": lambda v: v["image"].transpose(2, 0, 3, 1),
    "broadcast_in_dim": lambda v: jnp.broadcast_to(v["any"][:, None], (6, 3)),
    "squeeze": lambda v: lax.squeeze(v["image"][:, :1], (1,)),
    "slice": lambda v: v["matrix"][1:, ::2],
    "rev": lambda v: v["matrix"][::-1, ::-1],
    "concatenate": lambda v: jnp.concatenate([v["any"], v["other"]]),
    "split": lambda v: jnp.split(v["any"], 3),
    "stack": lambda v: jnp.stack([v["any"], v["other"]], 1),
    "unstack": lambda v: jnp.unstack(v["matrix"], axis=1),
    "tile": lambda v: jnp.tile(v["matrix"], (2, 1)),
    "pad": lambda v: lax.pad(v["any"], 0.25, ((2, -1, 1),)),
    "gather": lambda v: (
        v["matrix"][np.array([2, 0, 2])],
        v["matrix"][:, np.array([3, 1])],
        v["any"].at[jnp.argmax(v["other"])].get(mode="clip"),
    ),
    "dynamic_slice": lambda v: (
        lax.dynamic_slice(v["matrix"], (1, 7), (2, 2)),
        lax.dynamic_slice(v["any"], (jnp.argmax(v["other"]),), (2,)),
    ),
    "dynamic_update_slice": lambda v: (
        lax.dynamic_update_slice(v["any"], v["other"][:2], (5,)),
        lax.dynamic_update_slice(v["any"], v["other"][:2], (jnp.argmax(v["other"]),)),
    ),
    "scatter": lambda v: v["matrix"].at[np.array([2, 0])].set(v["matrix"][:2] * 2),
    "scatter-add": lambda v: v["any"].at[np.array([1, 1, 4])].add(v["other"][:3]),
    "custom_jvp_call": lambda v: clipped_exponential(v["any"]),
    "custom_vjp_call": lambda v: scaled(v["any"][:3], v["other"][:3]),
    "cond": lambda v: lax.cond(
        v["any"][1] > 0, lambda x: (x, 2 * x), lambda x: (-x, x + 1), v["any"]
    ),
}

BOXES = {
    "any": ANY,
    "other": OTHER,
    "positive": POSITIVE,
    "unit": UNIT,
    "image": IMAGE,
    "kernel": KERNEL,
    "matrix": MATRIX,
}


@cache
def table_samples() -> dict[int, tuple[np.ndarray, np.ndarray]]:
    return sample(*table_graph(), 100)


@cache
def table_graph() -> tuple[Graph, tuple[Interval, ...]]:
    """One graph of all entries, so that they are compiled together."""
    with jax.enable_x64(True):
        arguments = {
            name: jax.ShapeDtypeStruct(box.shape, np.float64) for name, box in BOXES.items()
        }
        g = trace(lambda v: {name: entry(v) for name, entry in TABLE.items()}, arguments)
    return g, tuple(BOXES[name] for name in sorted(BOXES))
