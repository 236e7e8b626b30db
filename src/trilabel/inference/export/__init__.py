"""A trained model for elsewhere: an ONNX file, a file of torch.export, or a folder for a model hub."""
