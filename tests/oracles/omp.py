"""Algorithm 2 of Huynh 2020, one image, one atom and one number at a time."""

import numpy as np

ROUNDING = 1e-6  # what is this small beside the rest counts as nothing


def joint_omp(targets, atoms, weights, k, own=None):
    """([atoms of each image], [[coefficients of each image] of each modality])."""
    count = len(atoms[0])
    units, norms = [], []
    for of_targets, of_atoms in zip(targets, atoms, strict=True):
        longest = max((float(np.linalg.norm(v)) for v in (*of_atoms, *of_targets)), default=0.0)
        lengths = [float(np.linalg.norm(v)) for v in of_atoms]
        norms.append(lengths)
        units.append([v / n if n > ROUNDING * longest else 0 * v for v, n in zip(of_atoms, lengths, strict=True)])
    taken, coefficients = [], [[] for _ in targets]
    for i in range(len(targets[0])):
        wholes = [of_targets[i] for of_targets in targets]
        residuals, chosen, solutions = list(wholes), [], [[] for _ in targets]
        for _ in range(k):
            best, where = 0.0, None
            for n in range(count):
                if own is None or own[i] != n:
                    score = sum(w * float(r @ u[n]) ** 2 for w, r, u in zip(weights, residuals, units, strict=True))
                    if score > best:
                        best, where = score, n
            if where is None or where in chosen:
                break
            parts = zip(weights, residuals, units, wholes, strict=True)
            if any(w > 0 and float(r @ u[where]) <= ROUNDING * np.linalg.norm(v) for w, r, u, v in parts):
                break
            chosen.append(where)
            for m, whole in enumerate(wholes):
                basis = np.array([units[m][n] for n in chosen])
                solutions[m] = [max(0.0, float(c)) for c in np.linalg.lstsq(basis.T, whole, rcond=1e-9)[0]]
                residuals[m] = whole - sum(c * unit for c, unit in zip(solutions[m], basis, strict=True))
        taken.append(chosen)
        for m, solution in enumerate(solutions):
            raw = [c / norms[m][n] if c else 0.0 for c, n in zip(solution, chosen, strict=True)]
            coefficients[m].append(raw)
    return taken, coefficients


def dense_graph(graph):
    """C×C: the weights of a LabelGraph, label by label."""
    matrix = np.zeros((len(graph.index),) * 2)
    for label, row in enumerate(zip(graph.index.tolist(), graph.weight.tolist(), graph.used.tolist(), strict=True)):
        for other, weight, used in zip(*row, strict=True):
            if used:
                matrix[label, other] = weight
    return matrix
