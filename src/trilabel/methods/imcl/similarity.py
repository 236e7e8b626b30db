"""How alike images are by labels and features: the terms of IMCL as functions of tensors."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.data.side_tables.label_graph import LabelGraph
from trilabel.methods.imcl.omp import Neighbors, joint_omp

_IMAGES_AT_ONCE = 256


def similar_images(
    features: Tensor, scores: Tensor, graph: LabelGraph, k: int = 5, weights: tuple[float, float] = (1.0, 0.5)
) -> Neighbors:
    """The k images most similar to each of N, by labels and features together; coefficients of labels, then features.

    features: N×D. scores: N×C, the probability that each label is present; 1 or 0 for known ones. weights: λ_y and λ_f.
    """
    labels = rescaled(2 * scores.double() - 1)
    related = related_labels(labels, graph.index, graph.weight.double())
    features = features.double()
    found = [
        joint_omp([labels[own], features[own]], [related, features], weights, k, own)
        for own in torch.split(torch.arange(len(features), device=features.device), _IMAGES_AT_ONCE)
    ]
    index = torch.cat([part.index for part in found])
    return Neighbors(index, [torch.cat([part.coefficients[m] for part in found]).float() for m in range(2)])


def filled_in(logits: Tensor, labels: Tensor) -> Tensor:
    """B×C: known labels as they are, unknown ones as predicted; rescaled."""
    return rescaled(torch.where(labels == 0, 2 * torch.sigmoid(logits.float()) - 1, labels.float()))


def rescaled(signed: Tensor) -> Tensor:
    """From −1…1 to −0.5…1, so that the many negatives matter less for similarity than the few positives.

    >>> rescaled(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.5000,  0.2500,  1.0000])
    """
    return 0.75 * signed + 0.25


def related_labels(labels: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """N×C labels times A: for each label the weighted sum of the labels that it is related to.

    index, weight: C×k_a (see LabelGraph). embedding_bag never holds the N×C×k_a terms of the sums.
    """
    return F.embedding_bag(index, labels.T.contiguous(), per_sample_weights=weight, mode="sum").T


def combined(atoms: Tensor, index: Tensor, coefficients: Tensor) -> Tensor:
    """B×D: for each image the sum of its neighbors among the atoms (N×D), times its coefficients (B×k)."""
    return F.embedding_bag(index, atoms, per_sample_weights=coefficients, mode="sum")


def smoothness(vectors: Tensor, predicted: Tensor, coefficients: Tensor) -> Tensor:
    """‖vector − predicted‖² (B×D each), mean over images; 0 for those without neighbors."""
    return ((vectors - predicted).square().sum(1) * (coefficients > 0).any(1)).mean()


def group_vectors(groups: Tensor) -> Tensor:
    """N×N: equal rows of length 1 where groups (N) are equal, else orthogonal; zeros for −1.

    It has one column per image rather than per group, of which there may be thousands.

    >>> group_vectors(torch.tensor([7, -1, 7]))
    tensor([[1., 0., 0.],
            [0., 0., 0.],
            [1., 0., 0.]])
    """
    places = torch.arange(len(groups), device=groups.device)
    first = torch.where(groups[:, None] == groups, places, len(groups)).amin(1)
    return (first[:, None] == places).float() * (groups >= 0)[:, None]
