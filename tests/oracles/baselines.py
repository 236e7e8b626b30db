"""Heads of the baselines, number by number in plain Python."""

import math


def class_graph(dense, threshold, neighbor_weight):
    """dense: rows of +1/−1/0. The graph of ML-GCN, before and after the normalization being one list of rows."""
    classes = range(len(dense[0]))
    graph = [[0.0 for _ in classes] for _ in classes]
    for i in classes:
        having = [row for row in dense if row[i] == 1]
        near = []
        for j in classes:
            known = [row[j] for row in having if row[j] != 0]
            if j != i and 1 in known and known.count(1) / len(known) >= threshold:
                near.append(j)
        for j in near:
            graph[i][j] = neighbor_weight / len(near)
        graph[i][i] = 1 - neighbor_weight
    sums = [sum(row) for row in graph]
    return [[graph[i][j] / math.sqrt(sums[i] * sums[j]) for j in classes] for i in classes]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def reporting_loss(present, if_present, if_absent, labels):
    """Latent noise: the mean over labels, each given by its three logits."""
    total, count = 0.0, 0
    for rows in zip(present, if_present, if_absent, labels, strict=True):
        for x, a, b, z in zip(*rows, strict=True):
            v, r1, r0 = sigmoid(x), sigmoid(a), sigmoid(b)
            if z > 0:
                probability = r1 * v + r0 * (1 - v)
            elif z < 0:
                probability = (1 - v) * (1 - r0)
            else:
                probability = (1 - r1) * v + (1 - r0) * (1 - v)
            total -= math.log(probability)
            count += 1
    return total / count


def list_of(signs, order, steps):
    """(what a label RNN is to name of an image, in order, and the end, which is the number of classes; cut off)."""
    return ([c for c in order if signs[c] > 0] + [len(signs)])[:steps]


class LabelRnn:
    """A label RNN with the weights of a head, an image at a time."""

    def __init__(self, head):
        self.vectors = head.vectors.weight.tolist()
        self.gates = head.gates.weight.tolist(), head.gates.bias.tolist()
        self.of_image = head.of_image.weight.tolist(), head.of_image.bias.tolist()
        self.of_output = head.of_output.weight.tolist()
        self.hidden, self.steps, self.end = head.settings.hidden, head.steps, len(self.vectors) - 1

    def probabilities(self, features, named, output, memory):
        """(probability of each label and of the end after the labels named so far, output, memory)."""
        hidden = self.hidden
        before = named[-1] if named else self.end
        gates = linear(self.gates[0], self.vectors[before] + output, self.gates[1])
        write, keep, show = ([sigmoid(x) for x in gates[k * hidden : (k + 1) * hidden]] for k in range(3))
        content = [math.tanh(x) for x in gates[3 * hidden :]]
        memory = [k * m + w * c for k, m, w, c in zip(keep, memory, write, content, strict=True)]
        output = [s * math.tanh(m) for s, m in zip(show, memory, strict=True)]
        joint = zip(linear(self.of_output, output), linear(self.of_image[0], features, self.of_image[1]), strict=True)
        seen = [max(0.0, one + two) for one, two in joint]
        weights = [math.exp(x) for x in linear(self.vectors, seen)]
        left = [0.0 if c in named else weight for c, weight in enumerate(weights)]
        return [weight / sum(left) for weight in left], output, memory

    def scores(self, features):
        """A logit for each label: of the highest probability that it had, times that of not having ended before."""
        output, memory, named = [0.0] * self.hidden, [0.0] * self.hidden, []
        best, alive = [0.0] * self.end, 1.0
        for _ in range(self.steps):
            now, output, memory = self.probabilities(features, named, output, memory)
            best = [max(b, alive * p) for b, p in zip(best, now[:-1], strict=True)]
            alive *= 1 - now[-1]
            named.append(max(range(self.end), key=lambda c, now=now: now[c]))
        return [math.log(p) - math.log(1 - p) if p < 1 else math.inf for p in best]

    def cost(self, features, names):
        """−log of the probability of each name in turn."""
        output, memory, costs = [0.0] * self.hidden, [0.0] * self.hidden, []
        for step in range(len(names)):
            now, output, memory = self.probabilities(features, names[:step], output, memory)
            costs.append(-math.log(now[names[step]]))
        return costs


def linear(weight, values, bias=None):
    rows = [sum(w * x for w, x in zip(row, values, strict=True)) for row in weight]
    return rows if bias is None else [row + b for row, b in zip(rows, bias, strict=True)]
