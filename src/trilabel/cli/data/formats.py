"""`trilabel data formats`."""

from dataclasses import dataclass

from trilabel.cli.render import print_entries, print_json, settings_lines


@dataclass(frozen=True, kw_only=True)
class Formats:
    """Lists the formats that can be read and written, which labels are absent or unknown in each, and their options.

    Example: trilabel data formats
    """

    json: bool = False
    """Print everything as JSON."""

    def __call__(self) -> None:
        from trilabel.data.formats import describe_formats

        found = describe_formats()
        if self.json:
            return print_json(found)
        return print_entries(
            {
                f"{name} (read and written)" if entry["written"] else name: [
                    entry["summary"],
                    f"rule: {entry['rule']}",
                    *settings_lines(entry["options"], option="--read"),
                    *([] if entry["from"] == "trilabel" else [f"from: {entry['from']}"]),
                ]
                for name, entry in found.items()
            }
        )
