"""Networks that others have built, with random weights: their tangent kernel against one backward pass a point.

Each case skips where its package is not installed; the weekly workflow installs all of them. Seen to hold to 1e-9
beside torch 2.13 with torchvision 0.28, timm 1.0.31 and transformers 4.57.
"""

import pytest
import torch
from torch import nn

import regimes
from tests.models.modules import rows

pytestmark = [pytest.mark.weekly, pytest.mark.filterwarnings("ignore")]

PICTURES = (3, 32, 32)


def torchvision(name):
    models = pytest.importorskip("torchvision.models")
    return getattr(models, name)(weights=None, num_classes=1)


def timm(name):
    models = pytest.importorskip("timm")
    return models.create_model(name, pretrained=False, num_classes=1, img_size=32, patch_size=8)


class Sentence(nn.Module):
    """A small BERT with one number a sentence, of whole-numbered tokens ``(n, 8)``."""

    def __init__(self):
        super().__init__()
        transformers = pytest.importorskip("transformers")
        sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
        self.bert = transformers.BertModel(transformers.BertConfig(vocab_size=30, **sizes))
        self.head = nn.Linear(16, 1)

    def forward(self, tokens):
        return self.head(self.bert(tokens).pooler_output)


NETWORKS = {
    "torchvision ResNet-18": lambda: torchvision("resnet18"),
    "torchvision MobileNet-v3": lambda: torchvision("mobilenet_v3_small"),
    "timm ViT": lambda: timm("vit_tiny_patch16_224"),
    "timm DeiT": lambda: timm("deit_tiny_distilled_patch16_224"),
    "transformers BERT": Sentence,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_others_has_the_kernel_of_its_gradients(name):
    torch.manual_seed(0)
    net = NETWORKS[name]().double().eval()
    tokens = isinstance(net, Sentence)
    x = torch.randint(30, (3, 8)) if tokens else torch.randn(3, *PICTURES, dtype=torch.float64)
    jacobian = rows(net, x)
    expected = jacobian @ jacobian.T
    kernel = regimes.ntk(regimes.module(net, shape=x.shape[1:]), x)[0]
    torch.testing.assert_close(kernel, expected, rtol=1e-9, atol=1e-9 * float(expected.abs().max()))
