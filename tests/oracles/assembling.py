"""Labels of single statements the slow way, one image and class at a time."""


def labels(images, classes, entries, absent_in):
    """images × classes of +1/−1/0, and how many labels were stated both ways."""
    table, both = [], 0
    for row in range(images):
        table.append([])
        for column in range(classes):
            said = {sign for r, c, sign in entries if (r, c) == (row, column)}
            both += len(said) == 2
            unsaid = -1 if row in absent_in else 0
            table[-1].append(0 if len(said) == 2 else said.pop() if said else unsaid)
    return table, both
