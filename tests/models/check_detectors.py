#!/usr/bin/env python3
"""Exports torchvision's detectors, compiles them and compares them with onnxruntime.

  check_detectors.py [--work DIR] [NAME...]        NAME: fasterrcnn, maskrcnn, keypointrcnn, retinanet, fcos, ssd300, ssdlite

Weights are drawn from a fixed seed and scaled layer by layer, so that scores spread and boxes differ; images are small. The
largest relative error of an output must be <= 1e-3. Needs torch, torchvision, onnx and onnxruntime; SKIP without them.
"""
import argparse
import os
import sys
import tempfile
import warnings

import model_check
from model_check import Reference, check_each, compile_model, relative_error

try:
    import numpy as np
    import onnx  # noqa: F401
    import onnxruntime  # noqa: F401
    import torch
    import torchvision
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(model_check.SKIP)

TWO_STAGES = {"min_size": 96, "max_size": 128, "rpn_pre_nms_top_n_test": 100, "rpn_post_nms_top_n_test": 50,
              "box_detections_per_img": 20}
ONE_STAGE = {"min_size": 96, "max_size": 128, "topk_candidates": 100, "detections_per_img": 20}
SSD = {"topk_candidates": 50, "detections_per_img": 20}
MODELS = {
    "fasterrcnn": ("fasterrcnn_mobilenet_v3_large_320_fpn", TWO_STAGES),
    "maskrcnn": ("maskrcnn_resnet50_fpn", TWO_STAGES),
    "keypointrcnn": ("keypointrcnn_resnet50_fpn", {**TWO_STAGES, "num_classes": 2}),
    "retinanet": ("retinanet_resnet50_fpn", ONE_STAGE),
    "fcos": ("fcos_resnet50_fpn", ONE_STAGE),
    "ssd300": ("ssd300_vgg16", SSD),
    "ssdlite": ("ssdlite320_mobilenet_v3_large", SSD),
}
IMAGE = (3, 96, 128)


def spread(model, image):
    """Scales every layer so that its output has a standard deviation of 1 and its biases have 0.1."""
    handles = []

    def scale(layer, inputs, output):
        if output.numel() > 1:
            layer.weight.data /= output.std() + 1e-6
        if layer.bias is not None:
            layer.bias.data.normal_(0, 0.1)
        return layer.forward(inputs[0])

    for layer in model.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            layer.weight.data.normal_()
            handles.append(layer.register_forward_hook(scale))
    with torch.no_grad():
        model([image])
    for handle in handles:
        handle.remove()
    # Box regressions are made small, so that boxes keep roughly the size of their anchors.
    for name, layer in model.named_modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)) and ("bbox" in name or "regression" in name):
            layer.weight.data *= 0.2


def export(name, path):
    torch.manual_seed(0)
    make, options = MODELS[name]
    options = {"num_classes": 5, **options}
    model = getattr(torchvision.models.detection, make)(weights=None, weights_backbone=None, **options).eval()
    image = torch.rand(IMAGE)
    spread(model, image)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, ([image],), path, opset_version=17, dynamo=False)


def check(name, folder):
    """The error, and the number of detections."""
    import gart
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        export(name, path)
    artifact = compile_model(path, path[:-len("onnx")] + "gart", "--target", "x86-64-v3,x86-64-v4")
    reference, worst = Reference(path), 0.0
    feeds = {reference.session.get_inputs()[0].name: np.random.default_rng(1).random(IMAGE, np.float32)}
    expected = reference.run(feeds)
    for target in model_check.targets_here(artifact):
        worst = max(worst, relative_error(gart.load(artifact, target=target).run(feeds), expected))
    return worst, len(next(iter(expected.values())))


def with_count(error, count):
    return error, f"{count} detections"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--work", help="a folder that keeps the models (default: a temporary one)")
    p.add_argument("names", nargs="*", choices=[[], *MODELS])
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="gcc-graph-detectors-") as scratch:
        folder = a.work or scratch
        os.makedirs(folder, exist_ok=True)
        return check_each(a.names or list(MODELS), lambda name: with_count(*check(name, folder)))


if __name__ == "__main__":
    sys.exit(main())
