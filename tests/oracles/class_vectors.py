"""Word vectors of class names, with the whole file in memory."""


def read_vectors(text, classes, size):
    """A list of rows, or the name of the first class without a vector."""
    vectors = {}
    for line in text.splitlines():
        tokens = line.split()
        if len(tokens) > size:
            vectors.setdefault(plain(" ".join(tokens[:-size])), [float(token) for token in tokens[-size:]])
    rows = []
    for name in classes:
        words = [plain(name)] if plain(name) in vectors else plain(name).split()
        if any(word not in vectors for word in words):
            return name
        rows.append([sum(vectors[word][k] for word in words) / len(words) for k in range(size)])
    return rows


def plain(name):
    return " ".join(name.lower().replace("_", " ").split())
