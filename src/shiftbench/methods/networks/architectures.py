"""The networks: those of their authors' libraries, extended by flags of missing values, and made faster where results
are equal. Each maps numbers and flags [B, P + Q] and codes [B, C] to outputs [B, K, O].

A library is imported only when its network is made, since one of them takes as long to import as PyTorch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.networks.encoding import UNKNOWN, Encoding


@dataclass(frozen=True)
class Shape:
    """The sizes of a network's inputs and outputs.

    Attributes:
        numbers: P, the numeric columns.
        flagged: those of them with a flag, Q in number.
        cardinalities: the number of codes of each of the C categorical columns.
        outputs: O, their number.
    """

    numbers: int
    flagged: tuple[int, ...]
    cardinalities: tuple[int, ...]
    outputs: int

    @classmethod
    def of(cls, encoding: Encoding, outputs: int) -> Shape:
        """The shape for an encoding."""
        return cls(len(encoding.center), tuple(encoding.flagged), tuple(encoding.cardinalities), outputs)


class Transformer(nn.Module):
    """FT-Transformer (Gorishniy et al., NeurIPS 2021) by its authors' library; K = 1.

    A missing value adds a learnt vector to the token of its column, so there are no additional tokens. Attention uses
    torch's fused kernels, and the last block computes only the [CLS] token, since only that is used.
    """

    def __init__(self, shape: Shape, settings: dict[str, Any]) -> None:
        super().__init__()
        from rtdl_revisiting_models import FTTransformer

        options = transformer_options(settings)
        self.net = FTTransformer(
            n_cont_features=shape.numbers, cat_cardinalities=list(shape.cardinalities), d_out=shape.outputs, **options
        )
        if shape.numbers:
            self.net.cont_embeddings = _Tokens(self.net.cont_embeddings, shape, width=options["d_block"])
        if shape.cardinalities:
            _nothing_for_unknown([embedding.weight for embedding in self.net.cat_embeddings.embeddings])
        for block in self.net.backbone.blocks:
            block["attention"] = _Attention(block["attention"], options["attention_n_heads"])
        block["ffn_normalization"].register_forward_pre_hook(lambda _, inputs: (inputs[0][:, :1],))

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Outputs [B, 1, O]."""
        outputs: Tensor = self.net(numbers if numbers.shape[1] else None, codes if codes.shape[1] else None)
        return outputs[:, None]

    def groups(self) -> list[dict[str, Any]]:
        """Parameter groups: embeddings, normalisations and biases without weight decay, as in its authors' code."""
        groups: list[dict[str, Any]] = self.net.make_parameter_groups()
        # The library collects them in a set, whose order changes from process to process.
        place = {parameter: number for number, parameter in enumerate(self.parameters())}
        return [{**group, "params": sorted(group["params"], key=place.__getitem__)} for group in groups]


class SharedNetwork(nn.Module):
    """TabM (Gorishniy, Kotelnikov and Babenko, ICLR 2025) by its authors' library: K submodels in one network."""

    def __init__(self, shape: Shape, settings: dict[str, Any]) -> None:
        super().__init__()
        import tabm

        with warnings.catch_warnings():  # about a default that is intended
            warnings.simplefilter("ignore", UserWarning)
            self.net = tabm.TabM.make(
                n_num_features=shape.numbers + len(shape.flagged),
                cat_cardinalities=list(shape.cardinalities),
                d_out=shape.outputs,
                k=settings["submodels"],
                n_blocks=settings["blocks"],
                d_block=settings["width"],
                dropout=settings["dropout"],
            )
        self.net.output = _Output(self.net.output)
        if shape.cardinalities:
            first = next(layer for layer in self.net.modules() if isinstance(layer, tabm.LinearBatchEnsemble))
            one_hot = first.weight[:, shape.numbers + len(shape.flagged) :].split(list(shape.cardinalities), dim=1)
            _nothing_for_unknown([columns.T for columns in one_hot])

    def forward(self, numbers: Tensor, codes: Tensor) -> Tensor:
        """Outputs [B, K, O]."""
        outputs: Tensor = self.net(numbers if numbers.shape[1] else None, codes if codes.shape[1] else None)
        return outputs

    def groups(self) -> list[dict[str, Any]]:
        """Parameter groups: one for all."""
        return [{"params": list(self.parameters())}]


NETWORKS: dict[str, Callable[[Shape, dict[str, Any]], Transformer | SharedNetwork]] = {
    "ft_transformer": Transformer,
    "tabm": SharedNetwork,
}


def transformer_options(settings: dict[str, Any]) -> dict[str, Any]:
    """The library's options: its defaults for this number of blocks, overridden by the settings."""
    from rtdl_revisiting_models import FTTransformer

    options: dict[str, Any] = FTTransformer.get_default_kwargs(settings["blocks"])
    names = {
        "d_block": "width", "attention_n_heads": "attention_heads", "attention_dropout": "attention_dropout",
        "ffn_dropout": "dropout", "residual_dropout": "residual_dropout",
    }  # fmt: skip
    options |= {option: settings[name] for option, name in names.items() if settings.get(name) is not None}
    return {name: value for name, value in options.items() if not name.startswith("_")}


class _Tokens(nn.Module):
    """A token for each number [B, P, D], plus a vector of the column's own if the number is missing."""

    def __init__(self, present: nn.Module, shape: Shape, *, width: int) -> None:
        super().__init__()
        self.present, self.numbers = present, shape.numbers
        self.flagged: Tensor
        self.register_buffer("flagged", torch.tensor(shape.flagged, dtype=torch.int64), persistent=False)
        self.missing = nn.Parameter(torch.zeros(len(shape.flagged), width))

    def forward(self, numbers: Tensor) -> Tensor:
        tokens: Tensor = self.present(numbers[:, : self.numbers])
        if not len(self.missing):
            return tokens
        absent = numbers[:, self.numbers :, None] * self.missing
        return tokens.index_add(1, self.flagged, absent.to(tokens.dtype))


class _Attention(nn.Module):
    """The library's attention with its own layers, through torch's fused kernel."""

    def __init__(self, layers: Any, heads: int) -> None:
        super().__init__()
        self.layers: Any = layers
        self.heads = heads
        self.dropout: nn.Dropout | FixedDropout = layers.dropout or nn.Dropout(0.0)
        layers.dropout = None

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        layers = self.layers
        query, key, value = (
            layer(tokens).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, tokens in ((layers.W_q, queries), (layers.W_k, keys), (layers.W_v, keys))
        )
        if isinstance(self.dropout, FixedDropout):
            weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
            mixed = self.dropout(weights) @ value
        else:
            rate = self.dropout.p if self.training else 0.0
            mixed = functional.scaled_dot_product_attention(query, key, value, dropout_p=rate)
        together: Tensor = mixed.transpose(1, 2).flatten(2)
        if layers.W_out is not None:
            together = layers.W_out(together)
        return together


class _Output(nn.Module):
    """The last layer of K submodels with the weights [K, D, O] of the library's.

    In evaluation mode outputs are padded with zeros to the next multiple of 8 and cut again: with 5, 6, 7, 9, 10 or 11
    the CPU libraries sum the last rows of a batch in another order than the first; see `settings.layer_width`.
    """

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.weight: nn.Parameter = layer.weight
        self.bias: nn.Parameter = layer.bias

    def forward(self, values: Tensor) -> Tensor:
        """`values` [B, K, D] to [B, K, O]."""
        outputs = self.weight.shape[-1]
        more = 0 if self.training else -outputs % 8
        found = values.transpose(0, 1) @ functional.pad(self.weight, (0, more))
        return found[..., :outputs].transpose(0, 1) + self.bias


class FixedDropout(nn.Module):
    """Dropout with one mask for all records: one random network instead of another for each record.

    For each record alone it is distributed like dropout; predictions of records are independent of one another.
    """

    def __init__(self, rate: float, generator: torch.Generator) -> None:
        super().__init__()
        self.rate, self.generator = rate, generator
        self.mask: Tensor | None = None

    def forward(self, values: Tensor) -> Tensor:
        """`values` [B, …] times the mask […], which is drawn at the first call."""
        if self.mask is None:
            kept = torch.rand(values.shape[1:], generator=self.generator) >= self.rate
            self.mask = (kept / (1 - self.rate)).to(values)
        return values * self.mask


def fix_dropout(net: nn.Module, generator: torch.Generator) -> list[FixedDropout]:
    """Replace every dropout of a rate above 0 by a `FixedDropout`."""
    fixed = []
    for parent in list(net.modules()):
        for name, layer in list(parent.named_children()):
            if isinstance(layer, nn.Dropout) and layer.p > 0:
                fixed.append(FixedDropout(layer.p, generator))
                setattr(parent, name, fixed[-1])
    return fixed


def _nothing_for_unknown(tables: Sequence[Tensor]) -> None:
    """Zero the rows of the unknown code, so that a category unseen in training has no effect."""
    with torch.no_grad():
        for table in tables:
            table[UNKNOWN] = 0.0
