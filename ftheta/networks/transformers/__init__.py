"""Transformers: attention and its heads in any imported network, tokens of a text, and a small GPT to train."""

from ftheta.networks.layers.tokens import layer_norm as layer_norm
from ftheta.networks.operators.attention import Projections as Projections
from ftheta.networks.operators.attention import attend as attend
from ftheta.networks.operators.attention import self_attention as self_attention

from .gpt import GPT1 as GPT1
from .gpt import Gpt as Gpt
from .gpt import block_parameters as block_parameters
from .gpt import next_token_loss as next_token_loss
from .heads import Attention as Attention
from .heads import attention_in as attention_in
from .text_model import TextModel as TextModel
from .tokeniser import TEXTS as TEXTS
from .tokeniser import Tokeniser as Tokeniser
from .tokeniser import text as text
