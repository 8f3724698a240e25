"""The published numbers of parameters of well-known architectures."""

PUBLISHED = {
    "AlexNet": 60_965_224,
    "AlexNet, ungrouped": 62_378_344,
    "VGG-16": 138_357_544,
    "ResNet-34": 21_797_672,
    "U-Net": 31_030_658,
    "GPT-1": 116_534_784,
}
"""Weights and biases of the published tables, as model zoos count them."""
