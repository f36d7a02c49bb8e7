#!/usr/bin/env python3
"""inspect --precision: the types of products and sums on each target, and where they have fewer digits than the model's own type."""
import json
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper

from cli_case import CliCase

BITS = {"float": 1, "float16": 10, "bfloat16": 16}


def products(kind="float"):
    """A product, a softmax and a convolution in one type."""
    numbers = np.random.default_rng(1)
    dtype = helper.tensor_dtype_to_np_dtype(BITS[kind])
    weights = [numpy_helper.from_array(numbers.standard_normal(shape).astype(dtype), name)
               for name, shape in (("w", (128, 128)), ("k", (32, 32, 3, 3)))]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="product"), helper.make_node("Softmax", ["a"], ["y"], name="softmax"),
             helper.make_node("Conv", ["image", "k"], ["z"], name="conv", pads=[1] * 4)]
    values = [helper.make_tensor_value_info(name, BITS[kind], shape)
              for name, shape in (("x", [64, 128]), ("image", [1, 32, 24, 24]), ("y", None), ("z", None))]
    graph = helper.make_graph(nodes, "g", values[:2], values[2:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def blocks(level):
    """A product by 4-bit weights, whose other factor may be rounded if `level` (accuracy_level) allows it."""
    numbers = np.random.default_rng(1)
    weights = [numpy_helper.from_array(numbers.integers(0, 256, (512, 16, 16), np.uint8), "packed"),
               numpy_helper.from_array(numbers.random(512 * 16).astype(np.float32), "scales")]
    node = helper.make_node("MatMulNBits", ["x", "packed", "scales"], ["y"], name="product", domain="com.microsoft", K=512, N=512, bits=4,
                            block_size=32, accuracy_level=level)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [1, 512])], [helper.make_tensor_value_info("y", 1, None)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


class Precision(CliCase):
    def steps(self, model, *options):
        """{target: {source: step}}"""
        onnx.save(model, self.path("m.onnx"))
        self.accepted("compile", "m.onnx", "-o", "m.gart", *options)
        report = json.loads(self.accepted("inspect", "m.gart", "--precision", "--json"))
        plans = report["entry_points"][0]["plans"]
        for plan in plans:
            self.assertEqual(plan["lower"], sum(step.get("lower", False) for step in plan["steps"]))
        return {plan["target"]: {word: step for step in plan["steps"] for word in step["source"].split(", ")} for plan in plans}

    def test_f32(self):
        for target, steps in self.steps(products(), "--target", "x86-64-v3,x86-64-v4-bf16,aarch64").items():
            for name in ("product", "conv"):
                self.assertEqual(steps[name]["arithmetic"], "f32 x f32, sums f32", target)
            self.assertEqual(steps["softmax"]["arithmetic"], "f32", target)
            for step in map(steps.get, ("product", "softmax", "conv")):
                self.assertEqual((step["model"], step["digits"], step["model_digits"], step["lower"]), ("f32", 24, 24, False))

    def test_rounded_weights_and_pairs(self):
        all_steps = self.steps(products(), "--precision", "bf16", "--target", "x86-64-v3,x86-64-v4-bf16")
        for target, expected in (("x86-64-v3", "f32 x bf16, sums f32"), ("x86-64-v4-bf16", "bf16 x bf16, sums f32")):
            step = all_steps[target]["product"]
            self.assertEqual((step["arithmetic"], step["digits"], step["model_digits"], step["lower"]), (expected, 8, 24, True), target)
            self.assertFalse(all_steps[target]["softmax"]["lower"])
        text = self.accepted("inspect", "m.gart", "--precision")
        self.assertIn("LOWER: 8 of the 24 binary digits of f32", text)
        self.assertIn(" on x86-64-v3 [", text)

    def test_models_in_16_bits_lose_nothing(self):
        for kind, name in (("float16", "f16"), ("bfloat16", "bf16")):
            for target, steps in self.steps(products(kind), "--target", "x86-64-v3").items():
                self.assertEqual(steps["product"]["model"], name)
                self.assertEqual([s for s in steps.values() if s.get("lower", False)], [], target)

    def test_gpus(self):
        for precision, arithmetic, digits in (("fp32", "3xtf32 x 3xtf32, sums f32", 22), ("tf32", "tf32 x tf32, sums f32", 11),
                                              ("fp16", "f16 x f16, sums f32", 11)):
            step = self.steps(products(), "--target", "sm_80", "--precision", precision)["sm_80"]["product"]
            self.assertEqual((step["arithmetic"], step["digits"], step["lower"]), (arithmetic, digits, True))

    def test_rounded_factors_of_packed_weights(self):
        """VPDPBUSD multiplies the other factor as integers: of 16 bits if the model allows it, otherwise of 24."""
        for level, arithmetic, digits in ((4, "i16 x i4, sums f32", 16), (1, "i24 x i4, sums f32", 24)):
            steps = self.steps(blocks(level), "--target", "x86-64-v3,x86-64-v4-vnni")
            step = steps["x86-64-v4-vnni"]["product"]
            self.assertEqual((step["arithmetic"], step["digits"], step["lower"]), (arithmetic, digits, digits < 24))
            self.assertEqual(steps["x86-64-v3"]["product"]["arithmetic"], "f32 x i4, sums f32")

    def test_bytes_are_exact(self):
        self.save("bytes.onnx", """<ir_version: 8, opset_import: ["": 17]>
            g (uint8[64, 64] x, int8[64, 64] w) => (int32[64, 64] y) { y = MatMulInteger(x, w) }""")
        steps = self.steps(onnx.load(self.path("bytes.onnx")), "--target", "x86-64-v3")["x86-64-v3"]
        self.assertFalse(any(step.get("lower", False) for step in steps.values()))

    def test_notes_and_kernels_name_the_types(self):
        self.steps(products(), "--target", "x86-64-v3")
        plan = json.loads(self.accepted("inspect", "m.gart", "--json", "--kernels"))["entry_points"][0]["plans"][0]
        for kernel in plan["kernel_list"]:
            self.assertNotIn("|", kernel["note"])
            self.assertIn("f32", kernel["arithmetic"])


if __name__ == "__main__":
    unittest.main()
