#!/usr/bin/env python3
"""Writes the models of the examples, with seeded weights: make_models.py FOLDER. Among them:

  classifier.onnx  image f32[batch,3,32,32] -> probabilities f32[batch,10]
  voice.onnx       samples f32[1,256], state f32[2,1,32] -> speech f32[1,1], new_state f32[2,1,32]
  clipped.onnx     samples f32[n,c] -> y f32[n], with an operator of its own
"""
import json
import os
import sys
import wave

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.Generator(np.random.PCG64(3))


def weights(name, *shape):
    fan_in = int(np.prod(shape[1:])) or 1
    return numpy_helper.from_array((RANDOM.standard_normal(shape) / fan_in ** 0.5).astype(np.float32), name)


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def save(path, nodes, inputs, outputs, initializers):
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def classifier(path):
    node = helper.make_node
    save(path,
         [node("Conv", ["image", "w1"], ["a"], pads=[1] * 4, strides=[2, 2]), node("Relu", ["a"], ["b"]),
          node("Conv", ["b", "w2"], ["c"], pads=[1] * 4, strides=[2, 2]), node("Relu", ["c"], ["d"]),
          node("GlobalAveragePool", ["d"], ["e"]), node("Flatten", ["e"], ["f"]),
          node("Gemm", ["f", "w3"], ["g"], transB=1), node("Softmax", ["g"], ["probabilities"], axis=-1)],
         [value("image", "batch", 3, 32, 32)], [value("probabilities", "batch", 10)],
         [weights("w1", 32, 3, 3, 3), weights("w2", 64, 32, 3, 3), weights("w3", 10, 64)])


def voice(path):
    node = helper.make_node
    constant = lambda name, array: numpy_helper.from_array(np.array(array), name)
    save(path,
         [node("MatMul", ["samples", "w1"], ["a"]), node("Relu", ["a"], ["b"]), node("Unsqueeze", ["b", "zero"], ["x"]),
          node("Split", ["state"], ["h", "c"], axis=0, num_outputs=2),
          node("LSTM", ["x", "w", "r", "", "", "h", "c"], ["y", "new_h", "new_c"], hidden_size=32),
          node("Concat", ["new_h", "new_c"], ["new_state"], axis=0),
          node("Squeeze", ["new_h", "zero"], ["d"]), node("MatMul", ["d", "w2"], ["e"]), node("Sigmoid", ["e"], ["speech"])],
         [value("samples", 1, 256), value("state", 2, 1, 32)], [value("speech", 1, 1), value("new_state", 2, 1, 32)],
         [weights("w1", 256, 64), weights("w", 1, 128, 64), weights("r", 1, 128, 32), weights("w2", 32, 1),
          constant("zero", np.array([0], np.int64))])


def chat(path):
    """A language model whose cache holds all tokens, but not their order."""
    node = helper.make_node
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    save(path,
         [node("Gather", ["table", "input_ids"], ["x"]), node("Concat", ["past_key_values.0", "x"], ["present.0"], axis=1),
          node("ReduceMean", ["present.0", "axis"], ["mean"]), node("Slice", ["x", "last", "end", "axis"], ["now"]),
          node("Add", ["mean", "now"], ["y"]), node("MatMul", ["y", "w"], ["logits"])],
         [ids, value("past_key_values.0", "batch", "past", 16)], [value("logits", "batch", 1, 50), value("present.0", "batch", "all", 16)],
         [weights("table", 50, 16), weights("w", 16, 50)] + [numpy_helper.from_array(np.array([n], np.int64), name)
                                                              for name, n in (("axis", 1), ("last", -1), ("end", 2**31))])


def speech(folder):
    """Writes an encoder and a decoder in the form of Whisper's, a tokenizer, and a tone. The transcript of a sound is one word: the number of its loudest mel
    band."""
    node = helper.make_node
    save(os.path.join(folder, "encoder.onnx"),
         [node("ReduceMean", ["audio_features", "time"], ["loudness"], keepdims=0), node("Reshape", ["loudness", "shape"], ["present_key_cross_0"])],
         [value("audio_features", 1, 80, 3000)], [value("present_key_cross_0", 1, 1, 1, 80)],
         [numpy_helper.from_array(np.array(n, np.int64), name) for name, n in (("time", [2]), ("shape", [1, 1, 1, 80]))])
    numbers = [("begun", 4.0), ("most", 100.0), ("least", -100.0), ("others", [[[-100.0] * 4]])]
    save(os.path.join(folder, "decoder.onnx"),
         [node("Cast", ["input_ids"], ["x"], to=TensorProto.FLOAT), node("Unsqueeze", ["x", "axes"], ["rows"]),
          node("Concat", ["past_key_self_0", "rows"], ["present_key_self_0"], axis=2), node("Shape", ["present_key_self_0"], ["extents"], start=2, end=3),
          node("Cast", ["extents"], ["count"], to=TensorProto.FLOAT), node("Greater", ["count", "begun"], ["is_said"]),
          node("Where", ["is_said", "most", "least"], ["end"]), node("Reshape", ["end", "one"], ["end_row"]), node("Reshape", ["past_key_cross_0", "row"], ["bands"]),
          node("Concat", ["bands", "others", "end_row"], ["logits"], axis=2)],
         [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"]), value("past_key_self_0", 1, 1, "past", 1), value("past_key_cross_0", 1, 1, 1, 80)],
         [value("logits", 1, 1, 85), value("present_key_self_0", 1, 1, "all", 1)],
         [numpy_helper.from_array(np.array(n, np.float32), name) for name, n in numbers] +
         [numpy_helper.from_array(np.array(n, np.int64), name) for name, n in (("axes", [1, 3]), ("one", [1, 1, 1]), ("row", [1, 1, 80]))])
    words = [f"band{i}" for i in range(80)] + ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>", "<|endoftext|>"]
    special = [{"id": i, "content": words[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for i in range(80, 85)]
    with open(os.path.join(folder, "speech.json"), "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "added_tokens": special, "model": {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "band0"}}, file)
    with wave.open(os.path.join(folder, "tone.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes((8000 * np.sin(2 * np.pi * 1000 / 16000 * np.arange(32000))).astype("<i2").tobytes())


def encoder(path):
    """A table of the words' vectors, as wide as a sentence encoder's output."""
    ids, mask = (helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask"))
    save(path, [helper.make_node("Gather", ["table", "input_ids"], ["rows"]), helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
                helper.make_node("Unsqueeze", ["m", "two"], ["column"]), helper.make_node("Mul", ["rows", "column"], ["last_hidden_state"])],
         [ids, mask], [value("last_hidden_state", "batch", "tokens", 16)], [weights("table", 85, 16), numpy_helper.from_array(np.array([2], np.int64), "two")])


def clipped(path):
    graph = helper.make_graph([helper.make_node("Median", ["samples"], ["m"], domain="acme", ceiling=6.0), helper.make_node("Identity", ["m"], ["y"])],
                              "main", [value("samples", "n", "c")], [value("y", "n")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("acme", 1)], ir_version=10), path)


if __name__ == "__main__":
    classifier(os.path.join(sys.argv[1], "classifier.onnx"))
    voice(os.path.join(sys.argv[1], "voice.onnx"))
    clipped(os.path.join(sys.argv[1], "clipped.onnx"))
    chat(os.path.join(sys.argv[1], "chat.onnx"))
    speech(sys.argv[1])
    encoder(os.path.join(sys.argv[1], "sentences.onnx"))
