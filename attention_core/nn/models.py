"""Two whole models, from tokens to logits: attention alone, and an encoder and decoder that look back."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_core import _checks
from attention_core.attention import Attention, causal_mask, padding_mask
from attention_core.nn.attention import MultiHeadAttention


class Tokens(nn.Embedding):
    """A table with a row of numbers for each token; it says what is wrong with a token.

    Shape: tokens (...) -> (..., d). Dtype: tokens int64 or int32; the rows that of the parameters.

    Raises TypeError for what is not a torch tensor of integers, ValueError for a token out of range.

    >>> Tokens(5, 2)(torch.tensor([[0, 4, 1]])).shape
    torch.Size([1, 3, 2])
    """

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the row of each token."""
        kind = tokens.dtype if isinstance(tokens, Tensor) else type(tokens).__name__
        if kind not in (torch.int64, torch.int32):
            raise TypeError(f"tokens must be a torch tensor of int64 or int32, got {kind}")
        try:  # the table itself looks at the tokens: we look only at those that it refused
            return super().forward(tokens)
        except IndexError:
            most, came = self.num_embeddings - 1, f"{int(tokens.min())} to {int(tokens.max())}"
            raise ValueError(f"tokens must be from 0 to {most}, got {came}") from None


class AttentionOnly(nn.Module):
    """Guess each next token with attention and nothing else: no norm, no feed-forward layer.

    Formula: x = embed(tokens) + positions; in each layer x = x + attention(x), causal;
    logits = x w_o.
    Shapes: tokens (batch..., n) -> logits (batch..., n, n_tokens), and for each layer the weights
    (batch..., n_heads, n, n). Dtype: that of the parameters.

    Raises TypeError for numbers or tokens of the wrong kind; ValueError when a size is below 1,
    n_heads does not divide d_model, a token is out of range, or n is above n_positions.

    Source: Elhage et al. (2021), A Mathematical Framework for Transformer Circuits, section
    "Two-Layer Attention-Only Transformers"; here the positions are learned.

    >>> model = AttentionOnly(n_tokens=5, d_model=4, n_heads=2, n_layers=3, n_positions=6)
    >>> logits, weights = model(torch.tensor([[0, 1, 0, 1]]))
    >>> logits.shape, len(weights), weights[0].shape
    (torch.Size([1, 4, 5]), 3, torch.Size([1, 2, 4, 4]))
    """

    def __init__(self, n_tokens: int, d_model: int, n_heads: int, n_layers: int, n_positions: int) -> None:
        super().__init__()
        for name, n in {"n_tokens": n_tokens, "n_layers": n_layers, "n_positions": n_positions}.items():
            _checks.integer(name, n, 1)
        self.layers = nn.ModuleList(MultiHeadAttention(d_model, n_heads) for _ in range(n_layers))
        self.embed = Tokens(n_tokens, d_model)
        self.positions = nn.Embedding(n_positions, d_model)
        self.w_o = nn.Linear(d_model, n_tokens, bias=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the logits of the token after each position, and the weights of each layer."""
        x = self.embed(tokens)  # (batch..., n, d_model)
        n, most = tokens.shape[-1], self.positions.num_embeddings
        if not 0 < n <= most:
            raise ValueError(f"there must be from 1 to n_positions = {most} tokens in a row, got {n}")
        x = x + self.positions.weight[:n]  # (batch..., n, d_model)
        mask = causal_mask(n, like=x)  # (n, n)
        weights = []
        for layer in self.layers:
            heads = layer(x, mask=mask)
            x = x + heads.output  # (batch..., n, d_model)
            weights.append(heads.weights)  # (batch..., n_heads, n, n)
        return self.w_o(x), weights


class EncoderDecoder(nn.Module):
    """Read a sequence with one network and write another with a second, which looks back at every step.

    Formulas, for source tokens x_1..x_n and target tokens y_0 (start), y_1..y_m:
    f_j = GRU(embed(x_j), f_{j-1}), b_j = GRU(embed(x_j), b_{j+1}), h_j = [f_j, b_j],
    s_0 = tanh([f_n, b_1] w_s + b_s), c_t = attention(s_{t-1}, h, h),
    s_t = GRU([embed(y_{t-1}), c_t], s_{t-1}), logits_t = [s_t, c_t] w_o + b_o.
    Shapes: see `forward` and `generate`. Dtype of logits and weights: that of the parameters.
    With bidirectional=False the encoder reads from left to right alone: h_j = f_j, s_0 from f_n.

    `attention` is any function of (query, key, value, *, mask) that returns an `Attention`: an
    `AdditiveAttention(d_hidden, d_hidden, d_hidden)`, the kernel `attend`, or `uniform_attention`. If
    it has parameters, they belong to this module. A source is padded behind its end with any tokens:
    the encoder does not read them and attention is masked, so they change nothing.

    Raises TypeError for numbers or tokens of the wrong kind; ValueError when a size is below 1, d_hidden
    is odd and must be shared by two directions, a token or length is out of range, or shapes do not fit.

    Source: Bahdanau, Cho & Bengio (2015), sections 3.1 and 3.2, and appendix A.2; made smaller: each
    direction has half of d_hidden, s_0 is made of both, and the logits are one linear map of s_t and c_t.

    >>> from attention_core import attend
    >>> model = EncoderDecoder(n_tokens_in=5, n_tokens_out=7, d_hidden=4, attention=attend)
    >>> source, lengths, target = torch.tensor([[1, 2, 3]]), torch.tensor([3]), torch.tensor([[0, 6]])
    >>> logits, weights = model(source, lengths, target)
    >>> logits.shape, weights.shape
    (torch.Size([1, 1, 7]), torch.Size([1, 1, 3]))
    """

    def __init__(
        self,
        n_tokens_in: int,
        n_tokens_out: int,
        d_hidden: int,
        attention: Callable[..., Attention],
        *,
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        sizes = {"n_tokens_in": n_tokens_in, "n_tokens_out": n_tokens_out, "d_hidden": d_hidden}
        for name, size in sizes.items():
            _checks.integer(name, size, 1)
        if bidirectional and d_hidden % 2:
            raise ValueError(f"d_hidden must be even, one half for each direction, got {d_hidden}")
        if not callable(attention):
            raise TypeError(f"attention must be a function or module, got {type(attention).__name__}")
        self.embed_source = Tokens(n_tokens_in, d_hidden)
        self.embed_target = Tokens(n_tokens_out, d_hidden)
        d_each = d_hidden // 2 if bidirectional else d_hidden
        self.encoder = nn.GRU(d_hidden, d_each, batch_first=True, bidirectional=bidirectional)
        self.w_s = nn.Linear(d_hidden, d_hidden)
        self.attention = attention
        self.decoder = nn.GRUCell(2 * d_hidden, d_hidden)
        self.w_o = nn.Linear(2 * d_hidden, n_tokens_out)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Write with the right answers at hand: step t is given y_{t-1} whatever it would have written.

        Shapes: source (batch, n_s), lengths (batch,), target (batch, 1 + n_t) with the start token
        first -> logits (batch, n_t, n_tokens_out) for target[:, 1:], weights (batch, n_t, n_s).
        """
        h, s, mask = self.encode(source, lengths)
        if target.ndim != 2 or len(target) != len(source) or target.shape[1] < 2:
            wanted = f"(batch, 1 + n_t) with batch = {len(source)} and n_t of at least 1"
            raise ValueError(f"target must have shape {wanted}, got {tuple(target.shape)}")
        logits, weights = [], []
        for y in target[:, :-1].unbind(dim=1):  # (batch,)
            s, logits_t, weights_t = self.step(y, s, h, mask)
            logits.append(logits_t)
            weights.append(weights_t)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)

    def generate(self, source: Tensor, lengths: Tensor, n_steps: int, *, start: int) -> tuple[Tensor, Tensor]:
        """Write n_steps tokens: each the one with the largest logit, given those before it.

        Shapes: source (batch, n_s), lengths (batch,) -> tokens (batch, n_steps) without the start
        token, weights (batch, n_steps, n_s). No gradients.
        """
        _checks.integer("n_steps", n_steps, 1)
        _checks.integer("start", start)
        with torch.no_grad():
            h, s, mask = self.encode(source, lengths)
            y = torch.full_like(source[:, 0], start)  # (batch,)
            tokens, weights = [], []
            for _ in range(n_steps):
                s, logits_t, weights_t = self.step(y, s, h, mask)
                y = logits_t.argmax(dim=-1)  # (batch,)
                tokens.append(y)
                weights.append(weights_t)
        return torch.stack(tokens, dim=1), torch.stack(weights, dim=1)

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states h (batch, n_s, d_hidden), s_0 (batch, d_hidden), and the mask of padding."""
        x = self.embed_source(source)  # (batch, n_s, d_hidden)
        _check_lengths(lengths, source)
        packed = pack_padded_sequence(
            x, lengths.to("cpu", torch.int64), batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)  # last (1 or 2 directions, batch, d_each): f_n and b_1
        h, _ = pad_packed_sequence(
            states, batch_first=True, total_length=x.shape[1]
        )  # (batch, n_s, d_hidden)
        s = torch.tanh(self.w_s(last.transpose(0, 1).flatten(1)))  # (batch, d_hidden)
        return h, s, padding_mask(lengths, x.shape[1])  # the mask (batch, 1, n_s)

    def step(self, y: Tensor, s: Tensor, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Go from y_{t-1} (batch,) and s_{t-1} to s_t (batch, d_hidden); return logits and weights too."""
        look = self.attention(s[:, None], h, h, mask=mask)  # one query for each sequence
        c = look.output[:, 0]  # (batch, d_hidden)
        s = self.decoder(torch.cat([self.embed_target(y), c], dim=-1), s)  # (batch, d_hidden)
        logits = self.w_o(torch.cat([s, c], dim=-1))  # (batch, n_tokens_out)
        return s, logits, look.weights[:, 0]  # the weights (batch, n_s)


def _check_lengths(lengths: Tensor, source: Tensor) -> None:
    """Raise unless `lengths` has one length for each row of `source`, from 1 to the row's end."""
    _checks.inputs("lengths batch", lengths=lengths)
    if source.ndim != 2 or len(source) != len(lengths):
        wanted = f"(batch, n_s) with one row for each of the {len(lengths)} lengths"
        raise ValueError(f"source must have shape {wanted}, got {tuple(source.shape)}")
    if int(lengths.min()) < 1 or int(lengths.max()) > source.shape[1]:
        raise ValueError(f"lengths must be from 1 to n_s = {source.shape[1]}, got {lengths.tolist()}")
