"""Joint non-negative orthogonal matching pursuit: each image as a sum of few others, the same ones in every modality.

Algorithm 2 of Huynh 2020, for all images at once: k steps of batched arithmetic on inner products, no loop over images,
and no value of a tensor is ever read, so nothing waits for the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

# Relative to the rest, smaller values are rounding errors: a correlation relative to the target, an atom to the longest
# vector.
_ROUNDING = 1e-6
# Added to the diagonal: makes the solution unique where atoms are dependent (two images with the same labels).
_RIDGE = 1e-11


@dataclass(frozen=True)
class Neighbors:
    """Which atoms each of B images is made of. Unused slots have coefficient 0 in every modality, and any index."""

    index: Tensor  # B×k int64
    coefficients: list[Tensor]  # B×k for each modality, at least 0


@torch.no_grad()
def joint_omp(
    targets: Sequence[Tensor],
    atoms: Sequence[Tensor],
    weights: Sequence[float | Tensor],
    k: int,
    own: Tensor | None = None,
) -> Neighbors:
    """At most k of N atoms for each of B targets, chosen over all modalities m together, with coefficients for each.

    targets: B×D_m, atoms: N×D_m, weights: λ_m, numbers or tensors; a tensor must be above 0, since it is not read.
    own (B): the atom that is the image itself, which it must not use.

    In each step an image chooses the atom with the largest Σ λ_m ⟨residual, atom⟩² ÷ ‖atom‖². Its coefficients are the
    least-squares solution over all atoms chosen so far, negative ones set to 0, which gives the next residual. It stops
    when that atom is not positively correlated with the residual in every modality of weight above 0, or when it has
    that atom already: nothing would change any more.

    >>> atoms = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -1.0]])
    >>> joint_omp([torch.tensor([[1.0, 4.0, 0.5]])], [atoms], [1.0], k=2)
    Neighbors(index=tensor([[1, 0]]), coefficients=[tensor([[2., 1.]])])
    """
    images, count = len(targets[0]), len(atoms[0])
    steps = min(k, count)
    modalities = [_Modality(*pair, steps) for pair in zip(targets, atoms, strict=True)]
    alive = torch.ones(images, dtype=torch.bool, device=atoms[0].device)
    index, used = alive.new_zeros(images, 0, dtype=torch.int64), alive.new_zeros(images, 0)
    for _ in range(steps):
        score = torch.zeros_like(modalities[0].residual)
        for weight, part in zip(weights, modalities, strict=True):
            score.addcmul_(part.residual * weight, part.residual)
        if own is not None:
            score.scatter_(1, own[:, None], -1)
        best, chosen = score.max(1, keepdim=True)
        alive = alive & (best[:, 0] > 0) & ~((index == chosen) & used).any(1)
        for weight, part in zip(weights, modalities, strict=True):
            if isinstance(weight, Tensor) or weight > 0:
                alive = alive & part.agrees(chosen)
        index, used = torch.cat((index, chosen), 1), torch.cat((used, alive[:, None]), 1)
        for part in modalities:
            part.add(chosen, index, used)
    unused = (0, k - index.shape[1])
    coefficients = [F.pad(part.coefficients(index), unused) for part in modalities]
    return Neighbors(F.pad(index, unused), coefficients)


class _Modality:
    """Inner products of one kind of vectors; atoms are scaled to length 1, or to 0 where they are almost 0.

    In float64, since inner products square the condition number.
    """

    def __init__(self, targets: Tensor, atoms: Tensor, steps: int) -> None:
        self.dtype = torch.promote_types(targets.dtype, torch.float32)
        same = targets is atoms  # images among themselves: the same products are used twice
        self.atoms = atoms.double()
        targets = self.atoms if same else targets.double()
        norms = self.atoms.norm(dim=1)
        self.lengths = norms if same else targets.norm(dim=1)
        longest = torch.cat((norms, self.lengths, norms.new_zeros(1))).amax()
        self.scales = torch.where(norms > _ROUNDING * longest, 1 / norms, 0.0)
        self.start = self._with_all(targets)  # B×N
        self.residual = self.start
        self.products: Tensor | None = None  # N×N, computed at once where most of them will be needed
        if len(atoms) <= steps * len(targets):
            self.products = (self.start if same else self._with_all(self.atoms)) * self.scales[:, None]
        self.rows = targets.new_empty(len(targets), steps, len(atoms))  # products of the chosen atoms with all
        self.solution = targets.new_zeros(len(targets), 0)  # B×t

    def _with_all(self, vectors: Tensor) -> Tensor:
        return (vectors @ self.atoms.T).mul_(self.scales)

    def agrees(self, chosen: Tensor) -> Tensor:
        """B: whether the residual is positively correlated with these atoms (B×1)."""
        agrees: Tensor = self.residual.gather(1, chosen)[:, 0] > _ROUNDING * self.lengths
        return agrees

    def add(self, chosen: Tensor, index: Tensor, used: Tensor) -> None:
        """Solves again with the atoms `chosen` (B×1), the last of all chosen ones: `index` (B×t) where `used`."""
        if self.products is None:
            row = self._with_all(self.atoms[chosen[:, 0]]).mul_(self.scales[chosen])
        else:
            row = self.products[chosen[:, 0]]
        count = index.shape[1]
        self.rows[:, count - 1] = row
        rows = self.rows[:, :count]
        system = rows.gather(2, index[:, None].expand(-1, count, -1))
        system = system * (used[:, :, None] & used[:, None])
        system.diagonal(dim1=1, dim2=2).add_(_RIDGE)
        factor, _ = torch.linalg.cholesky_ex(system)
        known = self.start.gather(1, index) * used
        self.solution = torch.cholesky_solve(known[:, :, None], factor)[:, :, 0].clamp(min=0)
        self.residual = self.start - (self.solution[:, None] @ rows)[:, 0]

    def coefficients(self, index: Tensor) -> Tensor:
        """B×t, for the atoms as they were given, not scaled."""
        return (self.solution * self.scales[index]).to(self.dtype)
