"""What imports: architectures of timm and transformers agree with PyTorch. `docs/importing.md` has the same list.

Neither library is a dependency: where one is not installed its part is skipped, with the reason. Nothing is downloaded:
weights are those of initialisation, in float64, and configurations of transformers are small.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import ftheta as ft

PAGE = Path(__file__).parents[3] / "docs" / "importing.md"
TIMM = {
    "resnet18": 64,
    "resnext26ts": 64,
    "wide_resnet50_2": 64,
    "regnetx_002": 64,
    "repvgg_a0": 64,
    "dla34": 64,
    "vgg11": 64,
    "densenet121": 32,
    "mobilenetv2_100": 64,
    "mobilenetv3_small_100": 64,
    "mnasnet_100": 64,
    "efficientnet_b0": 64,
    "ghostnet_100": 64,
    "hardcorenas_a": 64,
    "convnext_atto": 64,
    "poolformer_s12": 64,
    "mixer_s32_224": 64,
    "resmlp_12_224": 64,
    "vit_tiny_patch16_224": 64,
    "swin_tiny_patch4_window7_224": 56,
}
SIZED = ("mixer", "resmlp", "vit", "swin")  # built for one side of the images
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 50,
    "max_position_embeddings": 64,
}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 50, "n_positions": 64}
HUGGING_FACE = {
    "Bert": SMALL,
    "Roberta": SMALL,
    "Electra": SMALL | {"embedding_size": 32},
    "Albert": SMALL | {"embedding_size": 16},
    "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 50},
    "GPT2": GPT,
    "GPTNeoX": SMALL,
    "OPT": SMALL | {"ffn_dim": 64, "word_embed_proj_dim": 32},
    "Llama": SMALL | {"num_key_value_heads": 2},
    "Mistral": SMALL | {"num_key_value_heads": 2},
    "Qwen2": SMALL | {"num_key_value_heads": 2},
    "Phi": SMALL,
    "Mamba": {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 50, "state_size": 4},
}
TOKENS = 7


def assert_agrees(module, x):
    """Our float64 and torch's, on an input that is not the example, to 10⁻⁶ of the size of the output."""
    with torch.no_grad():
        expected = module(x).numpy()[0]
    net = ft.load(module, torch.zeros_like(x))
    found = np.asarray(net(x.numpy()[0])).reshape(expected.shape)
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.nightly
@pytest.mark.parametrize("name", TIMM)
def test_architectures_of_timm_agree_with_torch(name):
    timm = pytest.importorskip("timm", reason="timm is not installed")
    torch.manual_seed(0)
    size = TIMM[name]
    options = {"img_size": size} if name.startswith(SIZED) else {}
    module = timm.create_model(name, pretrained=False, num_classes=10, **options).eval().double()
    with torch.no_grad():
        for weights in module.parameters():
            if not weights.any():
                weights.normal_(std=0.1)  # a head that begins at 0 would agree with anything
    assert_agrees(module, torch.randn(1, 3, size, size, dtype=torch.float64))


class Hidden(torch.nn.Module):
    """A language model as a function of its tokens alone: the last hidden states."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens.long(), return_dict=False)[0]


@pytest.mark.nightly
@pytest.mark.parametrize("name", HUGGING_FACE)
def test_architectures_of_hugging_face_agree_with_torch(name):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    options = HUGGING_FACE[name] | {"use_cache": False}
    config = getattr(transformers, f"{name}Config")(**options)
    config._attn_implementation = "eager"
    model = Hidden(getattr(transformers, f"{name}Model")(config).eval().double())
    assert_agrees(model, torch.randint(3, 50, (1, TOKENS)))


def test_the_table_of_the_page_is_this_list():
    """Both lists, in one row per library, no more and no less."""
    rows = dict(re.findall(r"^\| (timm|Hugging Face) \| (.*) \|$", PAGE.read_text(), re.MULTILINE))
    assert rows["timm"].split(", ") == list(TIMM)
    assert rows["Hugging Face"].split(", ") == list(HUGGING_FACE)
