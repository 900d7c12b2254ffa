"""Networks of sequences: what they learn from, what they say, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from shiftbench import methods
from shiftbench.errors import ArrayError, SettingsError, ShiftbenchWarning
from shiftbench.methods import member_training
from shiftbench.methods.contract import Fitted
from shiftbench.methods.sequences import answers, fitting, member
from shiftbench.methods.sequences.batch import by_tokens, padded
from shiftbench.methods.sequences.dataset import learnable
from shiftbench.methods.sequences.settings import TransformerSettings
from tests.methods.sequences.made_up import EOS, PAD, Pairs, Words, made_up

TINY = {
    "members": 2, "width": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1,
    "norm_first": True, "share_all": True, "learning_rate": 0.01, "warmup": 10, "steps": 60, "batch_tokens": 200,
    "batches": 1, "validate_every": 20, "longest": 12, "most_tokens": 12, "dropout": 0.0, "attention_dropout": 0.0,
}  # fmt: skip
TRAIN, DEV, ROWS = made_up(300, seed=1, longest=3), made_up(30, seed=2, longest=3), made_up(9, seed=3, longest=4)
METHOD = methods.method("transformer", "sequences")


def fit(folder, train=TRAIN, dev=DEV, cores=1, **changed):
    return METHOD.fit(train, dev, settings=METHOD.Settings(**{**TINY, **changed}), folder=folder, cores=cores)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fit(tmp_path_factory.mktemp("sequences") / "fit")


def test_members_learn_and_differ(folder):
    notes = [json.loads((folder / f"member_0{number}.json").read_text()) for number in range(2)]
    uniform = np.log(9)  # a word or the end: what a network knows that has learnt nothing but these
    assert all(note["best_loss"] < 0.8 * uniform for note in notes)
    assert notes[0]["sha256"] != notes[1]["sha256"]


def test_every_block_says_the_same_as_all_records_together(folder, monkeypatch):
    (whole,) = METHOD.predict(ROWS, folder=folder, cores=1)
    monkeypatch.setattr(answers, "WINDOW", 4)
    steps = []
    blocks = list(
        METHOD.predict(ROWS, folder=folder, cores=2, progress=lambda done, most, _text: steps.append((done, most)))
    )
    assert [block.rows.tolist() for block in blocks] == [[0, 1, 2, 3], [4, 5, 6, 7], [8]]
    assert [text for block in blocks for text in block.texts] == whole.texts
    assert [piece for block in blocks for piece in block.pieces] == whole.pieces
    logs = np.concatenate([block.hypotheses.log_probabilities for block in blocks], axis=1)
    np.testing.assert_allclose(logs, whole.hypotheses.log_probabilities, atol=1e-4)
    for name, values in whole.measures.items():
        np.testing.assert_allclose(np.concatenate([block.measures[name] for block in blocks]), values, atol=1e-4)
    assert steps[-1] == (9, 9)
    assert whole.hypotheses.counts.tolist() == [5] * 9
    assert len(whole.pieces) == whole.hypotheses.lengths.sum()
    np.testing.assert_allclose(  # the first is the best, by the likelihood of the ensemble over its length
        whole.scores[::5], whole.scores.reshape(-1, 5).max(1)
    )


def test_a_member_alone_searches_for_itself(folder):
    says = METHOD.predict(ROWS, folder=folder)
    alone = [next(iter(says.of_member(number))) for number in range(2)]
    assert alone[0].hypotheses.members == 1
    assert alone[0].texts != alone[1].texts
    np.testing.assert_allclose(alone[1].measures["token_mutual_information_pe"], 0, atol=1e-6)


def test_samples_take_the_place_of_a_search_and_count_alike(folder, tmp_path):
    drawn = fit(tmp_path / "fit", samples=4, steps=1)
    (block,) = METHOD.predict(ROWS, folder=drawn)
    assert block.sampled
    assert block.hypotheses.counts.tolist() == [4] * 9
    each = -block.hypotheses.log_probabilities.mean(0)
    ends = np.cumsum(block.hypotheses.lengths)
    means = [part.mean() for part in np.split(each, ends[:-1])]
    np.testing.assert_allclose(block.measures["data_score"], np.reshape(means, (9, 4)).mean(1), atol=1e-5)


def test_a_source_without_tokens_and_one_of_a_megabyte_are_answered(folder):
    rows = Pairs((("", ""), ("one " * 260_000, ""), ("one nine two", "")))
    with pytest.warns(ShiftbenchWarning, match=r"at most 11 tokens, found 1 longer one \(number 2\)"):
        (block,) = METHOD.predict(rows, folder=folder)
    assert block.truncated.tolist() == [False, True, False]
    assert block.unknown.tolist() == [0, 0, 1]
    assert all(np.isfinite(values).all() for values in block.measures.values())


def test_pairs_that_are_empty_or_too_long_are_left_out(tmp_path):
    train = Pairs((*TRAIN.texts, ("", "one"), ("one", ""), ("one " * 12, "one")))
    folder = fit(tmp_path / "fit", train=train, steps=1)
    assert "; 3 pairs of train were empty or too long" in METHOD.about(ROWS, folder=folder)
    assert learnable(np.array([[1, 1], [0, 1], [1, 0], [11, 11], [12, 1]], np.int32), 12).tolist() == [0, 3]


def test_a_fit_that_was_cut_off_ends_with_the_same_weights(folder, tmp_path):
    class Cut(Exception):
        pass

    place = tmp_path / "fit"

    def cut(done, _most, _text):
        if done >= 40:
            raise Cut

    settings = METHOD.Settings(**TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shiftbench.methods.checkpoint.Checkpoint.due", property(lambda _self: True))
        with pytest.raises(Cut):
            METHOD.fit(TRAIN, DEV, settings=settings, folder=place, cores=1, progress=cut)
    assert (place / "member_00.ckpt").exists()
    METHOD.fit(TRAIN, DEV, settings=settings, folder=place, cores=1)
    for name in ("member_00.pt", "member_01.pt"):
        assert (place / name).read_bytes() == (folder / name).read_bytes()


def test_a_member_trained_in_a_process_of_its_own_is_the_same(folder, tmp_path):
    place = tmp_path / "fit"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shiftbench.methods.member_training.train_missing", lambda *_, **__: None)
        fit(place)
    with member_training.sharing(place, (TRAIN, DEV)) as argument:
        member.trainer(argument, 0)(1, lambda *_: None)
    assert (place / "member_01.pt").read_bytes() == (folder / "member_01.pt").read_bytes()


def test_the_gradient_of_several_batches_is_that_of_one():
    vocabulary = fitting.about_vocabulary(Words())
    gradients = []
    for tokens in (10**6, 60):
        settings = TransformerSettings(**TINY | {"batch_tokens": tokens, "batches": 100}).to_dict()
        record = {"settings": settings, "vocabulary": vocabulary}
        net = member.network(record, seed=0).double()
        aim = member.objective(record, (TRAIN, DEV), net, seed=0)
        assert (aim.records > 1) == (tokens == 60)
        parts = aim.loss(net, aim.batch(torch.arange(aim.records)))
        for part in parts:
            part.backward()
        gradients.append(torch.cat([each.grad.flatten() for each in net.parameters()]))
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)


def test_the_loss_of_all_tokens_is_that_of_pairs_one_by_one():
    record = {"settings": TransformerSettings(**TINY).to_dict(), "vocabulary": fitting.about_vocabulary(Words())}
    net = member.network(record, seed=0).double().eval()
    rows = np.arange(6)
    together = member.nll(net, member.read(TRAIN, rows, net), pad=PAD, smoothing=0.1)
    total = 0.0
    for row in rows.tolist():
        source, target = TRAIN.pair(row)
        logs = net.forced([source], [[target]]).detach()
        chosen = logs[np.arange(len(target) + 1), [*target.tolist(), EOS]]
        total += float(-0.9 * chosen.sum() - 0.1 * logs.mean(1).sum())
    assert float(together.detach()) == pytest.approx(total, rel=1e-10)


def test_batches_hold_all_rows_once_within_their_tokens():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, (200, 2))
    batches = by_tokens(lengths, 90, seed=1)
    assert sorted(np.concatenate(batches).tolist()) == list(range(200))
    assert all(len(rows) * lengths[rows].max() <= 90 for rows in batches)
    fewest = sum(lengths.max(1)) / 90
    assert len(batches) < 1.5 * fewest  # little of them is padding
    order = [rows.tolist() for rows in batches]
    assert [rows.tolist() for rows in by_tokens(lengths, 90, seed=1)] == order
    assert [rows.tolist() for rows in by_tokens(lengths, 90, seed=2)] != order
    assert [rows.tolist() for rows in by_tokens(np.array([500, 3]), 90, seed=0)] == [[1], [0]]
    assert by_tokens(np.empty((0, 2), np.int64), 90, seed=0) == []


def test_sequences_are_filled_up_behind_their_ends():
    found = padded([np.array([5, 6]), np.array([], np.int64)], PAD, torch.device("cpu"), first=1, last=EOS)
    assert found.tolist() == [[1, 5, 6, EOS], [1, EOS, PAD, PAD]]


def test_what_cannot_be_learnt_from_is_refused(tmp_path):
    class Odd(Pairs):
        def pair(self, row):
            return (np.array([4.5]), np.array([99])) if row == 1 else super().pair(row)

    with pytest.raises(ArrayError) as found:
        fit(tmp_path / "fit", train=Odd(TRAIN.texts), dev=Pairs((("", ""),)))
    text = str(found.value)
    assert "train, pair 1, source: expected whole numbers [T], found float64 of shape (1,)" in text
    assert "train, pair 1, target: expected tokens from 0 to 11, found 99" in text
    assert "dev_in: expected at least one pair of 1 to 11 tokens a side, found 1 pair, all empty or longer" in text
    assert not (tmp_path / "fit").exists()


def test_another_vocabulary_is_refused(folder, tmp_path):
    class More(Words):
        def pieces(self, tokens):
            return ["?" if token == 5 else piece for token, piece in zip(tokens, super().pieces(tokens), strict=True)]

    other = replace(ROWS, vocabulary=More())
    with pytest.raises(SettingsError, match="expected the vocabulary of train, of 12 tokens, found another of 12"):
        METHOD.predict(other, folder=folder)
    with pytest.raises(SettingsError, match="dev_in: expected the vocabulary of train"):
        fit(tmp_path / "fit", dev=replace(DEV, vocabulary=More()))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"width": 15}, "width: expected a multiple of the 2 heads, found 15"),
        ({"best": 9}, "best: expected at most the 5 hypotheses of the beam, found 9"),
        ({"most_tokens": 13}, "most_tokens: expected at most the 12 of longest, found 13"),
        ({"combine": "sum"}, "combine: expected pe or ep, found 'sum'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changed, message):
    with pytest.raises(SettingsError, match=message):
        TransformerSettings(**{**TINY, **changed})


def test_the_defaults_are_the_published_ones():
    schedule = member.schedule(TransformerSettings().to_dict(), seed=0)
    assert schedule.rate(3999) == 5e-4 > schedule.rate(4000) == pytest.approx(5e-4, rel=1e-3)
    assert schedule.rate(15_999) == pytest.approx(2.5e-4)
    assert schedule.rate(0) == pytest.approx(5e-4 / 4000)
    with torch.device("meta"):
        net = member.network(
            {"settings": TransformerSettings(longest=64, most_tokens=64).to_dict(),
             "vocabulary": fitting.about_vocabulary(Words()) | {"size": 40_000}}, seed=0,
        )  # fmt: skip
    count = sum(each.numel() for each in net.parameters())
    layers = 6 * (4 * 1024**2 + 2 * 1024 * 4096) + 6 * (8 * 1024**2 + 2 * 1024 * 4096)
    assert count == pytest.approx(2 * 40_000 * 1024 + layers, rel=2e-3)


def test_a_shared_embedding_is_one():
    record = {"settings": TransformerSettings(**TINY).to_dict(), "vocabulary": fitting.about_vocabulary(Words())}
    one, other = (member.network(record, seed=seed) for seed in (3, 3))
    assert one.source is one.target
    assert torch.equal(one.target.weight, other.target.weight)
    record["settings"]["share_all"] = False
    apart = member.network(record, seed=3)
    assert apart.source is not apart.target


def test_hypotheses_may_be_limited_by_their_source(folder):
    fitted = Fitted(folder, METHOD._fitted(folder).record)
    says = answers.SequenceAnswers(ROWS, fitted, answers.Ensemble([], Words(), lambda row: ROWS.pair(row)[0]))
    assert says._most(7) == 12
    says.settings = says.settings | {"tokens_per_source": 0.5, "most_tokens": 100}
    assert says._most(7) == 14
