"""Made-up cells and references of a comparison, by hand and by Hypothesis."""

from hypothesis import strategies as st

from trilabel.compare.results import CellResult, Reference

SHARES = {"few": 0.01, "some": 0.1, "keep-share=0.01": 0.01, "keep-share=0.1": 0.1, "all": 1.0}


def cell(row: str, labels: str, seed: int, value: float | None, **more: object) -> CellResult:
    """A cell with this mAP, and fields that do not matter."""
    share = SHARES.get(labels, 0.05)
    given = {"metrics": {"mAP": value}, "known": round(1000 * share), "known_share": share, "chosen": {}} | more
    command = f"trilabel train --seed {seed}"
    return CellResult(
        row=row, labels=labels, seed=seed, validation=0.5, epoch=3, epochs=9, seconds=10.0 + seed, command=command,
        **given,  # type: ignore[arg-type]
    )  # fmt: skip


names = st.text(st.sampled_from("ab ,;\"'|\\_%&#{}$~^<>[]*`-+=.)(1!\n\t±Δ−…—é文"), min_size=1, max_size=9).filter(
    str.strip
)
values = st.none() | st.floats(0, 1) | st.just(float("nan"))
some_cells = st.lists(
    st.builds(cell, names, st.sampled_from([*SHARES, "a|b"]) | names, st.integers(0, 3), values), max_size=8
)
some_references = st.lists(
    st.builds(
        Reference,
        row=names,
        labels=st.sampled_from([*SHARES, "a|b"]),
        metric=st.just("mAP"),
        value=st.floats(0, 100),
        source=names,
        note=names | st.just(""),
    ),
    max_size=4,
)


def many(rows: int, settings: int, seeds: int) -> list[CellResult]:
    """Cells of rows with long names."""
    return [
        cell(f"a-method-with-a-long-name-{row}", f"keep-share=0.{number}", seed, 0.5, known_share=number / 10)
        for row in range(rows)
        for number in range(1, settings + 1)
        for seed in range(seeds)
    ]
