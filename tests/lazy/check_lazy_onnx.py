#!/usr/bin/env python3
"""ONNX's operators by name: check_lazy_onnx.py [EVERY], by default 1. Runs every EVERYth one-node case of the ONNX backend suite,
calls gl.onnx.NAME(operands, attributes) and compares by the suite's own rules. Each refusal must have a reason that the documents
give."""
import collections
import re
import sys

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from lazy_case import gl

import conformance_cases

# The reasons for refusals, in the words of the message: docs/lazy.md and docs/operators.md contain each.
REASONS = {"the result's size depends on data": "depend on data", "for training": "training", "element types": "(no arrays of|element type .* not supported)"}
# Operators that gart.lazy does not have: those on sequences and subgraphs, on strings and on image files.
OTHERS = {"If", "Loop", "Scan", "SequenceMap", "Optional", "OptionalGetElement", "OptionalHasElement", "StringConcat", "StringNormalizer", "StringSplit",
          "RegexFullMatch", "ImageDecoder"}


def newest():
    """The standard's operators, each in its newest version."""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and (schema.name not in found or schema.since_version > found[schema.name].since_version):
            found[schema.name] = schema
    return {name: schema for name, schema in found.items() if not schema.deprecated}


def cases(every):
    """(name, node, operands, expected) of the one-node cases in the newest opset."""
    schemas = newest()
    all_ = [c for c in conformance_cases.all_cases() if c.kind == "node"]
    for case in all_[::every]:
        model = onnx.load(case.model)
        nodes, graph = model.graph.node, model.graph
        plain = all(v.type.HasField("tensor_type") for v in (*graph.input, *graph.output))
        if len(nodes) != 1 or not plain or nodes[0].domain or nodes[0].op_type not in schemas.keys() - OTHERS:
            continue
        version = next(o.version for o in model.opset_import if not o.domain)
        if defs.get_schema(nodes[0].op_type, version).since_version == schemas[nodes[0].op_type].since_version:
            feeds, expected = next(iter(case.data_sets()))
            yield case, nodes[0], [feeds[n] if n else None for n in nodes[0].input], expected


def called(node, operands):
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    attributes = {k: v.decode() if isinstance(v, bytes) else numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto)
                  else [e.decode() if isinstance(e, bytes) else e for e in v] if hasattr(v, "__len__") else v for k, v in attributes.items()}
    outputs = {"outputs": len(node.output)} if len(node.output) > 1 else {}
    made = getattr(gl.onnx, node.op_type)(*operands, **outputs, **attributes)
    return [v for v, name in zip([made] if isinstance(made, gl.Array) else made, node.output) if name]


def main():
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    missing = newest().keys() - set(dir(gl.onnx)) - OTHERS
    right, refused = 0, collections.defaultdict(list)
    for case, node, operands, expected in cases(every):
        try:
            for value, wanted in zip(called(node, operands), expected, strict=True):
                np.testing.assert_allclose(value.numpy().astype(np.float64), np.asarray(wanted).astype(np.float64), rtol=case.rtol, atol=max(case.atol, 1e-6))
            right += 1
        except gl.Error as error:
            reason = next((name for name, words in REASONS.items() if re.search(words, str(error))), "other")
            refused[reason].append(f"{case.name}: {str(error)[:200]}")
        except AssertionError as error:
            refused["wrong"].append(f"{case.name}: {' '.join(str(error).split())[:200]}")
    for reason, names in refused.items():
        print(f"refused, {reason}: {len(names)} cases")
        for line in names if reason in ("other", "wrong") or "-v" in sys.argv else []:
            print("   ", line)
    print(f"{right} cases are right; operators that are missing: {sorted(missing)}")
    return bool(missing or refused["wrong"] or refused["other"]) or right * every < 1000


if __name__ == "__main__":
    sys.exit(main())
