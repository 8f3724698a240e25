"""Steps of Adam on the same GPT by PyTorch eager, for `benchmarks/depth.py`: a round for every line it is sent."""

import json
import sys
import time

import torch  # type: ignore[import-not-found]
from torch import nn  # type: ignore[import-not-found]


class Gpt(nn.Module):
    """Pre-norm blocks of torch, a causal mask, and scores by the embeddings."""

    def __init__(self, vocabulary: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(0.02 * torch.randn(context, width))
        gelu = nn.GELU(approximate="tanh")
        block = lambda: nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, gelu, batch_first=True, norm_first=True
        )
        self.blocks = nn.ModuleList([block() for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.mask = nn.Transformer.generate_square_subsequent_mask(context)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        x = self.tokens(numbers) + self.positions
        for block in self.blocks:
            x = block(x, src_mask=self.mask, is_causal=True)
        return self.norm(x) @ self.tokens.weight.T


def main(sizes: str, batch: int, steps: int) -> None:
    torch.manual_seed(0)
    shape = json.loads(sizes)
    model = Gpt(**shape)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    numbers = torch.randint(shape["vocabulary"], (batch, shape["context"] + 1))

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        scores = model(numbers[:, :-1])
        nn.functional.cross_entropy(scores.flatten(0, 1), numbers[:, 1:].flatten()).backward()
        optimiser.step()

    step()
    for _ in sys.stdin:
        cpu = time.process_time()
        clock = time.perf_counter()
        for _ in range(steps):
            step()
        seconds = [(time.process_time() - cpu) / steps, (time.perf_counter() - clock) / steps]
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
