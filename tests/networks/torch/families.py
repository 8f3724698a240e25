"""Functions of every family of operators, and the input they are tried on."""

import torch
import torch.nn.functional as F
from torch import nn

from .modules import words


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape))
    )


IMAGE = normal(1, 4, 7, 6)
SIGNAL = normal(1, 3, 9)
VOLUME = normal(1, 2, 5, 4, 3)
ROW = normal(1, 6)
C = normal(4, 1, 6)
D = normal(6)
MASK = C > 0
W = normal(6, 3)
W2 = normal(2, 6, 6)
W3 = normal(2, 4, 3, 3)
TOKENS = normal(7, 7)
HEADS = normal(4, 7, 7)
B2 = normal(2)
B3 = normal(3)
B7 = normal(7)

ARITHMETIC = {
    **{
        name: (lambda x, f=getattr(torch, name): f(x))
        for name in words(
            "abs exp exp2 expm1 sin cos tan sinh cosh atan asinh sign floor ceil trunc frac round",
            "square neg sigmoid tanh erf erfc relu selu sgn isnan isinf isfinite logical_not reciprocal",
        )
    },
    **{
        f"{name} of positive": (lambda x, f=getattr(torch, name): f(x.abs() + 1.5))
        for name in words("sqrt rsqrt log log2 log10 log1p acosh lgamma")
    },
    **{
        name: (lambda x, f=getattr(torch, name): f(torch.tanh(x) * 0.9))
        for name in words("asin acos atanh erfinv")
    },
    **{
        name: (lambda x, f=getattr(torch, name): f(x, C))
        for name in words(
            "add sub mul div maximum minimum atan2 hypot logaddexp eq ne lt le gt ge fmod remainder",
            "floor_divide max min copysign true_divide rsub",
        )
    },
    "add with a factor": lambda x: torch.add(x, C, alpha=0.3),
    "sub with a factor": lambda x: torch.sub(x, 2, alpha=3),
    "from a number": lambda x: 2 - x,
    "number over": lambda x: 2 / (x + 9),
    "div floor": lambda x: torch.div(x, 0.3, rounding_mode="floor"),
    "div trunc": lambda x: torch.div(x, 0.3, rounding_mode="trunc"),
    "powers": lambda x: x**2 + x**3 - (x.abs() + 1) ** 0.5 + x**0 + x.abs() ** -1,
    "power of tensors": lambda x: torch.pow(x.abs() + 1, C),
    "power of a number": lambda x: torch.pow(2.0, x),
    "float power": lambda x: torch.float_power(x, 2),
    "decimals": lambda x: torch.round(x, decimals=1),
    "clamp": lambda x: torch.clamp(x, -0.5, 0.25) + x.clamp(min=-0.1) + x.clamp(max=0.2),
    "clamp by tensors": lambda x: torch.clamp(x, C - 0.5, C + 0.5),
    "where": lambda x: torch.where(x > 0.1, x, C) + torch.where(MASK, x, 0.5),
    "masked fill": lambda x: x.masked_fill(MASK, 2.0) + x.masked_fill(x > 0, -1),
    "masks": lambda x: ((x > 0) & MASK) | ~(x < C) ^ (x == 0),
    "logic": lambda x: torch.logical_or(
        torch.logical_and(x > 0, MASK), torch.logical_xor(x < 1, MASK)
    ),
    "lerp": lambda x: torch.lerp(x, C, 0.3) + torch.lerp(x, C, D),
    "addc": lambda x: torch.addcmul(x, x, C, value=0.5) + torch.addcdiv(x, x, C.abs() + 1, value=2),
    "casts": lambda x: (
        (x * 3).to(torch.int32).double() + (x > 0).float() + (x * 2).long() + x.type_as(C) + x.to(C)
    ),
    "whole numbers": lambda x: torch.arange(6) // 4 + torch.arange(6) % 4 + x,
}

ACTIVATIONS = {
    **{
        name: getattr(F, name)
        for name in words(
            "relu relu6 leaky_relu elu celu selu gelu silu mish softplus softsign tanhshrink softshrink",
            "hardshrink hardsigmoid hardswish hardtanh logsigmoid rrelu",
        )
    },
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus beta": lambda x: F.softplus(40 * x, beta=2, threshold=5),
    "leaky": lambda x: F.leaky_relu(x, 0.3),
    "elu alpha": lambda x: F.elu(x, 0.7),
    "celu alpha": lambda x: F.celu(x, 0.7),
    "threshold": lambda x: F.threshold(x, 0.3, -2.0),
    "hardtanh": lambda x: F.hardtanh(x, -0.3, 0.4),
    "prelu": nn.PReLU(4),
    "prelu one": nn.PReLU(),
    "glu": lambda x: F.glu(x, 1),
    **{
        f"{f.__name__} {dim}": (lambda x, f=f, dim=dim: f(x, dim))
        for f in (F.softmax, F.log_softmax)
        for dim in (1, -1)
    },
    "softmin": lambda x: F.softmin(x, 2),
    "dropout": nn.Dropout(0.5),
    "dropouts": nn.Sequential(nn.Dropout2d(0.5), nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.2)),
}

PRODUCTS = {
    "linear": nn.Linear(6, 3),
    "no bias": nn.Linear(6, 3, bias=False),
    "matmul": lambda x: x @ W,
    "matmul of images": lambda x: torch.matmul(x, x.transpose(-1, -2)),
    "vector": lambda x: x @ D,
    "mv": lambda x: torch.mv(x[0, 0], D),
    "dot": lambda x: torch.dot(x[0, 0, 0], D),
    "outer": lambda x: torch.outer(x[0, 0, 0], D),
    "mm": lambda x: torch.mm(x[0, 0], W),
    "bmm": lambda x: torch.bmm(x[0], x[0].transpose(1, 2)),
    "addmm": lambda x: torch.addmm(B3, x[0, 0], W, beta=0.5, alpha=2),
    "addmv": lambda x: torch.addmv(B7, x[0, 0], D, beta=0.5, alpha=2),
    "baddbmm": lambda x: torch.baddbmm(HEADS, x[0], x[0].mT, alpha=0.1),
    "einsum": lambda x: torch.einsum("nchw, wk -> nkhc", x, W),
    "bilinear": lambda x: F.bilinear(x, x, W2, B2),
    "attention": lambda x: F.scaled_dot_product_attention(x, 2 * x, x + 1),
    "causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "masked": lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=TOKENS > -1, scale=0.3),
    "biased": lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=HEADS),
    "blind": lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=torch.arange(7)[:, None].expand(7, 7) > 2
    ),
    "grouped": lambda x: F.scaled_dot_product_attention(x, x[:, :2], x[:, 2:], enable_gqa=True),
}

SHAPES = {
    "view": lambda x: x.view(1, -1, 3),
    "reshape": lambda x: x.transpose(1, 2).reshape(7, -1),
    "flatten": lambda x: x.flatten(1) + torch.flatten(x, 1, 3),
    "flatten all": lambda x: x.flatten() + x.ravel(),
    "unflatten": lambda x: x.unflatten(3, (2, -1)),
    "squeeze": lambda x: x.squeeze() + x.squeeze(0) + x[None].squeeze((0, 1)) + x.squeeze(1),
    "unsqueeze": lambda x: x.unsqueeze(-1) + x.unsqueeze(1).mean(),
    "permute": lambda x: x.permute(0, 3, -3, 2),
    "mT": lambda x: x.mT,
    "moved": lambda x: x.movedim((1, 2), (3, 1)),
    "swapped": lambda x: x.swapaxes(1, 3),
    "T": lambda x: x[0, 0].T + x[0, 0].t(),
    "cat": lambda x: torch.cat([x, 2 * x, torch.zeros(0, dtype=torch.float64)], -1),
    "stack": lambda x: torch.stack([x, 2 * x], 1) + torch.stack([x, x], -1).mean(),
    "split": lambda x: torch.cat(x.split(4, 2)[::-1], 2),
    "split sizes": lambda x: torch.cat(x.split([1, 4, 1], 3)[::-1], 3),
    "chunk": lambda x: torch.cat(x.chunk(3, 2)[::-1], 2),
    "unbind": lambda x: x.unbind(1)[2] + x.unbind(-1)[0].mean(),
    "expand": lambda x: x.unsqueeze(1).expand(2, 3, -1, -1, 6),
    "expand as": lambda x: x[:, :1].expand_as(x),
    "repeat": lambda x: x.repeat(2, 1, 1, 3) + x.tile(1, 3).mean(),
    "interleaved": lambda x: x.repeat_interleave(2, 1),
    "flip": lambda x: x.flip(1, -1),
    "roll": lambda x: x.roll(2, 3) + x.roll((1, -1), (1, 2)) + x.roll(5),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=0.5),
    "negative pad": lambda x: F.pad(x, (-1, 2, 1, -2)),
    **{
        f"pad {mode}": (lambda x, mode=mode: F.pad(x, (1, 2, 2, 1), mode))
        for mode in ("reflect", "replicate", "circular")
    },
    "pixel shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel unshuffle": lambda x: F.pixel_unshuffle(x[..., :6, :], 2),
    "channel shuffle": lambda x: F.channel_shuffle(x, 2),
    "copies": lambda x: x.clone().contiguous().detach() + x.view_as(x).reshape_as(x),
}

CREATION = {
    "full": lambda x: x + torch.full((6,), 0.5) + torch.zeros(7, 6) + torch.ones(6),
    "like": lambda x: x + torch.ones_like(x) + torch.zeros_like(x) + torch.full_like(x, 3),
    "new": lambda x: x + x.new_ones(6) + x.new_zeros(6) + x.new_full((6,), 2),
    "arange": lambda x: (
        x + torch.arange(6) + torch.arange(1, 13, 2) + torch.arange(0, 3, 0.5, dtype=torch.float64)
    ),
    "linspace": lambda x: x + torch.linspace(0, 1, 6, dtype=torch.float64),
    "eye": lambda x: x[..., :6, :] + torch.eye(6, dtype=torch.float64),
    "triangles": lambda x: x.tril() + x.triu(1),
    "mask": lambda x: x.masked_fill(torch.triu(torch.ones(7, 6), 1).bool(), float("-inf")).softmax(
        -1
    ),
    "numbers": lambda x: x + torch.tensor(2.5) + torch.tensor([1.0, 2, 3, 4, 5, 6]),
}

INDEXING = {
    "slices": lambda x: x[:, 1:3, ::2, -4:],
    "beyond": lambda x: x[:, :, 2:100],
    "select": lambda x: x[:, 2] + x[..., -1, :].mean(),
    "index": lambda x: x[:, torch.tensor([2, 0, -1])],
    "two indices": lambda x: x[:, torch.tensor([2, 0]), :, torch.tensor([1, 3])],
    "mask": lambda x: x[:, torch.tensor([True, False, True, True])],
    "index select": lambda x: x.index_select(2, torch.tensor([0, 3, 1])),
    "narrow": lambda x: x.narrow(2, 1, 3),
    "gather": lambda x: x.gather(3, torch.tensor([[[[0, 2], [5, 1]]]])),
    "gather by input": lambda x: x.gather(3, x.argsort(3)),
    "scatter": lambda x: (
        x.scatter(3, torch.tensor([[[[0, 2]]]]), 9.0) + x.scatter(1, torch.tensor([[[[1]]]]), x * 2)
    ),
    "scatter add": lambda x: x.scatter_add(3, torch.tensor([[[[0, 0]]]]), x),
    "put": lambda x: torch.index_put(
        x, (torch.tensor([0]), torch.tensor([2])), torch.tensor(7.0, dtype=torch.float64)
    ),
    "topk": lambda x: x.topk(3, 2)[0] + x.topk(3, 2, largest=False)[1],
    "sort": lambda x: x.sort(3)[0] + x.sort(1, descending=True)[1],
    "diagonal": lambda x: x.diagonal(dim1=2, dim2=3) + x.diagonal(1, 2, 3)[..., :1],
    "one hot": lambda x: F.one_hot(x.argmax(1), 4) + 0.0,
    "unfold": lambda x: x.unfold(2, 3, 2),
    "windows": lambda x: F.unfold(x, 3, padding=1, stride=2),
}

REDUCTIONS = {
    **{
        f"{name}": (lambda x, f=getattr(torch, name): f(x))
        for name in words("sum mean prod amax amin max min argmax std var")
    },
    **{
        f"{name} of axes": (
            lambda x, f=getattr(torch, name): f(x, (1, -1)) + f(x, 2, keepdim=True).mean()
        )
        for name in words("sum mean amax amin var std logsumexp")
    },
    "max of an axis": lambda x: x.max(2)[0] + x.min(2)[1] + x.max(2, keepdim=True)[0].mean(),
    "argmin": lambda x: x.argmin(1, keepdim=True),
    "any": lambda x: (x > 2).any(1),
    "all": lambda x: (x > -2).all(3, keepdim=True),
    "biased": lambda x: x.var(1, unbiased=False) + x.std(1, correction=0) + torch.var_mean(x, 1)[1],
    "norms": lambda x: (
        x.norm() + x.norm(dim=1) + x.norm(1, dim=1) + x.norm(float("inf"), dim=1) + x.norm(3, 1)
    ),
    "vector norm": lambda x: torch.linalg.vector_norm(x, 2, (1, 2), keepdim=True),
    "normalize": lambda x: F.normalize(x, dim=1),
    "cosine": lambda x: F.cosine_similarity(x, C, 1),
    "cumsum": lambda x: x.cumsum(2) + x.cumprod(1),
    "count": lambda x: (x > 0).sum(1),
}

RESAMPLING = {
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest to": lambda x: F.interpolate(x, (5, 11)),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bilinear to": lambda x: F.interpolate(x, (5, 11), mode="bilinear"),
    "corners": lambda x: F.interpolate(x, (5, 11), mode="bilinear", align_corners=True),
    "uneven": lambda x: F.interpolate(x, scale_factor=(1.7, 0.6), mode="bilinear"),
    "recomputed": lambda x: F.interpolate(
        x, scale_factor=1.7, mode="nearest", recompute_scale_factor=True
    ),
}

NORMALISATION = {
    "batch": nn.BatchNorm2d(4),
    "batch plain": nn.BatchNorm2d(4, affine=False),
    "layer": nn.LayerNorm(6),
    "layer of two": nn.LayerNorm([7, 6], eps=1e-3),
    "layer plain": nn.LayerNorm([4, 7, 6], elementwise_affine=False),
    "group": nn.GroupNorm(2, 4),
    "group plain": nn.GroupNorm(4, 4, affine=False),
    "instance": nn.InstanceNorm2d(4, affine=True),
    "instance of statistics": nn.InstanceNorm2d(4, track_running_stats=True),
    "rms": nn.RMSNorm(6, eps=1e-6),
    "local response": nn.LocalResponseNorm(3),
}

POOLS = {
    "max": nn.MaxPool2d(2),
    "max padded": nn.MaxPool2d(3, 2, 1),
    "max dilated": nn.MaxPool2d(2, 1, dilation=2),
    "max ceil": nn.MaxPool2d((3, 2), 2, ceil_mode=True),
    "average": nn.AvgPool2d(2),
    "average padded": nn.AvgPool2d(3, 2, 1),
    "average without": nn.AvgPool2d(3, 2, 1, count_include_pad=False, ceil_mode=True),
    "average by three": nn.AvgPool2d(2, divisor_override=3),
    "lp": nn.LPPool2d(2, 2),
    "adaptive": nn.AdaptiveAvgPool2d((3, 4)),
    "adaptive to one": nn.AdaptiveAvgPool2d(1),
    "adaptive keeps": nn.AdaptiveAvgPool2d((None, 2)),
    "adaptive max": nn.AdaptiveMaxPool2d((3, 2)),
    "alone": lambda x: (
        F.max_pool2d(x[0], 2) + F.avg_pool2d(x[0], 2) + F.adaptive_avg_pool2d(x[0], (3, 3))
    ),
}

CONVOLUTIONS = {
    "plain": nn.Conv2d(4, 3, 3),
    "grouped": nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 0), groups=2),
    "depthwise": nn.Conv2d(4, 4, 3, padding="same", groups=4, bias=False),
    "same even": nn.Conv2d(4, 2, (2, 4), padding="same", dilation=(1, 1)),
    "valid": nn.Conv2d(4, 2, 2, padding="valid"),
    "dilated": nn.Conv2d(4, 2, 2, dilation=(3, 2)),
    "circular": nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"),
    "transposed": nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1),
    "transposed grouped": nn.ConvTranspose2d(
        4, 6, (3, 2), stride=(1, 2), groups=2, dilation=(2, 1)
    ),
    "alone": lambda x: F.conv2d(x[0], W3, B2),
}

SIGNALS = {
    "conv": nn.Conv1d(3, 4, 3, stride=2, padding=1),
    "same": nn.Conv1d(3, 4, 4, padding="same"),
    "transposed": nn.ConvTranspose1d(3, 2, 3, stride=2),
    "batch": nn.BatchNorm1d(3),
    "max": nn.MaxPool1d(3, 2, 1),
    "average": nn.AvgPool1d(3, 2, 1),
    "adaptive": nn.AdaptiveAvgPool1d(4),
    "adaptive max": nn.AdaptiveMaxPool1d(4),
    "linear": lambda x: F.interpolate(x, 5, mode="linear"),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "reflect": lambda x: F.pad(x, (2, 1), "reflect"),
}

VOLUMES = {
    "conv": nn.Conv3d(2, 3, 2, padding=1),
    "transposed": nn.ConvTranspose3d(2, 3, 2),
    "max": nn.MaxPool3d(2),
    "average": nn.AvgPool3d(2, 1),
    "adaptive": nn.AdaptiveAvgPool3d((2, 3, 1)),
    "batch": nn.BatchNorm3d(2),
    "trilinear": lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
}

FAMILIES = {
    "arithmetic": (ARITHMETIC, IMAGE),
    "activations": (ACTIVATIONS, IMAGE),
    "products": (PRODUCTS, IMAGE),
    "shapes": (SHAPES, IMAGE),
    "creation": (CREATION, IMAGE),
    "indexing": (INDEXING, IMAGE),
    "reductions": (REDUCTIONS, IMAGE),
    "resampling": (RESAMPLING, IMAGE),
    "normalisation": (NORMALISATION, IMAGE),
    "pools": (POOLS, IMAGE),
    "convolutions": (CONVOLUTIONS, IMAGE),
    "signals": (SIGNALS, SIGNAL),
    "volumes": (VOLUMES, VOLUME),
}
