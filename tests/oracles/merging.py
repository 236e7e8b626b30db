"""Merging data sets the slow way: dictionaries of what each set says, image by image."""


def merged(sets, renames=None, conflict="unknown"):
    """{(path, class): sign} of labels settled; sets: {name: (paths, classes, rows of +1/−1/0)}."""
    said = {}
    for name, (paths, classes, rows) in sets.items():
        new = {**(renames or {}).get("", {}), **(renames or {}).get(name, {})}
        for path, row in zip(paths, rows, strict=True):
            groups = {}
            for cls, sign in zip(classes, row, strict=True):
                if new.get(cls, cls):
                    groups.setdefault(new.get(cls, cls), []).append(sign)
            for cls, signs in groups.items():
                sign = 1 if 1 in signs else -1 if set(signs) == {-1} else 0
                if sign:
                    said.setdefault((path, cls), []).append(sign)
    settled = {}
    for place, signs in said.items():
        agree = len(set(signs)) == 1
        sign = signs[0] if agree or conflict == "first" else signs[-1] if conflict == "last" else 0
        if sign:
            settled[place] = sign
    return settled, sum(len(set(signs)) > 1 for signs in said.values())
