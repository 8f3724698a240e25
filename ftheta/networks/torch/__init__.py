"""Networks of PyTorch: `.pt2` files, read without torch, and modules, through torch.export. See `docs/importing.md`."""
