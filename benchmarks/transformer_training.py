"""Training an FT-Transformer by the shared loop against the loop that a user of its library writes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from rtdl_revisiting_models import FTTransformer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from shiftbench.methods import training
from shiftbench.methods.networks import heads, member
from shiftbench.methods.networks.architectures import Shape, Transformer, transformer_options
from shiftbench.methods.training import Schedule

COLUMNS, BATCH, ROUNDS = 40, 256, 3
SETTINGS = {"blocks": 3, "width": 96, "attention_heads": 8}
STEPS = {"cpu": 4, "cuda": 100}
BOUND, GPU_BOUND = 1.05, 0.5  # the latter with mixed precision


def seconds(act: Callable[[], object]) -> float:
    """The wall time of one call."""
    start = time.perf_counter()
    act()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def ours(x: torch.Tensor, y: torch.Tensor, *, mixed: bool) -> None:
    """One pass through the shared loop; it is judged once, on as good as nothing."""
    net = Transformer(Shape(COLUMNS, (), (), 2), SETTINGS).to(x.device)
    codes = torch.empty(len(x), 0, dtype=torch.int64, device=x.device)
    tensors = {"train_numbers": x, "train_codes": codes, "train_targets": y}
    tensors |= {f"dev_{name.partition('_')[2]}": tensor[:1] for name, tensor in tensors.items()}
    steps = len(x) // BATCH
    schedule = Schedule(
        steps=steps, batch=BATCH, learning_rate=1e-4, weight_decay=1e-5, validate_every=steps, mixed_precision=mixed
    )
    training.train(net, member.objective(net, tensors, heads.GAUSSIAN), schedule, device=x.device)


def theirs(x: torch.Tensor, y: torch.Tensor) -> None:
    """The same by hand: the library's network and optimiser, a DataLoader, the same loss."""
    net: nn.Module = FTTransformer(
        n_cont_features=COLUMNS, cat_cardinalities=[], d_out=2, **transformer_options(SETTINGS)
    ).to(x.device)
    optimizer = torch.optim.AdamW(net.make_parameter_groups(), lr=1e-4, weight_decay=1e-5)
    for numbers, targets in DataLoader(TensorDataset(x, y), batch_size=BATCH, shuffle=True):
        optimizer.zero_grad()
        heads.gaussian_loss(net(numbers, None)[:, None], targets).backward()
        optimizer.step()


def ratios() -> list[tuple[str, float, float | None]]:
    """Name, measured ratio, and bound; the two sides are timed in turn in one run, on one core or one GPU."""
    place = training.device()
    rows = BATCH * STEPS[place.type]
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.normal(size=(rows, COLUMNS)).astype(np.float32)).to(place)
    y = x[:, 0] + x[:, 1] * x[:, 2]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours(x[:BATCH], y[:BATCH], mixed=False)  # imports and first kernels
        theirs(x[:BATCH], y[:BATCH])
        found = [(f"FT-Transformer training, {place.type}", _ratio(x, y, mixed=False), BOUND)]
        if place.type == "cuda":
            ours(x[:BATCH], y[:BATCH], mixed=True)
            found.append(("FT-Transformer training, cuda, mixed precision", _ratio(x, y, mixed=True), GPU_BOUND))
    finally:
        torch.set_num_threads(threads)
    return [(f"{name}: seconds for {rows:,} rows / plain loop", ratio, bound) for name, ratio, bound in found]


def _ratio(x: torch.Tensor, y: torch.Tensor, *, mixed: bool) -> float:
    pairs = [(seconds(lambda: ours(x, y, mixed=mixed)), seconds(lambda: theirs(x, y))) for _ in range(ROUNDS)]
    return statistics.median(ours / theirs for ours, theirs in pairs)


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2f} (bound {bound})")
