"""`make reliability`: all trials for so many minutes, a table at the end, and reliability/results.json.

python -m reliability --minutes 60
python -m reliability --docs      # puts the table of results.json into docs/reliability.md
"""

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reliability import endurance, kills, mutations
from reliability.processes import ROOT

RESULTS = ROOT / "reliability/results.json"
PAGE = ROOT / "docs/reliability.md"
START, END = "<!-- table of python -m reliability -->", "<!-- end of the table -->"
_SHARES = {"kills": 0.4, "mutations": 0.35}  # of the time; long runs and large sets take the rest


def run_all(minutes: float, seed: int) -> dict[str, Any]:
    """The rows of all trials. In an hour there is time for 1,000 epochs and a million images; in less, for fewer."""
    began, scale = time.monotonic(), min(1.0, minutes / 60)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        long = endurance.flat_run(root / "long", max(20, round(1000 * scale)))
        _show(endurance.summary(long, None))
        large = endurance.many_images(root / "large", max(1000, round(1_000_000 * scale)))
        _show(endurance.summary(None, large))
        rows = endurance.summary(long, large)
        left = 60 * minutes - (time.monotonic() - began)
        part = max(60.0, left * _SHARES["kills"] / sum(_SHARES.values()))
        # More than there is time for, in the proportion of 200 to 60 to 20.
        wanted = list(kills.wanted_trials({"random": 2000, "chosen": 600, "full": 200}))
        wanted.sort(key=lambda which: which[1] / {"random": 200, "chosen": 60, "full": 20}[which[0]])
        rows += kills.summary(kills.run_trials(kills.Workshop(root / "kills", seed=seed), wanted, part))
        part = max(60.0, 60 * minutes - (time.monotonic() - began))
        (root / "mutations").mkdir()
        rows += mutations.summary(mutations.run_cases(root / "mutations", seed, 10_000_000, part))
    about = {"python": platform.python_version(), "system": platform.system(), "seed": seed}
    return about | {"minutes": round((time.monotonic() - began) / 60), "rows": rows, "long": long, "large": large}


def table(results: dict[str, Any]) -> str:
    """The rows as a Markdown table."""
    lines = ["| fault | tried | lost |", "| --- | ---: | ---: |"]
    lines += [f"| {row['fault']} | {row['tried']:,} | {row['lost']:,} |" for row in results["rows"]]
    return "\n".join(lines)


def fill_page(results: dict[str, Any]) -> None:
    """Puts the table into docs/reliability.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    after = rest.partition(END)[2]
    said = f"`make reliability MINUTES={results['minutes']}`, seed {results['seed']}, Python {results['python']}:"
    PAGE.write_text(f"{before}{START}\n{said}\n\n{table(results)}\n{END}{after}", encoding="utf-8")


def _show(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        print(f"{row['fault']}: {row['lost']} lost", flush=True)


def main() -> int:
    """Exit code 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true", help="only put the last results into the page")
    given = parser.parse_args()
    if given.docs:
        fill_page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return 0
    results = run_all(given.minutes, given.seed)
    RESULTS.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(table(results))
    lost = sum(row["lost"] for row in results["rows"])
    print(f"{lost} lost" if lost else "nothing lost", f"(all numbers: {RESULTS})")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
