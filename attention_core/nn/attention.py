"""Attention with parameters: several heads at once, and Bahdanau's additive scores."""

from typing import Self

from torch import Tensor, nn

from attention_core import _checks
from attention_core.attention import Attention, attend, weigh
from attention_core.heads import attend_in_heads, divides
from attention_core.scoring import additive_scores


class MultiHeadAttention(nn.Module):
    """Attend in n_heads smaller spaces at once, with projections that are learned.

    Formula: output = Concat(head_1, ..., head_h) w_o + b_o,
    head_i = attend(query w_q + b_q, key w_k + b_k, value w_v + b_v)_i, with d_k = d_model / n_heads.
    Shapes: query (batch..., n_q, d_model), key and value (batch..., n_k, d_model) -> output
    (batch..., n_q, d_model) and, for each head, scores, masked_scores and weights
    (batch..., n_heads, n_q, n_k). Dtype: that of the parameters, kept.

    `module(x)` is self-attention: without `key` the queries are the keys, and without `value` the
    keys are the values. `mask` is boolean, True = may attend: (n_q, n_k) for all, or one that has
    every axis of the scores, the axis of the heads too: (batch..., n_heads or 1, n_q, n_k). A mask
    (batch, n_q, n_k) is refused, because its batch would be taken for the heads; write mask[:, None].
    A NaN in a blocked row of key or value changes no output, but it reaches the gradients of w_k and w_v.
    `dropout` is the share of weights set to 0 in training, before they meet the values; the weights
    returned are those before it. `w_q`, `w_k`, `w_v` and `w_o` are `nn.Linear`, which holds the
    transpose: the formula's w_q is `w_q.weight.T`, its b_q is `w_q.bias` (none with bias=False).

    Raises TypeError for numbers of the wrong kind, arrays that are not torch's, or another dtype or
    device than the parameters'; ValueError when n_heads does not divide d_model, dropout is not
    between 0 and 1, the last axis is not d_model, or shapes do not fit.

    Source: Vaswani et al. (2017), Attention Is All You Need, section 3.2.2; dropout on the weights
    as in torch.nn.MultiheadAttention.

    >>> import torch
    >>> heads = MultiHeadAttention(d_model=4, n_heads=2)(torch.ones(3, 4))
    >>> heads.output.shape, heads.weights.shape
    (torch.Size([3, 4]), torch.Size([2, 3, 3]))
    """

    def __init__(self, d_model: int, n_heads: int, *, bias: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        _checks.integer("d_model", d_model, 1)
        divides("n_heads", n_heads, "d_model", d_model)
        _checks.number("dropout", dropout)
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be from 0 to 1, got {dropout}")
        self.d_model = d_model
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=bias)
        self.w_k = nn.Linear(d_model, d_model, bias=bias)
        self.w_v = nn.Linear(d_model, d_model, bias=bias)
        self.w_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Attention:
        """Return every step, head by head, and the output of all heads together."""
        key = query if key is None else key
        value = key if value is None else value
        shapes = f"query ... n_q d_model={self.d_model} | key ... n_k d_model | value ... n_k d_model"
        _checks.inputs(shapes, query=query, key=key, value=value, parameters=self.w_q.weight)
        q, k, v = self.w_q(query), self.w_k(key), self.w_v(value)  # (batch..., n, d_model)
        heads = attend_in_heads(q, k, v, n_heads=self.n_heads, mask=mask, dropout=self.dropout)
        return heads._replace(output=self.w_o(heads.output))  # (batch..., n_q, d_model)

    @classmethod
    def from_torch(cls, mha: nn.MultiheadAttention) -> Self:
        """Return a module with a copy of the parameters of torch's own, and so the same results.

        Dtype, device, dropout and training mode are copied too. Three things stay different: our axes
        are always (batch..., n, d_model), whatever `batch_first` says; in our masks True = may attend,
        where in `attn_mask` and `key_padding_mask` True = blocked; and a query that may attend to
        nothing gets weights 0, where torch's own may give NaN.

        Raises TypeError when `mha` is not a `torch.nn.MultiheadAttention`; ValueError when it has
        what ours has not: bias_k and bias_v, add_zero_attn, a kdim or vdim that is not embed_dim.

        >>> import torch
        >>> theirs = nn.MultiheadAttention(4, num_heads=2, batch_first=True)
        >>> ours, x = MultiHeadAttention.from_torch(theirs), torch.eye(4)
        >>> torch.allclose(ours(x).output, theirs(x, x, x)[0], atol=1e-6)
        True
        """
        _refuse_what_ours_has_not(mha)
        ours = cls(mha.embed_dim, mha.num_heads, bias=mha.in_proj_bias is not None, dropout=mha.dropout)
        ours.to(mha.in_proj_weight).train(mha.training)
        ours.load_state_dict(_torch_parameters(mha))
        return ours


def _refuse_what_ours_has_not(mha: nn.MultiheadAttention) -> None:
    """Raise unless every parameter and option of `mha` has its place in MultiHeadAttention."""
    if not isinstance(mha, nn.MultiheadAttention):
        raise TypeError(f"mha must be a torch.nn.MultiheadAttention, got {type(mha).__name__}")
    _checks.equal(
        "queries, keys and values must have one size", embed_dim=mha.embed_dim, kdim=mha.kdim, vdim=mha.vdim
    )
    if mha.bias_k is not None:
        raise ValueError("MultiHeadAttention has no bias_k and bias_v, got a module with add_bias_kv=True")
    if mha.add_zero_attn:
        raise ValueError("MultiHeadAttention adds no key of zeros, got a module with add_zero_attn=True")


def _torch_parameters(mha: nn.MultiheadAttention) -> dict[str, Tensor]:
    """Return the parameters of `mha` under our names; torch keeps w_q, w_k and w_v in one matrix."""
    names = ("w_q", "w_k", "w_v")
    found = {f"{name}.weight": w for name, w in zip(names, mha.in_proj_weight.chunk(3), strict=True)}
    found["w_o.weight"] = mha.out_proj.weight
    if mha.in_proj_bias is not None:
        found |= {f"{name}.bias": b for name, b in zip(names, mha.in_proj_bias.chunk(3), strict=True)}
        found["w_o.bias"] = mha.out_proj.bias
    return found


class AdditiveAttention(nn.Module):
    """Compare queries and keys of different sizes by a small network that is learned.

    Formula: output = softmax(scores) value, scores[i, j] = tanh(query_i w_q + key_j w_k) w_v.
    Shapes: query (..., n_q, d_q), key (..., n_k, d_k), value (..., n_k, d_v) -> scores, masked_scores
    and weights (..., n_q, n_k), output (..., n_q, d_v). Dtype: that of the parameters, kept.

    Without `value` the keys are the values. `mask` is boolean, True = may attend, and broadcasts to
    (..., n_q, n_k). A NaN in a blocked row of key or value changes no output, but one in a key reaches
    the gradients of the queries and the parameters. `w_q`, `w_k` and `w_v` are `nn.Linear` without
    bias, which hold the transpose: the formula's w_q (d_q, d_hidden) is `w_q.weight.T`.

    Raises TypeError for numbers of the wrong kind, arrays that are not torch's, or another dtype or
    device than the parameters'; ValueError when a size is below 1 or shapes do not fit.

    Source: Bahdanau, Cho & Bengio (2015), Neural Machine Translation by Jointly Learning to Align and
    Translate, section 3.1 and appendix A.1.2 (there w_v is v_a, w_q is W_a, w_k is U_a).

    >>> import torch
    >>> heads = AdditiveAttention(d_q=2, d_k=3, d_hidden=4)(torch.ones(5, 2), torch.ones(6, 3))
    >>> heads.weights.shape, heads.output.shape
    (torch.Size([5, 6]), torch.Size([5, 3]))
    """

    def __init__(self, d_q: int, d_k: int, d_hidden: int) -> None:
        super().__init__()
        for name, size in {"d_q": d_q, "d_k": d_k, "d_hidden": d_hidden}.items():
            _checks.integer(name, size, 1)
        self.w_q = nn.Linear(d_q, d_hidden, bias=False)
        self.w_k = nn.Linear(d_k, d_hidden, bias=False)
        self.w_v = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor | None = None, *, mask: Tensor | None = None
    ) -> Attention:
        """Return every step, from the scores to the output."""
        value = key if value is None else value
        d_q, d_k = self.w_q.in_features, self.w_k.in_features
        shapes = f"query ... n_q d_q={d_q} | key ... n_k d_k={d_k} | value ... n_k d_v"
        _checks.inputs(shapes, query=query, key=key, value=value, parameters=self.w_q.weight)
        w_q, w_k, w_v = self.w_q.weight.T, self.w_k.weight.T, self.w_v.weight[0]
        scores = additive_scores(query, key, w_q, w_k, w_v)  # (..., n_q, n_k)
        return weigh(scores, value, mask=mask)


def uniform_attention(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None) -> Attention:
    """Attend to every permitted key alike: what is left of attention when nothing is compared.

    Formula: output_i = the mean of the values that query i may attend to; every score is 0.
    Shapes, dtypes and errors: those of `attend`.

    >>> import torch
    >>> uniform_attention(torch.ones(1, 2), torch.eye(2), torch.tensor([[1.0], [3.0]])).output
    tensor([[2.]])
    """
    return attend(query, key, value, mask=mask, scale=0.0)
