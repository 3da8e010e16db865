"""Is my training lazy? How far its tangent kernel moves, and what the kernel frozen at the start would have learnt."""

import torch
from torch import nn

import regimes
from regimes.measures.spectrum import alignment

train, test = regimes.stripe(100, 5, seed=[0]), regimes.stripe(2000, 5, seed=[1])  # your points x and labels y
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 200), nn.ReLU(), nn.Linear(200, 1)).double()  # your network

start = regimes.module(net)  # a copy of its weights
optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)  # your own training, as it is
for _ in range(3000):
    loss = (1 - train.y[0] * net(train.x[0]).squeeze(-1)).clamp(min=0).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
end = regimes.module(net)

before, after = (regimes.ntk(model, train.x) for model in (start, end))
twin = regimes.lazy(start, train, test)
error = (end(test.x) * test.y <= 0).double().mean()
print(f"the kernel changed by {(after - before).norm() / before.norm():.2f} of its norm")
print(f"its alignment with the labels: {alignment(before, train.y).item():.3f}, then {alignment(after, train.y).item():.3f}")
print(f"test error {error:.3f}; of the kernel frozen at the start {twin.error.item():.3f}")
