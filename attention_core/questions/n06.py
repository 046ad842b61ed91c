"""What notebook 06 asks."""

from typing import Any

import numpy as np

from attention_core.attention import attend
from attention_core.heads import merge_heads, multi_head, split_heads
from attention_core.questions import Answer, asks, exercise


@asks(
    "Now 0.7 for the subject and 0.3 for the object, and again the best matrix. Is the mean error over all "
    'sixteen numbers "more" than 0.5, "less", or the "same" (within 0.01)?'
)
def in_between(best_errors: Any) -> Answer:
    """Less (unequal shares tell the two apart, as by hand), or the same? Decided by following one pair."""
    subject, thing = best_errors(0.7, 0.3)
    mean = float(subject + thing) / 2
    return Answer(
        "same" if abs(mean - 0.5) < 0.01 else "less" if mean < 0.5 else "more",
        {
            "With *dog* and *cat* unequal shares helped. But here any two rows may come: from "
            "0.7 a + 0.3 b alone, which pairs a, b are possible?": "less",
            "The subject comes out better than with half and half. Is more lost of the object?": "more",
        },
    )


@asks(
    "One head of width 64 in place of 16: four times as many columns for W_K and W_V. "
    "How large is the error after training?"
)
def four_times_as_wide(wide_head: Any, errors: Any) -> Answer:
    """A quarter (more room), or as before? Decided by counting the numbers that a mixture is made from."""
    return Answer(
        float(errors(wide_head).mean()),
        {
            "More room in the drawers, yes. But what goes into them: how many numbers has a word?": 0,
            "A quarter of the error would need more numbers in the mixture. How many has a word?": 0.11,
        },
        about=0.04,
    )


@asks(
    "All four columns are one wide head. Which scores, before the division, does the row of *chases* "
    "then have for *dog*, *chases* and *cat*?"
)
def wide_scores(Q: Any, K: Any) -> Answer:
    """One of the heads' rows, or both added? Decided by the dot product, which runs through all columns."""
    return Answer(
        (Q @ K.T)[1],
        {
            "That is head 0 alone. The dot product runs through the columns of head 1 too.": (
                Q[:, :2] @ K[:, :2].T
            )[1],
            "That is head 1 alone. The dot product runs through the columns of head 0 too.": (
                Q[:, 2:] @ K[:, 2:].T
            )[1],
            "The scores are added, and not yet divided.": (Q @ K.T)[1] / 2,
        },
    )


@asks("In places.reshape(2, 3, 2), which two numbers are row 1 of head 0?")
def reshape_alone(places: Any) -> Answer:
    """Word 1's first half, as it should be, or the next two numbers? Decided by how reshape reads."""
    return Answer(
        places.reshape(2, 3, 2)[0, 1],
        {
            "That is the right cut. But reshape reads the numbers in order and never skips any.": [10, 11],
            "Each row of a head has two numbers. Which two come first in order, and which next?": [4, 5],
        },
    )


@asks(
    "d_model is 512. Eight heads of 64 columns in place of one head of 512: how many times as many numbers "
    "are there to learn?"
)
def eight_heads() -> Answer:
    """Eight times (eight sets of matrices), or as many? Decided by how wide a head is."""
    d_model, d_head = 512, 64
    return Answer(
        8 * d_head // d_model,
        {
            "Eight heads of full width would. How many columns does each head take here?": 8,
            "W_O stays the same, that is right. And how wide is W_Q for each head?": 6.25,
        },
    )


def _heads(X: Any, W_Q: Any, W_K: Any, W_V: Any, n_heads: int, cut: Any, scale: Any = None) -> Any:
    """Return what the heads find, (n_heads, n, d_head), after a `cut` that may be wrong."""
    return attend(*(cut(X @ W, n_heads) for W in (W_Q, W_K, W_V)), scale=scale).output


def _reshaped(x: Any, n_heads: int) -> Any:
    return x.reshape(n_heads, len(x), -1)


@exercise
def from_words_to_output() -> Answer:
    """Tried with six words, four heads of width two, and an output of another width."""
    rng = np.random.default_rng(0)
    X, (W_Q, W_K, W_V) = rng.normal(size=(6, 5)), rng.normal(size=(3, 5, 8))
    given = X, W_Q, W_K, W_V, rng.normal(size=(8, 3))

    def right(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return multi_head(X, X, W_Q, W_K, W_V, W_O, n_heads=n_heads).output

    def cut_by_reshape(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return merge_heads(_heads(X, W_Q, W_K, W_V, n_heads, _reshaped)) @ W_O

    def joined_by_reshape(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return _heads(X, W_Q, W_K, W_V, n_heads, split_heads).reshape(len(X), -1) @ W_O

    def reshape_twice(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return _heads(X, W_Q, W_K, W_V, n_heads, _reshaped).reshape(len(X), -1) @ W_O

    def without_w_o(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return merge_heads(_heads(X, W_Q, W_K, W_V, n_heads, split_heads))

    def not_cut(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return attend(X @ W_Q, X @ W_K, X @ W_V).output @ W_O

    def two_heads(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        return right(X, W_Q, W_K, W_V, W_O, 2)

    def by_all_columns(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, n_heads: int) -> Any:
        scale = W_Q.shape[1] ** -0.5
        return merge_heads(_heads(X, W_Q, W_K, W_V, n_heads, split_heads, scale)) @ W_O

    return Answer(
        right,
        {
            "The cut is reshape alone: reshape to (n, n_heads, d_head), then transpose.": cut_by_reshape,
            "The cut is right. On the way back transpose first, then reshape.": joined_by_reshape,
            "Reshape alone, there and back: words get mixed. Transpose, both times.": reshape_twice,
            "The heads are merged. W_O is missing.": without_w_o,
            "That is one wide head. Cut the columns before you attend.": not_cut,
            "That works for two heads only: use n_heads.": two_heads,
            "Divide by √d_head, the width of one head, not by √d_model.": by_all_columns,
        },
        of=lambda mine: mine(*given, 4),
    )


@exercise
def turned_heads(W_O: Any) -> Answer:
    """The rows of W_O move with the columns that they read."""
    return Answer(
        W_O[[2, 3, 0, 1]],
        {
            "That is the old one: its rows 0 and 1 now read head 1.": W_O,
            "You exchanged columns. W_O's rows belong to the heads.": W_O[:, ::-1],
            "The heads move as blocks: rows 2 and 3 come first, in their order.": W_O[::-1],
        },
    )
