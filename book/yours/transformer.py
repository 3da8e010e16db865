"""How far does training move my transformer's kernel, and does it turn to the labels?"""

import torch
from torch import nn

import regimes
from regimes.measures.spectrum import alignment


class Reader(nn.Module):
    """Tokens, whole numbers, in; one number a sequence out. Yours."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(10, 16), nn.Parameter(torch.randn(8, 16))
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        """Outputs ``(n, 1)``."""
        return self.head(self.encoder(self.tokens(x) + self.places).mean(1))


torch.manual_seed(0)
x = torch.randint(10, (600, 8))  # your sequences
y = torch.where((x == 7).any(1), 1.0, -1.0).double()  # and labels: does the token 7 come?
train, fresh, net = slice(0, 500), slice(500, 600), Reader().double()
start = regimes.module(net.eval(), shape=(8,))
optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(50):
    optimiser.zero_grad()
    nn.functional.soft_margin_loss(net.train()(x[train])[:, 0], y[train]).backward()
    optimiser.step()
end = regimes.module(net.eval(), shape=(8,))

before, after = (regimes.ntk(model, x[fresh]) for model in (start, end))
change = (after - before).norm() / before.norm()
then, now = (alignment(kernel, y[fresh]).item() for kernel in (before, after))
print(f"kernel changed by {change:.1f} times its norm; alignment {then:.2f}, then {now:.2f}")
