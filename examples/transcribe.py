#!/usr/bin/env python3
"""Writes down speech with Whisper: transcribe.py WHISPER.gart TOKENIZER.json SOUND.wav [MELS] (16 kHz, up to 30 s; MELS is 128 for large-v3).
`gcc-graph compile decoder.onnx --entry encode=encoder.onnx --generate -o WHISPER.gart` makes the file from the two models that onnxruntime-genai exports.
Needs tokenizers (PyPI)."""
import sys
import wave

import numpy as np
from tokenizers import Tokenizer

import gart

RATE, SECONDS, WINDOW, HOP = 16000, 30, 400, 160


def sound_of(path):
    with wave.open(path) as file:
        if (file.getframerate(), file.getsampwidth()) != (RATE, 2):
            sys.exit(f"{path} must have {RATE} samples of 16 bits a second")
        samples = np.frombuffer(file.readframes(RATE * SECONDS), "<i2").reshape(-1, file.getnchannels())
    return samples.mean(axis=1).astype(np.float32) / 32768


def mel_filters(count):
    """Triangular filters of equal area, whose corners are equally spaced on Slaney's mel scale."""
    step = np.log(6.4) / 27
    mels = np.linspace(0, 15 + np.log(RATE / 2 / 1000) / step, count + 2)
    edges = np.where(mels < 15, mels * 200 / 3, 1000 * np.exp(step * (mels - 15)))
    places = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    rising = (places - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - places) / np.diff(edges)[1:, None]
    return np.maximum(0, np.minimum(rising, falling)) * (2 / (edges[2:] - edges[:-2]))[:, None]


def log_mel(sound, count):
    """The features that Whisper was trained with, [1, count, 3000]."""
    padded = np.pad(np.pad(sound, (0, RATE * SECONDS - len(sound))), WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP][:RATE * SECONDS // HOP]
    power = np.abs(np.fft.rfft(frames * np.hanning(WINDOW + 1)[:-1])) ** 2
    logs = np.log10(np.maximum(mel_filters(count) @ power.T, 1e-10))
    return ((np.maximum(logs, logs.max() - 8) + 4) / 4).astype(np.float32)[None]


def main():
    model, tokenizer = gart.load(sys.argv[1]), Tokenizer.from_file(sys.argv[2])
    features = log_mel(sound_of(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 80)
    session = model.session()
    session.run({"audio_features": features}, entry="encode")  # fills the caches that the decoder reads
    words = ("<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>")
    end = tokenizer.token_to_id("<|endoftext|>")
    ids = session.generate([tokenizer.token_to_id(word) for word in words], max_tokens=440, stop_ids=[end])
    print(tokenizer.decode(ids).strip())


if __name__ == "__main__":
    main()
