"""What does my network look at? What its weights and its gradients pick out."""

import torch
from torch import nn

import regimes
from regimes.measures.matrices import agop, measure, nfm, sites

torch.manual_seed(0)
x = torch.randn(400, 10, dtype=torch.double)  # your points
y = x[:, 0] * x[:, 1]  # and targets: two of ten directions matter
hidden = [nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU()]
net = nn.Sequential(*hidden, nn.Linear(100, 1)).double()  # yours

start = regimes.module(net)
optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(1000):
    optimiser.zero_grad()
    (net(x).squeeze(-1) - y).square().mean().backward()
    optimiser.step()
end = regimes.module(net)

for now, then in zip(sites(end, x), sites(start, x)):  # a layer each
    uc, c = (measure(now, then)[name].item() for name in ("uc", "c"))
    print(f"NFM and AGOP correlate by {uc:.2f}, what training added by {c:.2f}")
first = sites(end, x)[0]
matrices = {"NFM": nfm(first.weights), "AGOP": agop(first.weights, first.delta)}
for name, matrix in matrices.items():
    share = 100 * matrix[0, :2, :2].trace() / matrix[0].trace()
    print(f"{share:.0f} % of the {name}'s trace is on the two directions")
