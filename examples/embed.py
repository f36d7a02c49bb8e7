#!/usr/bin/env python3
"""Prints how similar sentences are: embed.py ENCODER.gart TOKENIZER.json SENTENCE... (tools/python on PYTHONPATH; needs PyPI's tokenizers)

The model is an encoder such as BGE, E5 or MiniLM: `optimum-cli export onnx --model FOLDER --task feature-extraction OUT`, then `gcc-graph compile`."""
import sys

import numpy as np
from tokenizers import Tokenizer

import gart


def embed(model, tokenizer, sentences):
    """A unit vector for each sentence: the mean over its tokens (BGE and others take the first token instead: hidden[:, 0])."""
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch(sentences)
    mask = np.array([row.attention_mask for row in rows], np.int64)
    known = {"input_ids": np.array([row.ids for row in rows], np.int64), "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
    hidden = model.run({name: known[name] for name in model.inputs})[next(iter(model.outputs))]
    mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


if __name__ == "__main__":
    texts = sys.argv[3:]
    vectors = embed(gart.load(sys.argv[1]), Tokenizer.from_file(sys.argv[2]), texts)
    for text, likeness in zip(texts, vectors @ vectors[0]):
        print(f"{likeness:6.3f}  {text}")
