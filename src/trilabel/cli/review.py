"""`trilabel review`."""

from dataclasses import dataclass, field
from pathlib import Path

from trilabel.cli.arguments import Broken, DataPath, UsageError, require_positive, require_run
from trilabel.cli.data_options import DataOptions, Reading, read_data
from trilabel.cli.render import print_json, print_line
from trilabel.errors import TrilabelError
from trilabel.log import log


@dataclass(frozen=True, kw_only=True)
class Review:
    """Opens a local web page where people confirm the labels that a run proposes.

    Example: trilabel review labels.csv --images photos --run runs/first --store answers.db
    """

    data: DataPath
    """A file or folder in any format that trilabel reads."""
    run: Path
    """The run folder; images that it has not scored yet are scored first."""
    store: Path
    """The file that keeps the answers, made if it is not there; a review goes on where it was."""
    questions: Path | None = None
    """A table of questions to ask (image,class,…), such as the audit of complete."""
    votes: int = 1
    """How many people are asked each question."""
    random_share: float = 0.1
    """Share of questions that are drawn at random, from which the page says how much of all is right."""
    host: str = "127.0.0.1"
    """The address to listen at; others than this machine reach it at 0.0.0.0, without encryption."""
    port: int | None = None
    """The port; none: the first free one from 8765 on."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the scoring, or is left out."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    json: bool = False
    """Print the link as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.review.addresses import is_loopback
        from trilabel.review.serving import ReviewOptions, open_proposals, require_web, serving

        self._check()
        require_web()
        dataset = read_data(self.data, self.reading.chosen())
        names = ("run", "store", "questions", "votes", "random_share", "host", "port", "device", "broken")
        options = ReviewOptions(**{name: getattr(self, name) for name in names})
        proposals = open_proposals(dataset, self.run, self.device, self.broken)
        with serving(dataset, proposals, options) as (link, serve):
            if not is_loopback(self.host):
                log.warning("whoever can read the network can read the link and the images: nothing is encrypted")
            if self.json:
                print_json({"link": link, "store": str(self.store)})
            else:
                print_line(f"open {link}", "(Ctrl-C ends it; answers are saved as they are given)")
            serve()

    def _check(self) -> None:
        require_positive(votes=self.votes)
        if not 0 <= self.random_share <= 0.5:
            raise UsageError(f"--random-share {self.random_share:g}: give a share from 0 to 0.5")
        require_run(self.run)
        if self.store.is_dir():
            raise TrilabelError(f"{self.store}: this is a folder; give the name of a file")
