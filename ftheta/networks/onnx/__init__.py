"""Networks in ONNX files, read and written without any other package: see `docs/importing.md`."""
