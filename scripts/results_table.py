# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/results.md from a summary of data/sweeps/networks.toml.

results_table.py SUMMARY.csv PAGE.md: replaces what is between the lines that mark each table.
"""
import csv
import pathlib
import sys

RATE = "element_error_rate_mean"
PHASE = "imperfections.phase.fabrication_sigma_rad"
COUPLER = "imperfections.coupler.sigma_rad"


def name_of(row):
    network = pathlib.Path(row["network.file"]).stem.removesuffix("_4servers_8bits")
    mapping = row["network.mapping"]
    return f"`{network}`" if mapping == "as_trained" else f"`{network}`, {mapping}"


def cell(row):
    mean = float(row[RATE])
    if mean == 0:
        return f"0 (< {float(row['element_error_rate_ci_hi']):.1g})"
    low, high = float(row["element_error_rate_ci_lo"]), float(row["element_error_rate_ci_hi"])
    return f"{mean:.2g} ({low:.2g} .. {high:.2g})"


def table(rows, trace, axis):
    rows = [row for row in rows if trace in row["workload.trace"] and float(row[axis]) > 0]
    values = sorted({float(row[axis]) for row in rows})
    names = list(dict.fromkeys(name_of(row) for row in rows))
    cells = {(name_of(row), float(row[axis])): cell(row) for row in rows}
    lines = ["| network | " + " | ".join(f"{value:g} rad" for value in values) + " |",
             "|---" * (len(values) + 1) + "|"]
    lines += ["| " + " | ".join([name] + [cells[name, value] for value in values]) + " |"
              for name in names]
    return "\n".join(lines)


def main():
    summary, page = map(pathlib.Path, sys.argv[1:3])
    with summary.open(newline="") as file:
        rows = list(csv.DictReader(file))
    text = page.read_text()
    for trace in ("resnet50_cifar100", "llama_wikitext2"):
        for label, axis in (("phase", PHASE), ("splitter", COUPLER)):
            start, end = f"<!-- {trace} {label} -->\n", f"<!-- end {trace} {label} -->"
            head, rest = text.split(start, 1)
            text = head + start + table(rows, trace, axis) + "\n" + end + rest.split(end, 1)[1]
    page.write_text(text)


main()
