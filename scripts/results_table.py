# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/results.md from summaries of data/sweeps/networks.toml and presets.toml.

results_table.py NETWORKS.summary.csv PRESETS.summary.csv PAGE.md: replaces what is between the
lines that mark each table.
"""
import csv
import pathlib
import sys

RATE = "element_error_rate_mean"
PHASE = "imperfections.phase.fabrication_sigma_rad"
COUPLER = "imperfections.coupler.sigma_rad"
PRESET = "imperfections.preset"
CALIBRATION = "network.calibration"


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


def preset_table(rows, trace, calibration):
    rows = [row for row in rows
            if trace in row["workload.trace"] and row[CALIBRATION] == calibration]
    presets = list(dict.fromkeys(row[PRESET] for row in rows))
    names = list(dict.fromkeys(name_of(row) for row in rows))
    cells = {(name_of(row), row[PRESET]): cell(row) for row in rows}
    lines = ["| network | " + " | ".join(f"`{preset}`" for preset in presets) + " |",
             "|---" * (len(presets) + 1) + "|"]
    lines += ["| " + " | ".join([name] + [cells[name, preset] for preset in presets]) + " |"
              for name in names]
    return "\n".join(lines)


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def replaced(text, label, lines):
    start, end = f"<!-- {label} -->\n", f"<!-- end {label} -->"
    head, rest = text.split(start, 1)
    return head + start + lines + "\n" + end + rest.split(end, 1)[1]


def main():
    networks, presets, page = read(sys.argv[1]), read(sys.argv[2]), pathlib.Path(sys.argv[3])
    text = page.read_text()
    for trace in ("resnet50_cifar100", "llama_wikitext2"):
        for label, axis in (("phase", PHASE), ("splitter", COUPLER)):
            text = replaced(text, f"{trace} {label}", table(networks, trace, axis))
        for calibration in ("none", "local"):
            text = replaced(text, f"{trace} presets {calibration}",
                            preset_table(presets, trace, calibration))
    page.write_text(text)


main()
