"""Several models as one ensemble."""

import pytest
import torch

from regimes.models import join
from regimes.models.fully_connected import fully_connected
from regimes.models.one_hidden import one_hidden
from regimes.validate import InputError
from tests.cases import for_each
from tests.models.cases import MODELS, POINTS


@for_each(MODELS)
def test_what_is_taken_apart_is_joined_again(model):
    x = POINTS["own"]
    joined = join([model[:1], model[1:]])
    assert type(joined) is type(model) and joined.names == model.names
    assert all(torch.equal(a, b) for a, b in zip(joined.parameters(), model.parameters(), strict=True))
    assert torch.equal(joined(x), model(x))


@for_each(MODELS)
def test_the_order_is_that_of_the_models(model):
    x = POINTS["shared"]
    thrice = join([model[1:], model, model[:1]])
    torch.testing.assert_close(thrice(x), model(x)[[1, 0, 1, 0]], rtol=1e-13, atol=1e-13)


DEEP = fully_connected([3, 4, 4, 1], seeds=[0])
SHALLOW = fully_connected([3, 4, 1], seeds=[0])
ONE = one_hidden(3, 4, seeds=0)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "models must be one or more of one kind, got \\[\\]"),
        ([SHALLOW, ONE], r"of one kind, got \['FullyConnected', 'Network'\]"),
        ([DEEP, SHALLOW], "weights must agree in all models to be joined, got 3 entries, 2 entries"),
        ([SHALLOW, fully_connected([3, 5, 1], seeds=[0])], r"weights\[0\] must agree"),
        ([SHALLOW, SHALLOW.to(dtype=torch.float32)], r"weights\[0\] must agree"),
        ([SHALLOW, fully_connected([3, 4, 1], seeds=[0], gain=1.0)], r"multipliers\[0\] must agree"),
        ([SHALLOW, fully_connected([3, 4, 1], seeds=[0], sigma="tanh")], "sigma must agree"),
        ([SHALLOW, fully_connected([3, 4, 1], seeds=[0], bias=True)], "biases must agree"),
        ([ONE, one_hidden(3, 5, seeds=0)], "omega must agree"),
    ],
)
def test_what_does_not_agree_is_named(models, message):
    with pytest.raises(InputError, match=message) as error:
        join(models)
    assert "\n" not in str(error.value)
