#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts a gradient trace to the first elements of each of its tensors.

    python3 data/traces/truncate_trace.py SOURCE TARGET ELEMENTS_PER_TENSOR

Every tensor stays, in trace order; attributes are copied, the note tells of the cut.
"""

import sys

import h5py
import numpy as np


def truncate(source_path, target_path, limit):
    with h5py.File(source_path, "r") as source, h5py.File(target_path, "w") as target:
        for name, value in source.attrs.items():
            target.attrs[name] = value
        target.attrs["note"] = f"each tensor truncated to its first {limit} elements; float32"
        for name in source.attrs["tensors"]:
            name = name.decode()
            values = np.asarray(source["gradient"][name][:, :limit], dtype=np.float32)
            target.create_dataset(
                f"gradient/{name}",
                data=values,
                chunks=values.shape,
                compression="gzip",
                compression_opts=9,
                shuffle=True,
            )


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    truncate(sys.argv[1], sys.argv[2], int(sys.argv[3]))
