"""Would my recurrent network learn as well lazily, with the kernel of its start?"""

import torch
from torch import nn

import regimes
from regimes.data.tasks import Task


class Listener(nn.Module):
    """Series of 20 steps of two numbers in, one number a series out. Yours."""

    def __init__(self):
        super().__init__()
        self.memory, self.head = nn.LSTM(2, 16, batch_first=True), nn.Linear(16, 1)

    def forward(self, x):
        """Outputs ``(n, 1)``."""
        return self.head(self.memory(x)[0][:, -1])


torch.manual_seed(0)
x = torch.randn(500, 20, 2, dtype=torch.double)  # your series
y = (x[..., 0] * x[..., 1]).mean(1).sign()  # and labels: do the numbers agree in sign?
train = Task(x[None, :200], y[None, :200], "my series")
test = Task(x[None, 200:], y[None, 200:], "my series")
net = Listener().double()

start = regimes.module(net, shape=(20, 2))
optimiser = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(200):
    optimiser.zero_grad()
    (1 - train.y[0] * net(train.x[0])[:, 0]).clamp(min=0).square().mean().backward()
    optimiser.step()
end = regimes.module(net, shape=(20, 2))
frozen = regimes.lazy(start, train, test).error.item()
error = (end(test.x) * test.y <= 0).double().mean().item()
print(f"test error {error:.2f}; of the kernel frozen at the start {frozen:.2f}")
