"""The neural networks: nn.Modules that read like their papers. They import torch and each other, nothing
that does I/O.
"""
