"""Models of the Marian form on disk as members, and given targets scored by CTranslate2."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from shiftbench import measures, methods
from shiftbench.ensembles import Hypotheses
from shiftbench.errors import ArrayError, MissingExtraError, SettingsError, ShiftbenchWarning
from shiftbench.methods.sequences import marian, scorer
from shiftbench.methods.sequences.dataset import Sources
from shiftbench.methods.sequences.decoding import Beam, beam_search, forced
from tests.methods.sequences import marian_folder
from tests.methods.sequences.made_up import made_up

TEXTS = ["one two three", "", "seven zero four four five six"]
ROWS = made_up(5, seed=1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("marian")
    return [marian_folder.write(place / str(seed), seed=seed) for seed in range(2)]


@pytest.fixture(scope="module")
def members(folders):
    return marian.members(folders, torch.device("cpu"))


@pytest.fixture(scope="module")
def sources(members):
    return [np.array(members[0].vocabulary.encode(text), np.int64) for text in TEXTS]


def test_the_search_finds_what_the_library_finds(folders, members, sources):
    """Of one model the library's own beam search ends alike, if it also stops at the first five ends."""
    from transformers import MarianMTModel  # takes seconds to import

    model = MarianMTModel.from_pretrained(folders[0]).eval()
    for tokens, found in zip(sources, beam_search(members[:1], sources, Beam(1, 1), most=12), strict=True):
        given = torch.tensor([[*tokens.tolist(), members[0].eos]])
        made = model.generate(given, num_beams=1, do_sample=False, max_new_tokens=11, bad_words_ids=[[members[0].pad]])
        wanted = made[0, 1:].tolist()
        assert found[0].tokens.tolist()[: len(wanted)] == wanted


def test_hypotheses_have_the_scores_of_plain_passes(members, sources):
    found = beam_search(members, sources, Beam(3, 3), most=9)
    targets = [[each.tokens[:-1] for each in hypotheses] for hypotheses in found]
    (block,) = forced(members, sources, targets)
    searched = np.concatenate([each.log_probabilities for hypotheses in found for each in hypotheses], axis=1)
    np.testing.assert_allclose(block.hypotheses().log_probabilities, searched, atol=1e-5)
    assert len({len(each.tokens) for hypotheses in found for each in hypotheses}) > 1
    for member in range(2):
        before = torch.tensor([[members[member].start, *targets[0][0].tolist()]])
        given = torch.tensor([[*sources[0].tolist(), members[member].eos]])
        with torch.no_grad():
            logits = members[member].model(input_ids=given, decoder_input_ids=before).logits[0]
        alone = logits.log_softmax(-1)[np.arange(before.shape[1]), found[0][0].tokens]
        np.testing.assert_allclose(found[0][0].log_probabilities[member], alone, atol=1e-5)


def fitted(folders, folder, **changed):
    method = methods.method("marian", "sequences")
    settings = method.Settings(
        **{"models": tuple(map(str, folders)), "members": len(folders), "longest": 64, "most_tokens": 12} | changed
    )
    return method, method.fit(ROWS, ROWS, settings=settings, folder=folder)


def test_models_on_disk_predict_without_training(folders, tmp_path):
    method, folder = fitted(folders, tmp_path / "fit")
    answers = method.predict(ROWS, folder=folder, cores=1)
    (block,) = answers
    assert (answers.records, answers.members) == (5, 2)
    assert len(block.texts) == block.hypotheses.counts.sum() == 25
    assert not any(mark in text for text in block.texts for mark in ("</s>", "<pad>", "▁"))
    assert all(np.isfinite(values).all() for values in block.measures.values())
    assert method.about(ROWS, folder=folder) == "2 trained models of the Marian form, read from disk"


def test_sources_alone_are_enough(folders, tmp_path):
    texts = Sources(tuple(source for source, _ in ROWS.texts))
    method, folder = fitted(folders, tmp_path / "fit")
    wanted = next(iter(method.predict(ROWS, folder=folder)))
    assert next(iter(method.predict(texts, folder=folder))).texts == wanted.texts
    assert len(texts.select([3, 1])) == 2
    assert texts.select([3, 1]).source(1) == texts.source(1)
    assert texts.select(slice(1)).digest != texts.digest == Sources(texts.texts).digest


def test_what_the_vocabulary_lacks_is_counted(folders, tmp_path):
    method, folder = fitted(folders, tmp_path / "fit")
    rows = type(ROWS)((("one 字 two", ""), ("one two", "")))
    assert next(iter(method.predict(rows, folder=folder))).unknown.tolist() == [1, 0]


def test_texts_longer_than_a_models_positions_are_cut(folders, tmp_path):
    method, folder = fitted(folders[:1], tmp_path / "fit", longest=512, most_tokens=200)  # the models have 64
    words = " ".join(word for _ in range(100) for word in ("one", "two"))
    with pytest.warns(ShiftbenchWarning, match="63 tokens"):
        (block,) = method.predict(type(ROWS)(((words, ""), ("one two", ""))), folder=folder)
    assert block.truncated.tolist() == [True, False]
    assert block.hypotheses.lengths.max() <= 64


def test_missing_foreign_and_changed_models_are_refused(folders, tmp_path):
    with pytest.raises(SettingsError, match=r"expected the folder of a model with config.json, found none at .*none"):
        fitted([*folders, tmp_path / "none"], tmp_path / "fit")
    other = marian_folder.write(tmp_path / "other", seed=5, words=20)
    method, folder = fitted([folders[0], other], tmp_path / "mixed")
    with pytest.raises(SettingsError, match=r"expected the vocabulary of .* \(\d+ tokens\), found another in .*other"):
        method.predict(ROWS, folder=folder)
    method, folder = fitted([other], tmp_path / "changed")
    (other / "config.json").write_text("{")
    with pytest.raises(SettingsError, match="expected the models as they were, found others"):
        method.predict(ROWS, folder=folder)
    method, folder = fitted([other], tmp_path / "damaged")
    with pytest.raises(SettingsError, match=r"expected a model of the Marian form in .*other, found: "):
        method.predict(ROWS, folder=folder)
    (other / "config.json").write_text((folders[0] / "config.json").read_text())
    save_file({"else": torch.zeros(2)}, other / "model.safetensors", metadata={"format": "pt"})
    method, folder = fitted([other], tmp_path / "empty")
    with pytest.raises(SettingsError, match=r"found: ValueError: no weights of \S+, nor of \d+ others"):
        method.predict(ROWS, folder=folder)
    with pytest.raises(SettingsError, match="folder of a model for each of 2 members, found 1"):
        fitted(folders[:1], tmp_path / "few", members=2)


# -- CTranslate2


@pytest.fixture(scope="module")
def converted(folders):
    from ctranslate2.converters import TransformersConverter

    return [TransformersConverter(str(folder)).convert(str(folder / "converted")) for folder in folders]


def test_given_targets_have_the_scores_of_plain_passes(members, sources, converted):
    found = beam_search(members, sources, Beam(2, 2), most=9)
    targets = [[each.tokens[:-1] for each in hypotheses] for hypotheses in found]
    pieces = members[0].vocabulary.pieces
    ours = scorer.scored(
        converted,
        [[*pieces(tokens.tolist()), "</s>"] for tokens in sources],
        [[pieces(target.tolist()) for target in each] for each in targets],
    )
    assert isinstance(ours, Hypotheses)
    (block,) = forced(members, sources, targets)
    np.testing.assert_allclose(ours.log_probabilities, block.hypotheses().log_probabilities, atol=1e-4)
    np.testing.assert_array_equal(ours.counts, block.counts)
    names = {name for name in measures.MEASURES if Hypotheses in measures.MEASURES[name].functions}
    assert "score_pe" in names
    assert "token_entropy_pe" not in names


def test_the_scorer_refuses_what_it_cannot_score(converted, monkeypatch, tmp_path):
    with pytest.raises(ArrayError, match="expected one or more of each source, found 1 lists for 2 sources, 1 of"):
        scorer.scored(converted, [["a"], ["b"]], [[]])
    with pytest.raises(SettingsError, match="expected one of a converted model for each member, found none"):
        scorer.scored([], [["a"]], [[["b"]]])
    with pytest.raises(SettingsError, match="expected a model converted for CTranslate2, found: "):
        scorer.scored([tmp_path], [["a"]], [[["b"]]])
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'shiftbench\[ctranslate2\]'"):
        scorer.scored(converted, [["a"]], [[["b"]]])
