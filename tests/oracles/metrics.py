"""The metrics as their definitions read, one image and one class at a time. Labels are +1/−1/0 and 0 is skipped."""

from math import nan


def known_of_class(scores, labels, c):
    return [(float(scores[i][c]), int(labels[i][c])) for i in range(len(scores)) if labels[i][c] != 0]


def precision_recall_curve(pairs):
    """(precision, recall) when everything scored at least t counts as present, for each score t, highest first."""
    positives = sum(sign > 0 for _, sign in pairs)
    curve = []
    for t in sorted({score for score, _ in pairs}, reverse=True):
        chosen = [sign for score, sign in pairs if score >= t]
        hits = sum(sign > 0 for sign in chosen)
        curve.append((hits / len(chosen), hits / positives))
    return curve


def average_precision(scores, labels, interpolated=False):
    result = []
    for c in range(len(scores[0])):
        pairs = known_of_class(scores, labels, c)
        if len({sign for _, sign in pairs}) < 2:
            result.append(nan)
            continue
        curve, area, recall_before = precision_recall_curve(pairs), 0.0, 0.0
        for step, (precision, recall) in enumerate(curve):
            if interpolated:
                precision = max(p for p, _ in curve[step:])
            area += precision * (recall - recall_before)
            recall_before = recall
        result.append(area)
    return result


def at_threshold(scores, threshold):
    return [[float(s) >= threshold for s in row] for row in scores]


def at_top(scores, k):
    rows = []
    for row in scores:
        best = sorted(range(len(row)), key=lambda c: (-float(row[c]), c))[:k]
        rows.append([c in best for c in range(len(row))])
    return rows


def _f1(precision, recall):
    if precision != precision or recall != recall:
        return nan
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _mean(values):
    return sum(values) / len(values) if values else nan


def precision_recall_f1(predicted, labels):
    precisions, recalls, f1s, all_hits, all_chosen, all_present = [], [], [], 0, 0, 0
    for c in range(len(labels[0])):
        known = [i for i in range(len(labels)) if labels[i][c] != 0]
        chosen = sum(predicted[i][c] for i in known)
        present = sum(labels[i][c] > 0 for i in known)
        hits = sum(predicted[i][c] and labels[i][c] > 0 for i in known)
        all_hits, all_chosen, all_present = all_hits + hits, all_chosen + chosen, all_present + present
        if present:
            recalls.append(hits / present)
        if present and present < len(known):
            precisions.append(hits / chosen if chosen else 0.0)
            f1s.append(_f1(precisions[-1], recalls[-1]))
    cp, cr = _mean(precisions), _mean(recalls)
    judged = all_present and _has_negative(labels)
    op = (all_hits / all_chosen if all_chosen else 0.0) if judged else nan
    recall = all_hits / all_present if all_present else nan
    return {"CP": cp, "CR": cr, "CF1": _f1(cp, cr), "OP": op, "OR": recall, "OF1": _f1(op, recall)}, _mean(f1s)


def exact_match(predicted, labels):
    right = []
    for guess, row in zip(predicted, labels, strict=True):
        known = [c for c in range(len(row)) if row[c] != 0]
        if known:
            right.append(all(guess[c] == (row[c] > 0) for c in known))
    return _mean(right) if _has_negative(labels) else nan


def _has_negative(labels):
    return any(sign < 0 for row in labels for sign in row)


def at_k(scores, labels, k):
    precisions, recalls = [], []
    for guess, row in zip(at_top(scores, k), labels, strict=True):
        chosen = [c for c in range(len(row)) if guess[c] and row[c] != 0]
        present = [c for c in range(len(row)) if row[c] > 0]
        hits = [c for c in chosen if c in present]
        if chosen:
            precisions.append(len(hits) / len(chosen))
        if present:
            recalls.append(len(hits) / len(present))
    return _mean(precisions) if _has_negative(labels) else nan, _mean(recalls)


def pointing_game(maps, labels, boxes):
    """boxes: {(image, class): [(x0, y0, x1, y1), …]}"""
    hits = []
    for (i, c), corners in boxes.items():
        if labels[i][c] <= 0:
            continue
        height, width = len(maps[i][c]), len(maps[i][c][0])
        cells = [(y, x) for y in range(height) for x in range(width)]
        y, x = max(cells, key=lambda cell: maps[i][c][cell[0]][cell[1]])
        x, y = (x + 0.5) / width, (y + 0.5) / height
        hits.append(any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in corners))
    return _mean(hits)
