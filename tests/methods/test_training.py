"""The training loop: it does what a plain loop does, stops when it should, and goes on as if never cut off."""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
import torch
from torch import nn

from shiftbench.errors import SettingsError, ShiftbenchError, ShiftbenchWarning
from shiftbench.methods import checkpoint, training
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.optimizer import AdamW
from shiftbench.methods.training import Objective, Schedule

X = torch.from_numpy(np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32))
Y = X @ torch.tensor([1.0, -2.0, 0.5, 0.0]) + 3
PLAN = Schedule(steps=40, batch=16, learning_rate=0.01, validate_every=3, warmup=4, cosine=True, clip=1.0, patience=99)


def network() -> nn.Module:
    with torch.random.fork_rng([]):
        torch.manual_seed(5)
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))


def loss(model, batch):
    return (model(batch[0])[:, 0] - batch[1]).square().mean()


LESSON = Objective(60, lambda rows: (X[rows], Y[rows]), loss, lambda model: float(loss(model, (X, Y))))


def weights(model: nn.Module) -> np.ndarray:
    return torch.cat([value.flatten() for value in model.state_dict().values()]).numpy()


@pytest.fixture(scope="module")
def undisturbed() -> tuple[np.ndarray, training.Trained]:
    model = network()
    trained = training.train(model, LESSON, PLAN)
    return weights(model), trained


def test_the_optimizer_takes_pytorchs_steps_to_the_bit_and_leaves_the_compiler_out():
    def taken(kind: type[torch.optim.Optimizer]) -> np.ndarray:
        model, state = network().eval(), None
        for _ in range(2):
            optimizer = kind(model.parameters(), lr=0.01, weight_decay=0.1, fused=True)
            if state:
                optimizer.load_state_dict(state)
            for _ in range(20):
                optimizer.zero_grad(set_to_none=True)
                loss(model, (X, Y)).backward()
                optimizer.step()
            state = optimizer.state_dict()
        return weights(model)

    assert np.array_equal(taken(AdamW), taken(torch.optim.AdamW))
    alone = "import sys; from tests.methods.test_training import *; training.train(network(), LESSON, PLAN); "
    said = subprocess.run([sys.executable, "-c", f"{alone}print('torch._dynamo' in sys.modules)"],
                          capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])  # fmt: skip
    assert said.stdout == "False\n", "each process that trains imports it, for two seconds"


def test_it_takes_the_steps_of_a_plain_loop():
    plan = replace(PLAN, steps=8, batch=60, validate_every=8, weight_decay=0.1)  # one batch: no order to agree on
    ours, theirs = network(), network()
    ours[2].p = theirs[2].p = 0.0
    training.train(ours, LESSON, plan)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=0.01, weight_decay=0.1, foreach=False)
    for step in range(8):
        rise, fall = (step + 1) / 4, 0.5 * (1 + np.cos(np.pi * (step - 4) / 4))
        optimizer.param_groups[0]["lr"] = 0.01 * (rise if step < 4 else fall)
        optimizer.zero_grad()
        loss(theirs, (X, Y)).backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
    np.testing.assert_allclose(weights(ours), weights(theirs), rtol=1e-4, atol=1e-6)


def test_it_learns(undisturbed):
    _, trained = undisturbed
    assert trained.steps == 40
    assert trained.history[-1][0] == 40, "the last step is followed by a validation"
    assert trained.best_loss < 0.7 * trained.history[0][2]


@pytest.mark.parametrize("validations", [1, 2, 7, 13])
def test_a_training_that_was_cut_off_ends_like_an_undisturbed_one(undisturbed, validations, tmp_path):
    def cut(step, steps, line):
        if step == 3 * validations:
            raise OSError("the power is gone")

    saved = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=0)
    with pytest.raises(OSError, match="the power is gone"):
        training.train(network(), LESSON, PLAN, checkpoint=saved, progress=cut)
    other = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))  # other weights to begin with
    steps = []
    trained = training.train(
        other, LESSON, PLAN, checkpoint=Checkpoint(saved.path, "a fit"), progress=lambda step, *_: steps.append(step)
    )
    np.testing.assert_array_equal(weights(other), undisturbed[0])
    assert trained == undisturbed[1]
    assert steps[0] == 3 * validations, "only what is missing is done again"


@pytest.fixture
def listening():
    """Ctrl-C as at a terminal: a process that was started in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_ctrl_c_leaves_a_checkpoint_of_a_whole_step(undisturbed, tmp_path):
    calls = []

    def interrupted(model, batch):
        calls.append(1)
        if len(calls) == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return loss(model, batch)

    saved = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=float("inf"))
    with pytest.raises(KeyboardInterrupt):
        training.train(network(), replace(LESSON, loss=interrupted), PLAN, checkpoint=saved)
    assert saved.load()["step"] == 8
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    model = network()
    training.train(model, LESSON, PLAN, checkpoint=saved)
    np.testing.assert_array_equal(weights(model), undisturbed[0])


def test_a_damaged_checkpoint_is_noticed_and_the_training_begins_again(undisturbed, tmp_path):
    saved = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=0)
    training.train(network(), LESSON, replace(PLAN, steps=6), checkpoint=saved)
    content = bytearray(saved.path.read_bytes())
    content[len(content) // 2] ^= 1
    saved.path.write_bytes(content)
    model = network()
    with pytest.warns(ShiftbenchWarning, match=r"expected the checkpoint as it was written, found a damaged file"):
        training.train(model, LESSON, PLAN, checkpoint=saved)
    np.testing.assert_array_equal(weights(model), undisturbed[0])


@pytest.mark.parametrize(
    "content", [[], 3, {}, {"fit": "a fit"}, {"fit": 3, "state": {}}, {"fit": "a fit", "state": 3}]
)
def test_a_checkpoint_with_the_right_hash_of_something_else_is_none(tmp_path, content):
    buffer = io.BytesIO()
    torch.save(content, buffer)
    saved = Checkpoint(tmp_path / "c.ckpt", "a fit")
    saved.path.write_bytes(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())
    with pytest.warns(ShiftbenchWarning, match=r"expected the checkpoint as it was written, found a damaged file"):
        assert saved.load() is None


@pytest.mark.parametrize(
    "changed",
    [{"model": {}}, {"model": 3}, {"step": "x"}, {"step": 10**9}, {"step": -1}, {"optimizer": {}}, {"total": None},
     {"random": {}}, {"learnt": None}, {"plan": None}, {"validated": "x"}, {"validated": 10**9},
     *({"learnt": {"best": {"loss": 0.1, "step": 3, "weights": {}, "waited": 0} | best, "history": []}}
       for best in ({}, {"weights": 3}, {"loss": "x"}, {"waited": None})),
     {"learnt": {"best": {"loss": 0.1, "step": 3, "weights": {}, "waited": 0}, "history": [3]}}],
)  # fmt: skip
def test_a_checkpoint_of_an_odd_state_is_refused_though_its_hash_is_right(tmp_path, changed):
    saved, kept = Checkpoint(tmp_path / "c.ckpt", "a fit", every_s=0), {}
    save, saved.save = saved.save, kept.update
    training.train(network(), LESSON, PLAN, checkpoint=saved)
    save(kept | changed)
    with pytest.raises(SettingsError, match=r"checkpoint|c\.ckpt: expected the state of this training"):
        training.train(network(), LESSON, PLAN, checkpoint=Checkpoint(saved.path, "a fit"))


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    saved = Checkpoint(tmp_path / "a.ckpt", "a fit", every_s=0)
    training.train(network(), LESSON, replace(PLAN, steps=3), checkpoint=saved)
    with pytest.raises(SettingsError, match="expected a checkpoint of this training, found one of another"):
        training.train(network(), LESSON, PLAN, checkpoint=Checkpoint(saved.path, "another fit"))
    with pytest.raises(
        SettingsError, match=r"checkpoint: expected one of the schedule .*'steps': 40.*, found .*'steps': 3"
    ):
        training.train(network(), LESSON, PLAN, checkpoint=saved)


class Mischief:
    def __reduce__(self):
        return (Path("/nowhere/to/be/made").mkdir, ())


def test_a_checkpoint_runs_no_code():
    content = pickle.dumps(Mischief(), protocol=2)
    assert checkpoint.unpack(hashlib.sha256(content).digest() + content) is None


def test_equal_states_are_equal_bytes_and_survive():
    state = {"a": torch.arange(3.0), "b": {"c": 1, "d": [0.1, "text"]}}
    packed = checkpoint.pack(state)
    assert checkpoint.pack({"a": torch.arange(3.0), "b": {"c": 1, "d": [0.1, "text"]}}) == packed
    assert checkpoint.unpack(packed)["b"] == state["b"]


@pytest.mark.parametrize("which", ["loss", "validation loss"])
def test_a_loss_that_is_no_number_stops_with_advice(which):
    broken = {
        "loss": replace(LESSON, loss=lambda model, batch: loss(model, batch) * float("nan")),
        "validation loss": replace(LESSON, validate=lambda model: float("nan")),
    }
    with pytest.raises(
        ShiftbenchError, match=f"expected a finite {which}, found nan by step 3. Lower the learning rate"
    ):
        training.train(network(), broken[which], PLAN)


def test_it_stops_when_nothing_is_gained_and_keeps_the_best_weights():
    scores, seen = iter([5.0, 3.0, 4.0, 3.0, 3.5, 1.0]), []

    def validate(model):
        seen.append(weights(model))
        return next(scores)

    model = network()
    trained = training.train(model, replace(LESSON, validate=validate), replace(PLAN, patience=3))
    assert (trained.steps, trained.best_step, trained.best_loss) == (15, 6, 3.0)
    np.testing.assert_array_equal(weights(model), seen[1])
    assert not model.training


def test_each_epoch_shows_every_record_once_in_another_order():
    shown = []

    def batch(rows):
        shown.append(rows.tolist())
        return X[rows], Y[rows]

    training.train(network(), replace(LESSON, batch=batch), replace(PLAN, steps=8))
    epochs = [list(itertools.chain(*shown[:4])), list(itertools.chain(*shown[4:]))]
    assert [len(rows) for rows in shown] == [16, 16, 16, 12] * 2
    assert all(sorted(epoch) == list(range(60)) for epoch in epochs)
    assert epochs[0] != epochs[1]
    training.train(network(), replace(LESSON, batch=batch), replace(PLAN, steps=1, seed=1))
    assert shown[-1] != shown[0], "another seed, another order"


def test_the_learning_rate_rises_in_a_line_and_falls_along_a_cosine():
    rates = [PLAN.rate(step) for step in range(40)]
    assert rates[:4] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
    assert rates[22] == pytest.approx(0.005)
    assert all(after < before for before, after in itertools.pairwise(rates[4:]))
    assert {replace(PLAN, cosine=False).rate(step) for step in range(4, 40)} == {0.01}


def test_random_states_of_the_caller_are_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    training.train(network(), LESSON, replace(PLAN, steps=3))
    torch.testing.assert_close(torch.rand(2), expected, rtol=0, atol=0)


def threads() -> tuple[int, list[int]]:
    """Those of PyTorch's operations, and of each library of products."""
    pools = threadpoolctl.threadpool_info()
    return torch.get_num_threads(), [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]


def test_an_operation_has_one_thread_in_its_block_and_as_many_as_before_after_it():
    seen = []

    @one_thread()
    def cut():
        seen.append(threads())
        raise OSError("cut off")

    usual = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threadpoolctl.threadpool_limits(2, user_api="blas"):
            before = threads()
            assert (before[0], set(before[1])) == (2, {2})
            with pytest.raises(OSError, match="cut off"):
                cut()
            assert (seen[0][0], set(seen[0][1])) == (1, {1})
            assert threads() == before
    finally:
        torch.set_num_threads(usual)


def test_no_other_gpu_is_seeded(monkeypatch):
    seeded = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    model = network()
    seeded.clear()
    training.train(model, LESSON, replace(PLAN, steps=3))
    assert seeded == []


def test_mixed_precision_makes_no_difference_on_a_cpu(undisturbed):
    model = network()
    training.train(model, LESSON, replace(PLAN, mixed_precision=False))
    np.testing.assert_array_equal(weights(model), undisturbed[0])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_learns_about_the_same():
    model, objective = network(), replace(LESSON, batch=lambda rows: (X.to(rows.device)[rows], Y.to(rows.device)[rows]))
    objective = replace(objective, validate=lambda model: float(loss(model, (X.cuda(), Y.cuda()))))
    trained = training.train(model, objective, PLAN, device="cuda")
    assert trained.best_loss < 0.7 * trained.history[0][2]
