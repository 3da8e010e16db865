"""Is my training lazy? How far its kernel moves, what the first one would learn."""

import torch
from torch import nn

import regimes
from regimes.measures.spectrum import alignment

train = regimes.stripe(100, 5, seed=[0])  # yours: x (1, p, d), y (1, p)
test = regimes.stripe(2000, 5, seed=[1])
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 200), nn.ReLU(), nn.Linear(200, 1))  # yours
net = net.double()

start = regimes.module(net)  # a copy of its weights
optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)  # your training
for _ in range(3000):
    margins = train.y[0] * net(train.x[0]).squeeze(-1)
    optimiser.zero_grad()
    (1 - margins).clamp(min=0).square().mean().backward()
    optimiser.step()
end = regimes.module(net)

before, after = (regimes.ntk(model, train.x) for model in (start, end))
turned = [alignment(kernel, train.y).item() for kernel in (before, after)]
change = (after - before).norm() / before.norm()
error = (end(test.x) * test.y <= 0).double().mean()
frozen = regimes.lazy(start, train, test).error.item()
print(f"the kernel changed by {change:.2f} of its norm")
print(f"its alignment with the labels: {turned[0]:.3f}, then {turned[1]:.3f}")
print(f"test error {error:.3f}; of the kernel frozen at the start {frozen:.3f}")
