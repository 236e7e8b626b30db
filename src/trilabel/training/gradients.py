"""Gradients that wait for the rest of an accumulation: a run may be saved and stopped between two updates."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from trilabel.training.distributed import Processes


def accumulated_gradients(optimizer: torch.optim.Optimizer, processes: Processes) -> dict[str, Tensor]:
    """Number of a parameter -> its gradients in all processes (one row each); empty just after an update.

    Processes average their gradients at the update only, so until then each has its own.
    """
    parameters = _parameters(optimizer)
    if all(parameter.grad is None for parameter in parameters):
        return {}
    if processes.count == 1:
        return {str(n): each.grad[None] for n, each in enumerate(parameters) if each.grad is not None}
    found = {}
    for number, parameter in enumerate(parameters):
        own = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        together = processes.fabric.all_gather(own.detach())
        if processes.is_first:
            assert isinstance(together, Tensor)
            found[str(number)] = together.cpu()  # one at a time on the device
    return found


def restore_gradients(optimizer: torch.optim.Optimizer, saved: Mapping[str, Tensor], processes: Processes) -> None:
    """Gives parameters the gradients of `accumulated_gradients`: each process its own, another number their mean."""
    parameters = _parameters(optimizer)
    for number, of_all in saved.items():
        own = of_all[processes.rank] if len(of_all) == processes.count else of_all.mean(dim=0)
        parameters[int(number)].grad = torch.empty_like(parameters[int(number)]).copy_(own)


def _parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
