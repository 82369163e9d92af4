"""Make the checkpoint that ships of one that was trained: the same weights in half precision.

    python -m docs.benchmarks.ship RUN/best.safetensors weights/mrnet-vse.safetensors

Prints what weights/registry.yaml has to say of it.
"""

from dataclasses import replace

from docs.benchmarks import argument_parser
from vidsum.checkpoints.trained import read_trained, save_trained
from vidsum.io.provenance import hash_file


def main() -> None:
    """Write the file."""
    small = "{root}/weights/mrnet-vse.safetensors mrnet-vse.safetensors"
    parser = argument_parser(__doc__, "trained", "target", small=small)
    options = parser.parse_args()
    trained = read_trained(options.trained)
    halves = {name: tensor.half() for name, tensor in trained.tensors.items()}
    save_trained(options.target, replace(trained, tensors=halves))
    print(f"sha256: {hash_file(options.target)}\nbytes: {options.target.stat().st_size}")


if __name__ == "__main__":
    main()
