"""Make attention_core/minilm/: what the heads of a trained model work with, for two sentences.

    python -m tools.minilm_numbers

Each file holds the tokens, and the queries, keys and values of all heads, computed in float64 and
stored as float32. It needs the model itself (`make minilm`).
"""

from pathlib import Path

import numpy as np

from attention_core.minilm import SENTENCES, Heads, MiniLM

FOLDER = Path(__file__).resolve().parent.parent / "attention_core" / "minilm"


def write(path: Path, heads: Heads) -> None:
    """Store heads as float32."""
    q, k, v = (part.astype(np.float32) for part in (heads.q, heads.k, heads.v))
    np.savez_compressed(path, tokens=np.array(heads.tokens), q=q, k=k, v=v)
    print(f"{path.name}: {path.stat().st_size} bytes")


def main(folder: Path = FOLDER) -> None:
    model = MiniLM.load()
    for name, sentence in SENTENCES.items():
        write(folder / f"{name}.npz", model.run(sentence))


if __name__ == "__main__":
    main()
