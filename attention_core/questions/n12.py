"""What notebook 12 asks."""

from typing import Any

import numpy as np
import torch

from attention_core.nn import DecoderBlock
from attention_core.questions import Answer, asks, exercise


@asks(
    "'animal' asks nothing, so its weights are all equal, and two of seven tokens are "
    "nouns. What is the first number of its row in x?"
)
def animal_output(x: Any) -> Answer:
    return Answer(x[1, 0], {"That is what it found. Its own 1 is added.": 2 / 7, "That was there before.": 1})


@asks("With the addition a layer is x + f(x). What is the slope of one such layer?")
def slope_of_layer() -> Answer:
    return Answer(
        1 + 0.1, {"That is the slope of f. x itself has a slope too.": 0.1, "And what does f add?": 1}
    )


@asks("Multiply the row by 10, and normalize again. What is the first number?")
def ten_times(normalized: Any) -> Answer:
    return Answer(
        normalized[0],
        {"The deviations grow tenfold. What happens to the root of the variance?": 10 * normalized[0]},
    )


@asks("We change 'street' in the input. How many rows of the feed-forward output can change?")
def rows_that_change(ff: Any, words: Any) -> Answer:
    return Answer(
        int((ff(torch.tensor(words)) != ff(torch.tensor(words + np.array([[0], [2], [0]])))).any(-1).sum()),
        {"That would be attention. Which rows does the loop above read at a time?": 3},
    )


@asks("Pre-norm: is the mean of each row of after_block 0, yes or no?")
def mean_after_block(after_block: Any) -> Answer:
    return Answer(
        "yes" if np.allclose(after_block.mean(axis=-1), 0, atol=0.001) else "no",
        {"The copies were normalized. Was the line?": "yes"},
    )


@asks("Without the addition, which share is left after four blocks? (one decimal)")
def share_after_four(difference: Any, replaced: Any) -> Answer:
    return Answer(
        np.round(difference(replaced[4]), 1),
        {"Attention with nearly equal weights gives every token nearly the same average.": 0.5},
    )


@asks("We add 1 to all 16 numbers of that token. In how many of the 2 · 5 places does the output change?")
def changed_places(all_columns: Any) -> Answer:
    return Answer(
        int(all_columns.sum()),
        {
            (
                "So it should be: place 3 and later. But what does LayerNorm do with a number added "
                "everywhere?"
            ): 2,
            "Later tokens can look back at place 3. But look at LayerNorm first.": 1,
        },
    )


@asks("Attention gave the block its fame. Which share of the parameters does it have?")
def attention_share(attention: Any, count: Any, paper: Any) -> Answer:
    return Answer(
        attention / count(paper),
        {
            "Compare 4 d² with 8 d².": 1 / 2,
            "That is the share of feed-forward.": 2 / 3,
            "Four matrices of attention, but feed-forward has as many as eight.": 1 / 4,
        },
    )


@asks("d = 512. For which n does the part 4 n d cost as much as the part 24 d²?")
def equal_cost(d: Any) -> Answer:
    return Answer(
        24 * d**2 // (4 * d),
        {
            "n = d is too short: compare 4 d² with 24 d².": 512,
            "That compares with the four matrices of attention alone, 8 d².": 1024,
        },
    )


@exercise
def normalized(layer_norm: Any, table: Any) -> Answer:
    centered = table - table.mean(axis=-1, keepdims=True)
    hints = {
        "Divide by n, not by n − 1.": centered / table.std(axis=-1, keepdims=True, ddof=1),
        "Divide by the root of the variance.": centered / table.var(axis=-1, keepdims=True),
        "Subtract the mean first.": table / table.std(axis=-1, keepdims=True),
        "Each token alone: the mean runs along the row.": (table - table.mean(0)) / table.std(0),
        "One mean for each row, not one for the whole table.": (table - table.mean()) / table.std(),
    }
    return Answer(layer_norm(table), hints)


@exercise
def parameters(d: Any, count: Any) -> Answer:
    hints = {
        "That is an encoder block: a decoder block attends twice.": 12 * d**2 + 13 * d,
        "The biases and the norms are missing.": 16 * d**2,
        "There is a third norm, for the cross-attention.": 16 * d**2 + 17 * d,
        "Only attention comes twice, feed-forward once.": 2 * (12 * d**2 + 13 * d),
    }
    return Answer(count(DecoderBlock(512, 8, 2048)), hints)


@exercise
def post_norm(
    layer_norm: Any, X: Any, attention_part: Any, after_block: Any, feed_forward_part: Any
) -> Answer:
    first = layer_norm(X + attention_part(X))
    hints = {
        "That is pre-norm: norm the sum, not the copy.": after_block,
        "The second loop starts from the result of the first.": layer_norm(first + feed_forward_part(X)),
        "In the second loop, add the result of the first.": layer_norm(feed_forward_part(first)),
        "The last norm is missing.": first + feed_forward_part(first),
    }
    return Answer(layer_norm(first + feed_forward_part(first)), hints)
