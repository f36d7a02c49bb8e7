#!/usr/bin/env python3
"""Exports Keras models by tf2onnx, compiles them and compares them with onnxruntime at two batch sizes.

  check_keras.py [--work DIR] [NAME...]

tf2onnx exports recurrent layers as recurrent operators or as loops. Weights come from a fixed seed; the
largest relative error of an output must be <= 1e-3. Needs tensorflow, tf2onnx, onnx and onnxruntime; SKIP without them.
"""
import argparse
import os
import sys
import tempfile

import model_check
from model_check import Reference, check_each, compile_model, relative_error

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import onnx
    import onnxruntime  # noqa: F401
    import tensorflow as tf
    import tf2onnx
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(model_check.SKIP)

L = tf.keras.layers


def chain(*layers):
    return lambda x: tf.keras.Sequential(layers)(x)


def residual(x):
    y = L.Conv2D(16, 3, padding="same", use_bias=False)(x)
    y = L.Activation("relu")(L.BatchNormalization()(y))
    y = L.Conv2D(3, 3, padding="same")(y)
    return L.GlobalAveragePooling2D()(L.Add()([x, y]))


def transformer(x):
    y = L.Embedding(50, 32)(x)
    y = L.LayerNormalization()(y + L.MultiHeadAttention(4, 8)(y, y))
    y = L.LayerNormalization()(y + L.Dense(32)(L.Dense(64, activation="silu")(y)))
    return L.Dense(5)(L.GlobalAveragePooling1D()(y))


def attends(x):
    states = L.LSTM(24, return_sequences=True)(x)
    weights = L.Softmax(axis=1)(L.Dense(1, activation="tanh")(states))
    return L.Dense(3)(tf.keras.ops.sum(weights * states, axis=1))


def autoencoder(x):
    y = L.Conv2D(16, 3, strides=2, padding="same", activation="elu")(x)
    y = L.Conv2D(32, 3, strides=2, padding="same", activation="elu")(y)
    y = L.Conv2DTranspose(16, 3, strides=2, padding="same", activation="elu")(y)
    return L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="sigmoid")(y)


def unet(x):
    a = L.Conv2D(8, 3, padding="same", activation="relu")(x)
    b = L.Conv2D(16, 3, padding="same", activation="relu")(L.MaxPooling2D()(a))
    up = L.UpSampling2D(interpolation="bilinear")(b)
    return L.Conv2D(2, 1)(L.Conv2D(8, 3, padding="same", activation="relu")(L.Concatenate()([a, up])))


def inverted_bottleneck(x):
    y = L.ReLU(max_value=6)(L.BatchNormalization()(L.Conv2D(18, 1, use_bias=False)(x)))
    y = L.ReLU(max_value=6)(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)))
    return x + L.BatchNormalization()(L.Conv2D(3, 1, use_bias=False)(y))


SERIES, IMAGE, WORDS = (12, 8), (32, 32, 3), "words"
MODELS = {
    "mlp": (chain(L.Dense(32, activation="relu"), L.Dropout(0.5), L.Dense(4, activation="softmax")), (20,)),
    "cnn": (chain(L.Conv2D(16, 3, activation="relu"), L.MaxPooling2D(), L.Conv2D(32, 3, activation="relu"), L.Flatten(), L.Dense(10)), IMAGE),
    "separable": (chain(L.SeparableConv2D(16, 3, activation="relu"), L.AveragePooling2D(2), L.DepthwiseConv2D(3), L.GlobalMaxPooling2D()), IMAGE),
    "residual": (residual, IMAGE),
    "inverted_bottleneck": (inverted_bottleneck, IMAGE),
    "unet": (unet, IMAGE),
    "autoencoder": (autoencoder, IMAGE),
    "video": (chain(L.Conv3D(8, 3, activation="relu"), L.MaxPooling3D(2), L.Flatten(), L.Dense(3)), (6, 12, 12, 3)),
    "signal": (chain(L.Conv1D(16, 5, dilation_rate=2, padding="causal", activation="relu"), L.GlobalAveragePooling1D(), L.Dense(2)), SERIES),
    "transformer": (transformer, WORDS),
    "text_cnn": (chain(L.Embedding(50, 16), L.Conv1D(32, 3, activation="relu"), L.GlobalMaxPooling1D(), L.Dense(2)), WORDS),
    "lstm": (chain(L.LSTM(16), L.Dense(3)), SERIES),
    "lstm_stack": (chain(L.LSTM(16, return_sequences=True), L.LSTM(12, return_sequences=True), L.TimeDistributed(L.Dense(3))), SERIES),
    "gru": (chain(L.GRU(16, return_sequences=True), L.GRU(8)), SERIES),
    "gru_reset_before": (chain(L.GRU(16, reset_after=False)), SERIES),
    "simple_rnn": (chain(L.SimpleRNN(16, return_sequences=True)), SERIES),
    "bidirectional": (chain(L.Embedding(50, 16), L.Bidirectional(L.LSTM(12, return_sequences=True)), L.Dense(4)), WORDS),
    "backwards": (chain(L.LSTM(16, go_backwards=True)), SERIES),
    "cells": (chain(L.RNN([L.LSTMCell(8), L.GRUCell(12)], return_sequences=True)), SERIES),
    "conv_lstm": (chain(L.ConvLSTM2D(4, 3, padding="same")), (3, 8, 8, 2)),
    "attends": (attends, SERIES),
}


def export(name, path):
    """Writes the model; returns a function from a batch size to inputs."""
    tf.keras.utils.set_random_seed(0)
    make, shape = MODELS[name]
    words = shape == WORDS
    x = tf.keras.Input((12,), dtype="int32") if words else tf.keras.Input(shape)
    model = tf.keras.Model(x, make(x))
    random = np.random.default_rng(0)
    for weight in model.weights:  # including the statistics of normalisations
        weight.assign(random.uniform(0.5, 1.5, weight.shape) if "moving_variance" in weight.path else random.normal(0, 0.2, weight.shape))
    signature = [tf.TensorSpec((None, *x.shape[1:]), x.dtype, name="x")]
    function = tf.function(lambda x: tf.identity(model(x, training=False), name="y"), input_signature=signature)
    onnx.save(tf2onnx.convert.from_function(function, input_signature=signature, opset=17)[0], path)
    if words:
        return lambda batch: random.integers(0, 50, (batch, 12)).astype(np.int32)
    return lambda batch: random.normal(0, 1, (batch, *shape)).astype(np.float32)


def check(name, folder):
    import gart
    path = os.path.join(folder, name + ".onnx")
    inputs = export(name, path)
    artifact = compile_model(path, path[:-len("onnx")] + "gart", "--target", "x86-64-v3,x86-64-v4")
    reference, worst = Reference(path), 0.0
    for batch in (1, 3):
        feeds = {reference.session.get_inputs()[0].name: inputs(batch)}
        expected = reference.run(feeds)
        for target in model_check.targets_here(artifact):
            worst = max(worst, relative_error(gart.load(artifact, target=target).run(feeds), expected))
    return worst


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--work", help="a folder that keeps the models (default: a temporary one)")
    p.add_argument("names", nargs="*", choices=[[], *MODELS])
    a = p.parse_args()
    names = a.names or list(MODELS)
    with tempfile.TemporaryDirectory(prefix="gcc-graph-keras-") as scratch:
        folder = a.work or scratch
        os.makedirs(folder, exist_ok=True)
        return check_each(names, lambda name: check(name, folder))


if __name__ == "__main__":
    sys.exit(main())
