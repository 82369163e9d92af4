"""Make the network of all-MiniLM-L6-v2 that ships from its published form in 8 bits.

    python -m vidsum.weights.recipes.minilm weights

Weights stay as they are. Only the order of two steps changes, so that a text needs less memory.
"""

import sys
from pathlib import Path

import onnx

from vidsum.weights.recipes.sources import fetch_source


def narrow_tables(source: Path, target: Path) -> None:
    """Copy an ONNX graph; rows of 8-bit embedding tables are looked up first, and then scaled.

    As published, Gather(Cast(table) * scale, tokens) makes a whole table of fp32 for a text of a few words.
    """
    model = onnx.load(source)
    by_output = {node.output[0]: node for node in model.graph.node}
    nodes, replaced = [], set[str]()
    for node in model.graph.node:
        product = by_output.get(node.input[0]) if node.op_type == "Gather" else None
        table = by_output.get(product.input[0]) if product and product.op_type == "Mul" else None
        if product is None or table is None or table.op_type != "Cast":
            nodes.append(node)
            continue
        tokens, rows = node.input[1], node.output[0]
        make = onnx.helper.make_node
        nodes.append(make("Gather", [table.input[0], tokens], [f"{rows}.codes"]))
        nodes.append(make("Gather", [product.input[1], tokens], [f"{rows}.scales"]))
        nodes.append(make("Cast", [f"{rows}.codes"], [f"{rows}.floats"], to=onnx.TensorProto.FLOAT))
        nodes.append(make("Mul", [f"{rows}.floats", f"{rows}.scales"], [rows]))
        replaced |= {product.output[0], table.output[0]}
    del model.graph.node[:]
    model.graph.node.extend(node for node in nodes if node.output[0] not in replaced)
    onnx.save(model, target)


if __name__ == "__main__":
    narrow_tables(fetch_source("minilm"), Path(sys.argv[1]) / "minilm.onnx")
