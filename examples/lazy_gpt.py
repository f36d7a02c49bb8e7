#!/usr/bin/env python3
"""A small GPT, trained on a text and sampled as you type (tools/python on PYTHONPATH).

lazy_gpt.py [TEXT_FILE] [--steps N] [--prompt TEXT]: a token is a character. With --prompt the script answers once, otherwise it reads prompts.
"""
import argparse

import numpy as np

import gart.lazy as gl

LENGTH, SIZE, HEADS, LAYERS = 32, 48, 4, 2
TEXT = "the cat sat on the mat. the dog sat on the log. the cat saw the dog. the dog saw the cat. " * 4


def parameters(words, key):
    keys = iter(gl.random.split(key, 4 * LAYERS + 2))
    normal = lambda *shape: gl.random.normal(next(keys), shape) * 0.08  # noqa: E731
    blocks = [{"qkv": normal(SIZE, 3 * SIZE), "out": normal(SIZE, SIZE), "up": normal(SIZE, 4 * SIZE), "down": normal(4 * SIZE, SIZE),
               "norm1": gl.ones(SIZE), "norm2": gl.ones(SIZE)} for _ in range(LAYERS)]
    return {"words": normal(words, SIZE), "places": normal(LENGTH, SIZE), "blocks": blocks, "norm": gl.ones(SIZE)}


def logits(p, tokens):
    batch, length = tokens.shape
    x = gl.nn.embedding(p["words"], tokens) + p["places"][:length]
    for b in p["blocks"]:
        heads = (gl.nn.rms_norm(x, b["norm1"]) @ b["qkv"]).reshape(batch, length, 3 * HEADS, SIZE // HEADS)
        q, k, v = gl.split(gl.swapaxes(heads, 1, 2), 3, 1)
        seen = gl.swapaxes(gl.nn.attention(q, k, v, causal=True), 1, 2).reshape(batch, length, SIZE)
        x = x + seen @ b["out"]
        x = x + gl.nn.gelu(gl.nn.rms_norm(x, b["norm2"]) @ b["up"]) @ b["down"]
    return gl.nn.rms_norm(x, p["norm"]) @ p["words"].T


def mapped(f, *trees):
    if isinstance(trees[0], dict):
        return {k: mapped(f, *(t[k] for t in trees)) for k in trees[0]}
    if isinstance(trees[0], list):
        return [mapped(f, *each) for each in zip(*trees)]
    return f(*trees)


def train(p, text, steps, rng):
    step = gl.value_and_grad(lambda p, x, y: gl.nn.cross_entropy(logits(p, x), y))
    moments = mapped(lambda w: gl.zeros(w.shape), p), mapped(lambda w: gl.zeros(w.shape), p)
    for turn in range(1, steps + 1):
        starts = rng.integers(0, len(text) - LENGTH - 1, 8)
        x, y = (gl.array(np.stack([text[s + d:s + d + LENGTH] for s in starts])) for d in (0, 1))
        loss, slope = step(p, x, y)
        first = mapped(lambda m, g: 0.9 * m + 0.1 * g, moments[0], slope)
        second = mapped(lambda m, g: 0.99 * m + 0.01 * g * g, moments[1], slope)
        rate, repair = 0.01 / (1 - 0.9 ** turn), 1 / (1 - 0.99 ** turn)
        p = mapped(lambda w, m, s: w - rate * m / (gl.sqrt(s * repair) + 1e-8), p, first, second)
        moments = first, second
        gl.evaluate(loss, p, moments)
        if turn % 50 == 0 or turn == steps:
            print(f"step {turn}: loss {float(loss):.3f}", flush=True)
    return p


def sample(p, start, count, key):
    """Yields the next tokens. The window has a fixed length, so all steps use the same graph."""
    tokens = list(start)
    for _ in range(count):
        window = tokens[-LENGTH:]
        padded = gl.array(np.array([window + [0] * (LENGTH - len(window))]))
        key, use = gl.random.split(key)
        last = gl.take(logits(p, padded)[0], gl.array(len(window) - 1), 0)
        tokens.append(int(gl.random.categorical(use, last * 2.0)))
        yield tokens[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("text", nargs="?")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--prompt")
    given = parser.parse_args()
    text = open(given.text).read() if given.text else TEXT
    letters = sorted(set(text))
    number = {c: i for i, c in enumerate(letters)}
    p = train(parameters(len(letters), gl.random.key(0)), np.array([number[c] for c in text]), given.steps, np.random.default_rng(0))
    key = gl.random.key(1)
    while True:
        try:
            prompt = given.prompt or input("> ")
        except EOFError:
            return
        key, use = gl.random.split(key)
        print(prompt, end="", flush=True)
        for token in sample(p, [number[c] for c in prompt if c in number] or [0], 60, use):
            print(letters[token], end="", flush=True)
        print()
        if given.prompt:
            return


if __name__ == "__main__":
    main()
