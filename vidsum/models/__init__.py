"""The neural networks: nn.Modules that read like their papers, without I/O."""
