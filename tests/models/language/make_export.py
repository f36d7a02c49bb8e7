#!/usr/bin/env python3
"""Exports of language models with random weights, made from configurations: make_export.py CASE FOLDER, or make_export.py --list.

A case is BUILDER-FAMILY-PRECISION: `genai` is onnxruntime-genai's model builder, `dynamo` torch.onnx.export with flat caches, `optimum`
its command line. FOLDER then holds model.onnx. Weights are drawn so that each layer affects the result: N(0, 1/fan_in), norms about 1, biases N(0, 0.1)."""
import os
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
BASE = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 2048,
        "max_position_embeddings": 2048, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3}
LLAMA3 = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512, "rope_theta": 500000.0}
YARN = {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 256}
LONG = {"rope_type": "longrope", "type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.75, "short_factor": [1.0] * 24,
        "long_factor": [float(i + 1) for i in range(24)], "original_max_position_embeddings": 1024}
LINEAR = {"head_dim": 32, "linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 32, "linear_value_head_dim": 32,
          "linear_conv_kernel_dim": 4, "layer_types": ["linear_attention", "linear_attention", "full_attention"], "num_hidden_layers": 3,
          "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1],
                              "mrope_interleaved": True}}
VISION = {"depth": 1, "hidden_size": 64, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 256}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128}

# The prefix of the classes' names in transformers, and the fields that differ from BASE.
FAMILIES = {
    "llama2": ("Llama", {"num_key_value_heads": 8}),
    "llama3": ("Llama", {"rope_parameters": LLAMA3, "tie_word_embeddings": True, "head_dim": 32}),
    "smollm2": ("Llama", {"hidden_size": 288, "num_attention_heads": 9, "num_key_value_heads": 3, "tie_word_embeddings": True}),
    "smollm3": ("SmolLM3", {"no_rope_layers": [1, 0]}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"head_dim": 64, "tie_word_embeddings": True}),
    "qwen2moe": ("Qwen2Moe", {**EXPERTS, "shared_expert_intermediate_size": 256}),
    "qwen3moe": ("Qwen3Moe", {**EXPERTS, "head_dim": 32}),
    "qwen35": ("Qwen3_5", LINEAR),
    "qwen35moe": ("Qwen3_5Moe", {**LINEAR, **EXPERTS, "shared_expert_intermediate_size": 128}),
    "phi2": ("Phi", {"num_key_value_heads": 8}),
    "phi3": ("Phi3", {"sliding_window": 2047, "original_max_position_embeddings": 2048}),
    "phi4mini": ("Phi3", {"num_attention_heads": 4, "partial_rotary_factor": 0.75, "max_position_embeddings": 4096, "sliding_window": 4096,
                          "original_max_position_embeddings": 1024, "rope_parameters": LONG, "tie_word_embeddings": True}),
    "gemma": ("Gemma", {"head_dim": 32}),
    "gemma2": ("Gemma2", {"head_dim": 32, "sliding_window": 16, "query_pre_attn_scalar": 32}),
    "gemma3": ("Gemma3", {"head_dim": 32, "sliding_window": 16, "query_pre_attn_scalar": 32, "num_hidden_layers": 6}),
    "mistral": ("Mistral", {"sliding_window": 12, "head_dim": 32}),
    "mixtral": ("Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "gptoss": ("GptOss", {"head_dim": 32, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16, "rope_parameters": YARN,
                          "initial_context_length": 256}),
    "granite": ("Granite", {"embedding_multiplier": 12.0, "logits_scaling": 8.0, "residual_multiplier": 0.22, "attention_multiplier": 0.0156}),
    "olmo": ("Olmo", {}),
    "olmo2": ("Olmo2", {}),
    "nemotron": ("Nemotron", {"head_dim": 32}),
    "ernie45": ("Ernie4_5", {"head_dim": 32}),
    "hunyuan": ("HunYuanDenseV1", {"head_dim": 32}),
    "lfm2": ("Lfm2", {"layer_types": ["conv", "full_attention"]}),
    "lfm2moe": ("Lfm2Moe", {"layer_types": ["conv", "full_attention"], **EXPERTS, "num_dense_layers": 1}),
    "glm4": ("Glm4", {"head_dim": 32}),
    "starcoder2": ("Starcoder2", {}),
    "cohere": ("Cohere", {}),
    "gpt2": ("GPT2", {"n_embd": 256, "n_layer": 2, "n_head": 8, "n_positions": 512}),
    "bloom": ("Bloom", {"n_layer": 2, "n_head": 8}),
}
GENAI = ["llama2", "llama3", "smollm2", "qwen2", "qwen3", "qwen35", "qwen35moe", "phi2", "phi3", "phi4mini", "gemma", "gemma2", "gemma3", "mistral", "gptoss",
         "granite", "olmo", "nemotron", "ernie45", "hunyuan", "lfm2", "lfm2moe"]
DYNAMO = ["llama3", "smollm3", "qwen2", "qwen3", "qwen2moe", "qwen3moe", "phi3", "phi4mini", "gemma2", "gemma3", "mistral", "mixtral", "gptoss", "granite",
          "olmo2", "glm4", "starcoder2", "cohere", "gpt2"]
OPTIMUM = ["llama2", "mistral", "qwen2", "qwen3", "phi3", "gemma", "granite", "olmo2", "gpt2", "bloom"]
CASES = ([f"genai-{name}-{precision}" for name in GENAI for precision in ("fp32", "int4")] + [f"dynamo-{name}-fp32" for name in DYNAMO] +
         [f"optimum-{name}-fp32" for name in OPTIMUM])


def model_of(name):
    import transformers
    kind, fields = FAMILIES[name]
    fields = {**BASE, **fields}
    if "linear_num_key_heads" in fields:  # the builder takes it as the text's part of a model of pictures and texts
        own = {name: BASE[name] for name in BASE if name.endswith("_token_id")}
        config = getattr(transformers, kind + "Config")(text_config=fields, vision_config=VISION, **own)
        return with_random_weights(getattr(transformers, kind + "ForConditionalGeneration")(config))
    config = {"Gemma3": "Gemma3TextConfig"}.get(kind, kind + "Config")
    model = {"GPT2": "GPT2LMHeadModel"}.get(kind, kind + "ForCausalLM")
    return with_random_weights(getattr(transformers, model)(getattr(transformers, config)(**fields)))


def with_random_weights(model):
    import torch
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=random)
            if weight.dim() <= 1:
                weight.copy_(0.1 * noise + (1 if float(weight.abs().sum()) != 0 and "bias" not in name else 0))
            elif "embed" in name or "wte" in name:
                weight.copy_(0.5 * noise)
            else:
                fan_in = weight.shape[-1] if weight.dim() == 3 and "experts" in name else weight[0].numel()
                weight.copy_(fan_in ** -0.5 * noise)
    return model.eval()


def save_tokenizer(folder, vocabulary):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "<pad>": 3}
    words.update({f"w{i}": i for i in range(4, vocabulary)})
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>").save_pretrained(folder)


def saved(name, folder):
    """Saves the model in Hugging Face's form; returns the folder."""
    source = os.path.join(folder, "source")
    model_of(name).save_pretrained(source)
    save_tokenizer(source, BASE["vocab_size"])
    return source


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("\n".join((done.stderr or done.stdout).strip().splitlines()[-3:]))


def genai(name, precision, folder):
    run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", saved(name, folder), "-o", folder, "-p", precision, "-e", "cpu",
         "-c", os.path.join(folder, "cache")])


def optimum(name, _, folder):
    run([sys.executable, "-m", "optimum.commands.optimum_cli", "export", "onnx", "--model", saved(name, folder), "--task", "text-generation-with-past",
         folder])


def dynamo(name, _, folder):
    import torch
    from transformers import DynamicCache
    model = model_of(name)
    if "num_experts_per_tok" in FAMILIES[name][1]:
        model.set_experts_implementation("batched_mm")  # torch's exporter has no grouped_mm, the default
    config = model.config.get_text_config()
    layers = config.num_hidden_layers
    with torch.no_grad():  # the extents of the cache are read from a cache
        cached = model(input_ids=torch.full((1, 4), 5), use_cache=True).past_key_values.layers[0].keys

    class WithPast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, position_ids, *past):
            cache = DynamicCache()
            for i in range(layers):
                cache.update(past[2 * i], past[2 * i + 1], i)
            out = self.model(input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=cache, use_cache=True)
            return (out.logits, *[t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)])

    open_extent = torch.export.Dim.DYNAMIC
    arguments = [torch.randint(4, config.vocab_size, (2, 3)), torch.ones(2, 8, dtype=torch.int64), torch.arange(5, 8)[None].repeat(2, 1)]
    both = {0: open_extent, 1: open_extent}
    caches = [f"{i}.{which}" for i in range(layers) for which in ("key", "value")]
    past = [torch.randn(2, cached.shape[1], 5, cached.shape[3]) for _ in caches]
    program = torch.onnx.export(
        WithPast(), (*arguments, *past), dynamo=True, verbose=False,
        input_names=["input_ids", "attention_mask", "position_ids"] + [f"past_key_values.{c}" for c in caches],
        output_names=["logits"] + [f"present.{c}" for c in caches],
        dynamic_shapes=(both, both, both, tuple({0: open_extent, 2: open_extent} for _ in caches)))
    program.save(os.path.join(folder, "model.onnx"), external_data=False)


def main():
    if sys.argv[1] == "--list":
        print("\n".join(CASES))
        return 0
    builder, name, precision = sys.argv[1].split("-")
    os.makedirs(sys.argv[2], exist_ok=True)
    try:
        {"genai": genai, "dynamo": dynamo, "optimum": optimum}[builder](name, precision, sys.argv[2])
    except Exception as error:  # noqa: BLE001: one case of many
        print(f"{type(error).__name__}: {' | '.join(str(error).splitlines()[-2:])[-300:]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
