"""What has my network learnt to look at? Its feature matrix beside the mean outer product of its gradients."""

import torch
from torch import nn

import regimes
from regimes.measures.matrices import agop, measure, nfm, sites

torch.manual_seed(0)
x = torch.randn(400, 10, dtype=torch.double)  # your points
y = x[:, 0] * x[:, 1]  # and targets: two of ten directions matter
net = nn.Sequential(nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1)).double()

start = regimes.module(net)
optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(1000):
    loss = (net(x).squeeze(-1) - y).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
end = regimes.module(net)

for number, (now, then) in enumerate(zip(sites(end, x), sites(start, x)), start=1):
    found = measure(now, then)
    print(f"layer {number}: NFM and AGOP correlate by {found['uc'].item():.2f}, what training added by {found['c'].item():.2f}")
first = sites(end, x)[0]
for name, matrix in {"NFM": nfm(first.weights), "AGOP": agop(first.weights, first.delta)}.items():
    share = matrix[0, :2, :2].trace() / matrix[0].trace()
    print(f"the first layer's {name} has {100 * share:.0f} % of its trace on the two directions that matter")
