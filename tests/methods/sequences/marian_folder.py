"""A tiny model of the Marian form with random weights, as users have them on disk."""

from __future__ import annotations

import json
from pathlib import Path

import sentencepiece
import torch

from tests.methods.sequences.made_up import WORDS


def write(folder: Path, *, seed: int, words: int = 24) -> Path:
    """A folder as `save_pretrained` leaves it; those of the same number of words have one vocabulary."""
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer  # takes seconds to import

    folder.mkdir(parents=True)
    sentences = [" ".join(WORDS[at:] + WORDS[:at]) for at in range(len(WORDS))] * 20
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_prefix=str(folder / side), vocab_size=words,
            hard_vocab_limit=False, minloglevel=2,
        )  # fmt: skip
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        (folder / f"{side}.vocab").unlink()
    read = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))
    pieces = [read.id_to_piece(at) for at in range(3, read.get_piece_size())]
    numbered = {piece: at for at, piece in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(numbered), "utf-8")
    tokenizer = MarianTokenizer(
        source_spm=str(folder / "source.spm"), target_spm=str(folder / "target.spm"), vocab=str(folder / "vocab.json")
    )
    pad = numbered["<pad>"]
    config = MarianConfig(
        vocab_size=len(numbered), d_model=16, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=64, eos_token_id=0,
        pad_token_id=pad, bos_token_id=None, decoder_start_token_id=pad, forced_eos_token_id=None, init_std=0.5,
        dropout=0.0,
    )  # fmt: skip
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        model = MarianMTModel(config)
    model.final_logits_bias[0, pad] = -30.0  # trained models never write it
    model.final_logits_bias[0, 0] = 2.0  # an end at last
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
