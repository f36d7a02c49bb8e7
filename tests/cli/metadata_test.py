#!/usr/bin/env python3
"""The artifact keeps the metadata that a model's author wrote (metadata_props), and it can be read."""
import json
import os
import sys
import unittest

import onnx

from cli_case import CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

WRITTEN = {"names": "{0: 'person', 1: 'Fahrrad für zwei'}", "stride": "32", "empty": ""}


class Metadata(CliCase):
    def test_it_is_kept(self):
        model = onnx.load(self.path("model.onnx"))
        onnx.helper.set_model_props(model, WRITTEN)
        onnx.save(model, self.path("told.onnx"))
        self.accepted("compile", "told.onnx", "-o", "told.gart", "--target", "x86-64-v3")
        loaded = gart.load(self.path("told.gart"))
        self.assertEqual(loaded.metadata, WRITTEN)
        self.assertEqual(list(loaded.metadata), sorted(WRITTEN))
        self.assertEqual(loaded.new_invocation().metadata, WRITTEN)
        self.assertEqual(json.loads(self.accepted("inspect", "told.gart", "--json"))["metadata"], WRITTEN)
        self.assertIn("metadata stride: 32\n", self.accepted("inspect", "told.gart"))

    def test_a_model_without(self):
        self.assertEqual(gart.load(self.path("model.gart")).metadata, {})
        self.assertNotIn("metadata", json.loads(self.accepted("inspect", "model.gart", "--json")))


if __name__ == "__main__":
    unittest.main()
