"""What does my picture network's kernel say about one class against the rest?"""

import torch
from sklearn.datasets import load_digits
from torch import nn

import regimes
from regimes.measures.information import label_entropy

digits = load_digits()  # yours: pictures (n, channels, height, width), and one class
x = torch.from_numpy(digits.images)[:, None] / 16
y = torch.where(torch.from_numpy(digits.target) == 8, 1.0, -1.0).double()
train, fresh = slice(0, 1000), slice(1000, 1400)  # the second trains nothing
torch.manual_seed(0)
net = nn.Sequential(  # yours
    *(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(256, 1)),
).double()


def diagnose(when):
    """Prints what the kernel's components share with the labels of fresh pictures."""
    found = regimes.kernel_pca(net.eval(), x[fresh], y[fresh], count=3, centred=True)
    bits = ", ".join(f"{one:.2f}" for one in found.information[0])
    print(f"{when}: {bits} bits in the first components")


diagnose("at the start")
optimiser = torch.optim.Adam(net.parameters(), lr=3e-3)
for _ in range(60):
    optimiser.zero_grad()
    nn.functional.soft_margin_loss(net.train()(x[train])[:, 0], y[train]).backward()
    optimiser.step()
diagnose("after training")
print(f"the labels hold {label_entropy(y[fresh].numpy()):.2f} bits")
