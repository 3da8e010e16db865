"""Motion of the last hidden layer in training on a text: the measures of paper C's Table 1 and Prop. 4.

Tokens are the most frequent words of a corpus, one-hot. The target of a token is the distribution of the next token.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

import torch
from torch import Tensor

from regimes import validate
from regimes.models.fully_connected import fully_connected
from regimes.training.optimise import optimise
from regimes.validate import InputError


def bigrams(text: str, vocabulary: int) -> tuple[Tensor, Tensor]:
    """One-hot tokens ``(v, v)`` and their next-token distributions ``(v, v)``, rows summing to 1, float64.

    The tokens are the ``v`` most frequent words that some token follows; pairs with another word between them do not
    count.
    """
    validate.integer(2, vocabulary=vocabulary)
    if not isinstance(text, str):
        raise InputError(f"text must be a string of words, got {type(text).__name__}")
    words = text.split()
    common = [word for word, _ in Counter(words).most_common(vocabulary)]
    if len(common) < vocabulary:
        raise InputError(f"vocabulary must be at most {len(common)}, the words of this text, got {vocabulary}")
    index = {word: i for i, word in enumerate(common)}
    counts = torch.zeros(vocabulary, vocabulary, dtype=torch.float64)
    for (a, b), count in Counter(pairwise(words)).items():
        if a in index and b in index:
            counts[index[a], index[b]] = count
    counts += 1 / vocabulary  # one pseudo-count per row: no row is empty
    return torch.eye(vocabulary, dtype=torch.float64), counts / counts.sum(1, keepdim=True)


def change(before: Tensor, after: Tensor) -> dict[str, float]:
    """The motion of the last hidden layer ``(n, width)``, averaged over the ``n`` inputs.

    Returns:
        ``norm`` = ``|h_t - h_0|_2``, ``largest`` = ``max_i |h_{t,i} - h_{0,i}|``, ``ratio`` of the two, ``inner`` =
        mean absolute change of ``<h(x), h(x')>`` over pairs, and ``relative`` = the change of the matrix of inner
        products over its norm (Frobenius).

    Source: paper C, Tab. 1 and Prop. 4.
    """
    validate.arrays(before=("n width", before), after=("n width", after))
    if len(before) < 2 or not bool(before.any()):
        raise InputError(f"before must hold a layer at two or more inputs, not all zero, got {tuple(before.shape)}")
    moved = after - before
    norm = moved.norm(dim=-1)
    largest = moved.abs().amax(-1)
    gram = before @ before.mT
    shift = after @ after.mT - gram
    pairs = ~torch.eye(len(gram), dtype=torch.bool, device=gram.device)
    return {
        "norm": float(norm.mean()),
        "largest": float(largest.mean()),
        "ratio": float((norm / largest.clamp_min(torch.finfo(norm.dtype).tiny)).mean()),
        "inner": float(shift[pairs].abs().mean()),
        "relative": float(shift.norm() / gram.norm()),
    }


def learn(
    tokens: Tensor,
    targets: Tensor,
    *,
    width: int,
    seed: int,
    optimiser: str,
    parametrisation: str,
    steps: Sequence[int],
    rate: float | None = None,
) -> list[dict[str, float]]:
    """Trains two hidden ReLU layers of ``width`` by full batches; records :func:`change` and losses at each step count.

    Default rates, in the unit of :mod:`regimes.training.optimise`: for gradient descent on ``v`` tokens ``2v`` in the
    NTK parametrisation and ``2v/width`` in the standard one, a quarter of the largest stable rate; for Adam 1e-3 in
    both. A run whose outputs overflow is refused.

    Args:
        tokens: ``(v, v)``.
        targets: ``(v, v)``, of the tokens' dtype, which is that of the network.
        width: of both hidden layers.
        seed: of the initialisation.
        optimiser: ``gd`` or ``adam``.
        parametrisation: ``ntk`` or ``standard``.
        steps: step counts of the records, strictly increasing.
        rate: of each step; ``None`` for the defaults.

    Source: paper C, Sec. 5 and Tab. 1, which leave all of these open.
    """
    validate.one_of(("gd", "adam"), optimiser=optimiser)
    validate.one_of(("ntk", "standard"), parametrisation=parametrisation)
    validate.integer(1, width=width)
    validate.increasing(steps=steps)
    validate.integer(0, **{f"steps[{i}]": step for i, step in enumerate(steps)})
    validate.arrays(tokens=("v v", tokens), targets=("v v", targets))
    v = len(tokens)
    form = {"parametrisation": parametrisation, "dtype": tokens.dtype, "device": tokens.device}
    net = fully_connected([v, width, width, v], seeds=[seed], gain=1.0, **form)
    if rate is None and optimiser == "adam":
        rate = 1e-3
    elif rate is None:
        rate = 2.0 * v if parametrisation == "ntk" else 2.0 * v / width
    before = net.hidden(tokens)[-1][0]
    states = optimise(net, tokens, targets[None], rate=rate, method=optimiser)
    first = next(states)
    records = []
    for step, state in zip(range(steps[-1] + 1), chain([first], states)):
        if step in steps:
            moved = change(before, state.model.hidden(tokens)[-1][0])
            records.append({"step": step, "loss_start": float(first.loss), "loss_end": float(state.loss), **moved})
    if len(records) < len(steps):
        raise InputError(f"rate must be smaller: after {step} steps the outputs have left the range of numbers")
    return records
