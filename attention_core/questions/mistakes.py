"""What typical mistakes with attention give: wrong answers that several notebooks know."""

from typing import Any

from attention_core.attention import attend, softmax


def of_attention(
    step: str, q: Any, k: Any, v: Any, *, mask: Any = None, scale: float | None = None
) -> dict[str, Any]:
    """Return what the typical mistakes give for `step` ("scores", "weights" or "output").

    The keys are hints for the learner, the values the wrong arrays.
    """
    if step not in ("scores", "weights", "output"):
        raise ValueError(f'step must be "scores", "weights" or "output", got {step!r}')
    d_k = q.shape[-1]
    right = attend(q, k, v, mask=mask, scale=scale)
    hints = {}
    if scale is None:
        hints["The division by √d_k is missing."] = attend(q, k, v, mask=mask, scale=1.0)
        hints["Divide by √d_k, not by d_k."] = attend(q, k, v, mask=mask, scale=1 / d_k)
    else:
        hints["Here the scores are not divided by √d_k."] = attend(q, k, v, mask=mask)
    if mask is not None:
        hints["The mask is missing."] = attend(q, k, v, scale=scale)
        hints["The mask is the wrong way round: True means may attend."] = attend(
            q, k, v, mask=~mask, scale=scale
        )
    wrong = {hint: getattr(steps, step) for hint, steps in hints.items()}
    if step == "scores":
        wrong["Transposed: one row for each query, one column for each key."] = right.scores.T
    else:
        columns = softmax(right.masked_scores, axis=-2)
        values = {"weights": columns, "output": columns @ v}
        wrong["The softmax ran over the wrong axis: each row must sum to 1."] = values[step]
    return wrong
