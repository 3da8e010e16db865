"""Networks under several losses: what is counted, against the states of a flow of one's own."""

import pytest
import torch

from companion.papers.compression.studies import placing
from regimes.models import losses
from regimes.training.run import run
from regimes.validate import InputError

SETTING = {
    "shape": "stripe", "interfaces": [-0.3, 1.18549], "d": 3, "p": 60, "h": 40, "alpha": 1e-5, "tolerance": 0.02,
    "lines": 40, "per_direction": [3, 8],
}  # fmt: skip


@pytest.mark.parametrize("name", ["hinge", "quadratic_hinge", "logistic"])
def test_a_row_where_so_few_points_pull_for_the_first_time(name):
    setting = SETTING | {"loss": name}
    rows = placing.placed(setting, [0, 1])
    assert [(row["seed"], row["at"]) for row in rows] == [(0, 8), (0, 3), (1, 8), (1, 3)]
    assert all(row["effective"] == pytest.approx(3 * row["at"], rel=1e-3) for row in rows)
    assert placing.placed(setting, [1]) == rows[2:]
    if name == "hinge":
        assert all(row["unfitted"] == row["effective"] for row in rows)
    if name == "quadratic_hinge":
        assert all(row["effective"] == pytest.approx(2 * 60 * row["train_loss"]) for row in rows)
        assert all(row["unfitted"] > 1.2 * row["effective"] for row in rows)


def test_the_network_there_has_the_loss_and_the_forces_that_are_said():
    s = placing.Placing.of(SETTING | {"loss": "logistic"})
    (train,) = placing.draw_tasks(s, [0], "train")
    network = placing.networks_of(s, [0])
    flow = placing.gradient_flow(network, train, alpha=s.alpha, loss="logistic", tolerance=s.tolerance)
    last = placing.placed(SETTING | {"loss": "logistic"}, [0])[-1]
    until = lambda state: last["train_loss"] - state.loss  # noqa: E731
    margins = train.y[0].double() * run(flow, until=until).F[0].double()
    forces = 2 * torch.sigmoid(-margins)
    assert float(forces.square().sum()) == pytest.approx(last["effective"], rel=0.02)
    assert float(losses.named("logistic").value(margins).mean()) == pytest.approx(last["train_loss"], rel=0.02)


def test_more_effective_points_than_points_are_refused():
    with pytest.raises(InputError, match="per_direction times d must stay below p = 60, got 60"):
        placing.Placing.of(SETTING | {"loss": "hinge", "per_direction": [3, 20]}).completed([0])
