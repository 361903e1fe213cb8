"""Makes `tests/fakes/decoders.zip`: small folders of causal language models as Hugging Face Transformers writes them.

    python tools/make_decoder_samples.py    in an environment with transformers 5.24 and torch; nothing is fetched

Each has weights drawn by chance, its tokenizer, and what its network answers to two rows of tokens (`seen.npz`).
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

TO = Path(__file__).resolve().parent.parent / "tests" / "fakes" / "decoders.zip"
TOKENS, VOCABULARY, EACH = 24, 320, 8  # the score of each eighth token is kept
TEXT = "The quick brown fox jumps over the lazy dog. In 2024 it's 12,345 times\n\n  as quick; isn’t it? Äpfel naïve. "


def configs(transformers: Any) -> Iterator[tuple[str, Any]]:
    small = {
        "vocab_size": VOCABULARY,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
    }
    stretched = {
        "rope_type": "llama3",
        "rope_theta": 10000.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    }
    yield "gpt2", transformers.GPT2Config(vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    yield "llama", transformers.LlamaConfig(**small, rope_parameters=stretched)
    yield "smollm", transformers.LlamaConfig(**small, tie_word_embeddings=True)
    yield "mistral", transformers.MistralConfig(**small, sliding_window=6, head_dim=12)
    yield "qwen2", transformers.Qwen2Config(**small)
    yield "qwen3", transformers.Qwen3Config(**small, head_dim=16)
    gemma = {**small, "num_hidden_layers": 6, "head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 12}
    yield "gemma3", transformers.Gemma3TextConfig(**gemma)


def tokenizer(name: str) -> Any:
    """Byte-level BPE, cut as that model's own is."""
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    qwen2: Any = import_module("transformers.models.qwen2.tokenization_qwen2")
    if name == "gemma3":
        return of_words()
    cut = Tokenizer(models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=name in ("gpt2", "smollm"))
    if name in ("qwen2", "qwen3"):
        cut.normalizer = normalizers.NFC()
        split = pre_tokenizers.Split(Regex(qwen2.PRETOKENIZE_REGEX), behavior="isolated")
        cut.pre_tokenizer = pre_tokenizers.Sequence([split, level])
    elif name == "smollm":
        cut.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level])
    else:
        cut.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    cut.decoder = decoders.ByteLevel()
    cut.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 20,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    cut.train_from_iterator([TEXT * 5], trainer)
    return cut


def of_words() -> Any:
    """As Gemma's: a blank is "▁", and what has no piece is its bytes."""
    import json

    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    cut = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    cut.normalizer = normalizers.Replace(" ", "▁")
    cut.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous", False)
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=special, show_progress=False)
    cut.train_from_iterator([TEXT[:60] * 5], trainer)
    tree = json.loads(cut.to_str())
    vocabulary = tree["model"]["vocab"]
    vocabulary |= {f"<0x{byte:02X}>": len(vocabulary) + byte for byte in range(256)}
    return Tokenizer.from_str(json.dumps(tree))


def write(folder: Path, name: str, config: Any) -> None:
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for path, weight in model.named_parameters():
            few = torch.randint(-4, 5, weight.shape).to(weight.dtype)  # so that the archive is small
            if weight.ndim == 1:
                weight.add_(few / 16)
            else:
                weight.copy_(few * (0.25 if "embed" in path or "wte" in path else 0.0625))
    kept = torch.bfloat16 if name == "qwen3" else torch.float16 if name == "smollm" else torch.float32
    model = model.to(kept)
    model.save_pretrained(folder, max_shard_size="40KB" if name == "llama" else "5GB")
    tokens = np.random.default_rng(3).integers(0, VOCABULARY, (2, TOKENS))
    with torch.no_grad():
        again = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        seen = again(torch.tensor(tokens)).logits.numpy()
    cut = tokenizer(name)
    cut.save(str(folder / "tokenizer.json"))
    ids = np.array(cut.encode(TEXT).ids)
    np.savez(folder / "seen.npz", tokens=tokens.astype(np.int32), seen=seen.astype(np.float32)[..., ::EACH], ids=ids)


def main() -> int:
    transformers: Any = import_module("transformers")
    with tempfile.TemporaryDirectory() as scratch:
        for name, config in configs(transformers):
            write(Path(scratch) / name, name, config)
        with zipfile.ZipFile(TO, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(scratch).rglob("*")):
                if file.is_file() and file.name != "generation_config.json":
                    archive.write(file, file.relative_to(scratch).as_posix())
    print(f"{TO.name}: {TO.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
