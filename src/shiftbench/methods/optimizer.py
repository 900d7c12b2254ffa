"""AdamW without the compiler, which PyTorch's own imports when it is made: about two CPU seconds in each process."""

from __future__ import annotations

from inspect import unwrap

import torch
from torch.optim import Adam, Optimizer


class AdamW(torch.optim.AdamW):
    """PyTorch's AdamW (Loshchilov and Hutter, ICLR 2019), number for number; not to be compiled."""

    add_param_group = unwrap(Optimizer.add_param_group)
    zero_grad = unwrap(Optimizer.zero_grad)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    step = torch.no_grad()(unwrap(Adam.step))
