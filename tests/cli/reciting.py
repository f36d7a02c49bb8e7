"""Tokenizers that are trained here, and models that recite a text. Needs the packages tokenizers and jinja2: exits with SKIP without them."""
import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

try:
    import jinja2  # noqa: F401: chat templates need it
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    print(f"SKIP: {error.name} is not installed (tools/test.sh installs it)")
    sys.exit(77)

TEXT = "The quick brown fox jumps over the lazy dog. Grüße aus Köln! 日本語のテキスト。 Всем привет. A dog and a fox, over and over: naïve café.\n"
# The answer's 🙂 is not in the training text, so it spans several tokens. Training breaks ties at random.
ANSWER = " the fox said: Grüße, 🙂 日本! Then the dog jumped over."
PROMPT = "The quick brown"


def byte_level(path):
    """A tokenizer as in GPT-2 and Llama 3: tokens consist of bytes, and one character may span several tokens."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "</s>", "<|user|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    return finished(made, trainer, path)


def metaspace(path):
    """A tokenizer as in Llama 2 and Gemma: a space is a part of the next word, and unknown characters fall back to
    bytes."""
    made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # no token has parts of two words
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    finished(made, trainers.BpeTrainer(vocab_size=100, special_tokens=["<s>", "</s>", "<|user|>", "<unk>"], limit_alphabet=30), path)
    with open(path, encoding="utf-8") as file:
        told = json.load(file)
    vocabulary = told["model"]["vocab"]
    for byte in range(256):
        vocabulary[f"<0x{byte:02X}>"] = len(vocabulary)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(told, file)
    return tokenizers.Tokenizer.from_file(path)


def finished(made, trainer, path):
    made.train_from_iterator([TEXT] * 8, trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))])
    made.save(path)
    return made


def reciting(ids, first, vocabulary, period=0):
    """A model that generates `ids` from position `first` on, whatever its input. Its cache holds its input ids. It reads
    256 tokens, or any number if the text is repeated after `period` positions."""
    table = np.zeros((period or 256, vocabulary), np.float32)
    for position, token in enumerate(ids):
        table[first + position, token] = 1
    cache = ["past_key_values.0.key", "present.0.key"]
    nodes = [
        helper.make_node("Mod", ["position_ids", "period"], ["places"]),
        helper.make_node("Gather", ["table", "places" if period else "position_ids"], ["logits"]),
        helper.make_node("Cast", ["input_ids"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["numbers", "axes"], ["rows"]),
        helper.make_node("Concat", [cache[0], "rows"], [cache[1]], axis=2)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "reciting",
        [value("input_ids", TensorProto.INT64, ["batch", "tokens"]), value("position_ids", TensorProto.INT64, ["batch", "tokens"]),
         value(cache[0], TensorProto.FLOAT, ["batch", 1, "past", 1])],
        [value("logits", TensorProto.FLOAT, ["batch", "tokens", vocabulary]), value(cache[1], TensorProto.FLOAT, ["batch", 1, "all", 1])],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array(period or 1), "period"), numpy_helper.from_array(np.array([1, 3]), "axes")])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
