#!/usr/bin/env python3
"""Pictures and sounds as inputs: --input x=photo.png, x=photo.jpg, x=voice.wav. The files are written here byte by byte, and the expected
elements are computed here. Pillow is a further oracle where it is installed."""
import base64
import io
import struct
import unittest
import wave
import zlib

import numpy as np

from cli_case import HEADER, CliCase

try:
    from PIL import Image
except ImportError:
    Image = None

# 16 x 8 pixels of the colour (200, 100, 50), quality 95, made by Pillow.
JPEG = ("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkKCgr/2wBDAQICAgICAgUDAwUK"
        "BwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgr/wAARCAAIABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAA"
        "AAAAAAAAAAAAAAAA/8QAFAEBAAAAAAAAAAAAAAAAAAAACP/EABQRAQAAAAAAAAAAAAAAAAAAAAD/2gAMAwEAAhEDEQA/AJ4Armw//9k=")


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(pixels, claims=None):
    """A PNG file of u8 or u16 pixels [H, W] or [H, W, C]. `claims`: (width, height) in the header."""
    pixels = pixels if pixels.ndim == 3 else pixels[..., None]
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", *(claims or (width, height)), 8 * pixels.itemsize, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(pixels.dtype.newbyteorder(">")).tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def palette_png(indices, colours):
    height, width = indices.shape
    rows = b"".join(b"\0" + row.tobytes() for row in indices.astype(np.uint8))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", colours.astype(np.uint8).tobytes())
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def grey(pixels):
    return ((pixels.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32) + (1 << 15)) >> 16).astype(np.uint8)


def resized(pixels, width, height):
    """Bilinear with a window as wide as the reduction, in two passes of rounded bytes. Written from the definition of the filter."""
    def along(axis, pixels, count):
        scale = pixels.shape[axis] / count
        if scale == 1:
            return pixels
        support = max(scale, 1)
        centre, at = (np.arange(count) + 0.5)[:, None] * scale, np.arange(pixels.shape[axis])[None] + 0.5
        weights = np.maximum(0, 1 - np.abs(at - centre) / support)
        weights /= weights.sum(1, keepdims=True)
        return np.clip(np.floor(np.moveaxis(np.tensordot(weights, pixels.astype(np.float64), (1, axis)), 0, axis) + 0.5), 0, 255).astype(np.uint8)
    return along(0, along(1, pixels, width), height)


class Media(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, shape, dtype in (("chw", "1, 3, 6, 8", "float"), ("hwc", "1, 6, 8, 3", "float"), ("open", "batch, 3, h, w", "float"), ("grey", "1, 1, 6, 8", "float"), ("plane", "6, 8", "float"),
                                   ("bytes", "1, 6, 8, 3", "uint8"), ("alpha", "4, 6, 8", "float"), ("half", "3, 6, 8", "float16"), ("both", "3, 6, 3", "float"), ("many", "2, 3, 6, 8", "float"),
                                   ("long", "1, 3, 6, 8", "int64"), ("sound", "1, n", "float"), ("mono", "16", "float"), ("stereo", "1, 2, n", "float"), ("short", "n", "int16")):
            cls.save(name + ".onnx", HEADER + f"m ({dtype}[{shape}] x) => ({dtype}[{shape}] y) {{ y = Identity(x) }}")
            done = cls.tool("compile", name + ".onnx", "-o", name + ".gart", "--target", "x86-64-v3")
            assert done.returncode == 0, done.stderr
        cls.random = np.random.default_rng(3)
        cls.pixels = cls.random.integers(0, 256, (6, 8, 3), np.uint8)
        cls.write("a.png", png(cls.pixels))

    def read_as(self, model, file, *options):
        self.accepted("run", model + ".gart", "--input", "x=" + file, "--outputs", "y.npz", *options)
        with np.load(self.path("y.npz")) as arrays:
            return arrays["y"]

    def test_layouts_and_types(self):
        planes = np.moveaxis(self.pixels, 2, 0)
        unit = (self.pixels / 255.0)
        np.testing.assert_array_equal(self.read_as("chw", "a.png"), np.float32(np.moveaxis(unit, 2, 0))[None])
        np.testing.assert_array_equal(self.read_as("hwc", "a.png"), np.float32(unit)[None])
        np.testing.assert_array_equal(self.read_as("open", "a.png"), np.float32(np.moveaxis(unit, 2, 0))[None])
        np.testing.assert_array_equal(self.read_as("bytes", "a.png"), self.pixels[None])
        np.testing.assert_array_equal(self.read_as("half", "a.png"), np.float16(planes / 255.0))
        np.testing.assert_array_equal(self.read_as("grey", "a.png"), np.float32(grey(self.pixels) / 255.0)[None, None])
        np.testing.assert_array_equal(self.read_as("plane", "a.png"), np.float32(grey(self.pixels) / 255.0))
        opaque = np.concatenate([planes, np.full((1, 6, 8), 255, np.uint8)])
        np.testing.assert_array_equal(self.read_as("alpha", "a.png"), np.float32(opaque / 255.0))

    def test_numbers_of_channels(self):
        mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
        options = ("--image-mean", "0.485,0.456,0.406", "--image-std", "0.229,0.224,0.225")
        np.testing.assert_allclose(self.read_as("hwc", "a.png", *options)[0], np.float32((self.pixels / 255.0 - mean) / std), rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(self.read_as("hwc", "a.png", "--image-scale", "1", "--image-mean", "127.5", "--image-std", "127.5")[0],
                                      np.float32((self.pixels - 127.5) / 127.5))

    def test_kinds_of_png(self):
        """Grey, grey with alpha, palettes, alpha, 16 bits; alpha is dropped, as by Pillow's convert."""
        plane = self.pixels[..., 0]
        three = np.repeat(plane[..., None], 3, 2)
        colours = self.random.integers(0, 256, (7, 3), np.uint8)
        indices = self.random.integers(0, 7, (6, 8))
        for file, want in ((png(plane), three), (png(np.stack([plane, plane], 2)), three), (palette_png(indices, colours), colours[indices]),
                           (png(np.concatenate([self.pixels, plane[..., None]], 2)), self.pixels), (png(self.pixels.astype(np.uint16) * 257), self.pixels)):
            self.write("kind.png", file)
            np.testing.assert_array_equal(self.read_as("bytes", "kind.png")[0], want)

    def test_sizes(self):
        for height, width in ((12, 16), (3, 4), (7, 31), (6, 9), (61, 5), (1, 1), (200, 300)):
            pixels = self.random.integers(0, 256, (height, width, 3), np.uint8)
            self.write("size.png", png(pixels))
            got = self.read_as("bytes", "size.png")[0]
            self.assertLessEqual(int(np.abs(got.astype(int) - resized(pixels, 8, 6)).max()), 1)
            np.testing.assert_array_equal(self.read_as("open", "size.png", "--image-scale", "1")[0], np.moveaxis(pixels, 2, 0))
            w, h = (width, max(1, width * 6 // 8)) if width * 6 <= height * 8 else (max(1, height * 8 // 6), height)
            left, top = (width - w) // 2, (height - h) // 2
            middle = pixels[top:top + h, left:left + w]
            cropped = self.read_as("bytes", "size.png", "--image-fit", "crop")[0]
            self.assertLessEqual(int(np.abs(cropped.astype(int) - resized(middle, 8, 6)).max()), 1)
            if Image:
                for ours, theirs in ((got, pixels), (cropped, middle)):
                    self.assertLessEqual(int(np.abs(ours.astype(int) - np.asarray(Image.fromarray(theirs).resize((8, 6), Image.BILINEAR))).max()), 1)
        wide = self.read_as("open", "size.png", "--dim", "h=5", "--dim", "w=7")
        self.assertEqual(wide.shape, (1, 3, 5, 7))

    def test_jpeg(self):
        self.write("plain.jpg", base64.b64decode(JPEG))
        got = self.read_as("bytes", "plain.jpg")[0]
        self.assertLessEqual(int(np.abs(got.astype(int) - [200, 100, 50]).max()), 2)
        self.write("wrong.png", base64.b64decode(JPEG))  # the first bytes decide, not the name
        np.testing.assert_array_equal(self.read_as("bytes", "wrong.png")[0], got)
        for end in (3, 30, 200, len(base64.b64decode(JPEG)) - 8):
            self.write("cut.jpg", base64.b64decode(JPEG)[:end])
            self.refused("run", "bytes.gart", "--input", "x=cut.jpg", says="cut.jpg")
        if Image:
            smooth = np.linspace(0, 255, 48 * 3).reshape(6, 8, 3).astype(np.uint8)
            for mode in ("RGB", "L"):
                Image.fromarray(smooth).convert(mode).save(self.path("p.jpg"), quality=90)
                want = np.asarray(Image.open(self.path("p.jpg")).convert("RGB"))
                self.assertLessEqual(int(np.abs(self.read_as("bytes", "p.jpg")[0].astype(int) - want).max()), 2)
            Image.fromarray(smooth).convert("CMYK").save(self.path("p.jpg"))
            self.refused("run", "bytes.gart", "--input", "x=p.jpg", says="CMYK")

    def test_pictures_that_are_refused(self):
        def refuses(model, *options, file="a.png", says):
            self.refused("run", model + ".gart", "--input", "x=" + file, *options, says=says)
        for width, height in ((100_000, 100_000), (1_000_000, 1), (134_217_729, 1), (2**31 - 1, 2**31 - 1)):
            self.write("bomb.png", png(self.pixels, (width, height)))
            refuses("open", file="bomb.png", says="bomb.png")
        self.write("bomb.png", png(self.pixels, (100_000, 100_000)))
        refuses("open", file="bomb.png", says="100000 x 100000 pixels; at most 134217728")
        whole = png(self.pixels)
        for end in (0, 4, 20, 50, len(whole) - 30):
            self.write("cut.png", whole[:end])
            refuses("chw", file="cut.png", says="cut.png")
        for at in range(8, len(whole) - 12, 9):  # each byte is checked by a CRC
            self.write("cut.png", whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1:])
            done = self.tool("run", "chw.gart", "--input", "x=cut.png")
            self.assertIn(done.returncode, (0, 1))
        self.write("text.png", b"hello")
        refuses("chw", file="text.png", says="not a PNG or JPEG file")
        refuses("chw", file="none.png", says="none.png")
        refuses("long", says=("floats or u8", "i64"))
        refuses("many", says="takes 2 pictures at a time")
        refuses("mono", says="rank 2 to 4")
        refuses("both", says="--image-layout")
        self.assertEqual(self.read_as("both", "a.png", "--image-layout", "chw").shape, (3, 6, 3))
        refuses("bytes", "--image-mean", "1", says="input of floats")
        refuses("chw", "--image-mean", "1,2", says="2 numbers for 3 channels")
        refuses("chw", "--image-std", "0", says="--image-std")
        refuses("chw", "--audio-rate", "16000", says="no --input is a sound")
        self.refused("run", "chw.gart", "--random", "1", "--image-scale", "1", says="no --input is a picture")
        self.refused("run", "chw.gart", "--input", "q=a.png", says="no input 'q'")

    def write_wav(self, name, samples, rate=16000):
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(samples.shape[1])
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(samples.astype("<i2").tobytes())
        self.write(name, out.getvalue())
        return out.getvalue()

    def test_sounds(self):
        samples = self.random.integers(-32768, 32768, (16, 1))
        whole = self.write_wav("a.wav", samples)
        unit = np.float32(samples[:, 0] / 32768)
        np.testing.assert_array_equal(self.read_as("mono", "a.wav", "--audio-rate", "16000"), unit)
        np.testing.assert_array_equal(self.read_as("sound", "a.wav"), unit[None])
        np.testing.assert_array_equal(self.read_as("short", "a.wav"), samples[:, 0].astype(np.int16))
        two = self.random.integers(-32768, 32768, (100_000, 2))
        self.write_wav("two.WAV", two)
        np.testing.assert_array_equal(self.read_as("stereo", "two.WAV"), np.float32(two.T / 32768)[None])
        for model, file, says, *options in (("mono", "two.WAV", "number of channels is 2, but the input takes 1"), ("stereo", "a.wav", "number of channels is 1, but the input takes 2"),
                                            ("sound", "a.wav", "16000 samples per second, but --audio-rate is 8000", "--audio-rate", "8000"), ("chw", "a.wav", "rank 1 to 3"),
                                            ("long", "a.wav", "floats or i16"), ("mono", "none.wav", "none.wav")):
            self.refused("run", model + ".gart", "--input", "x=" + file, *options, says=says)
        self.write_wav("b.wav", samples[:9])
        self.refused("run", "mono.gart", "--input", "x=b.wav", says="has 9 samples, but the input takes 16")
        self.write("cut.wav", whole[:20])
        self.refused("run", "mono.gart", "--input", "x=cut.wav", says="cut.wav")
        self.write("claims.wav", whole[:40] + struct.pack("<I", 0xFFFFFFF0) + whole[44:])
        np.testing.assert_array_equal(self.read_as("sound", "claims.wav"), unit[None])
        self.write("text.wav", b"hello")
        self.refused("run", "mono.gart", "--input", "x=text.wav", says="text.wav")


if __name__ == "__main__":
    unittest.main()
