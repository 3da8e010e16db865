"""How far does training move my transformer's kernel? Its change, and what it says about fresh sequences."""

import torch
from torch import nn

import regimes
from regimes.measures.spectrum import alignment


class Reader(nn.Module):
    """Tokens, whole numbers, in; one number a sequence out. Yours."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(10, 16), nn.Parameter(torch.randn(8, 16))
        self.encoder, self.head = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), nn.Linear(16, 1)

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
print(f"the kernel changed by {((after - before).norm() / before.norm()).item():.1f} times its norm")
then, now = (alignment(kernel, y[fresh]).item() for kernel in (before, after))
print(f"its alignment with the labels: {then:.2f}, then {now:.2f}")
print(f"test error {(end(x[fresh]) * y[fresh] <= 0).double().mean().item():.2f}")
