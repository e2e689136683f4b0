# SPDX-License-Identifier: Apache-2.0
"""Rules that the source tree keeps. Each takes the root and returns a list of problems."""

import re

# A folder includes itself and those before it.
LAYERS = ["devices", "noise", "solver", "cuda", "apps"]
SOURCE_SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh"}
GENERATED_HEADERS = {"build_info.hpp"}
# Scripts count as source as far as the licence line goes.
LICENSED_SUFFIXES = SOURCE_SUFFIXES | {".py", ".sh", ".cmake", ".in"}
SPDX_LINE = "SPDX-License-Identifier: Apache-2.0"

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
CUDA_WORD = re.compile(r"__CUDA\w*|__NVCC__|__(?:global|device|host|shared)__|\w*HAVE_CUDA\w*"
                       r"|OPTINC_(?:ENABLE|WITH|USE)_CUDA|cuda_runtime")


def files_under(root, folders, suffixes):
    """Files in these folders of root, sorted."""
    return sorted(path for folder in folders for path in (root / folder).rglob("*")
                  if path.suffix in suffixes and path.is_file())


def include_directions(root):
    """devices <- noise <- solver <- cuda <- apps, and nothing of ours includes tests."""
    problems = []
    for path in files_under(root, LAYERS, SOURCE_SUFFIXES):
        layer = LAYERS.index(path.relative_to(root).parts[0])
        for quote, target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            folder = target.split("/")[0]
            where = f"{path.relative_to(root)}: includes {target}"
            if folder in LAYERS:
                if LAYERS.index(folder) > layer:
                    problems.append(f"{where} from a higher layer")
            elif quote == '"' and target not in GENERATED_HEADERS:
                problems.append(f"{where} (our includes start with a layer's folder)")
    return problems


def cuda_words(root):
    """Only cuda/ knows whether CUDA is there."""
    problems = []
    for path in files_under(root, [layer for layer in LAYERS if layer != "cuda"], SOURCE_SUFFIXES):
        for word in CUDA_WORD.findall(path.read_text(encoding="utf-8")):
            problems.append(f"{path.relative_to(root)}: {word} outside cuda/")
    return problems


def licence_lines(root):
    """The licence is in the first line, or in the second after #!."""
    folders = LAYERS + ["tests", "cmake", "scripts", "data", ".ci"]
    paths = files_under(root, folders, LICENSED_SUFFIXES)
    # Other tests make and remove folders in build/ meanwhile: it is not entered.
    paths += [path for folder in root.iterdir() if folder.is_dir() and folder.name != "build"
              for path in folder.rglob("CMakeLists.txt")]
    paths += root.glob("CMakeLists.txt")
    problems = []
    for path in paths + [root / ".ci" / "run"]:
        lines = path.read_text(encoding="utf-8").splitlines()[:2]
        shown = lines[1:] if lines and lines[0].startswith("#!") else lines[:1]
        if not shown or SPDX_LINE not in shown[0]:
            problems.append(f"{path.relative_to(root)}: no SPDX line at the top")
    return problems


def listed_sources(root):
    """Every .cpp and .cu is named in the CMakeLists.txt of its folder or of one above it."""
    problems = []
    for path in files_under(root, LAYERS + ["tests"], {".cpp", ".cu"}):
        if not any(_names(parent / "CMakeLists.txt", path.relative_to(parent))
                   for parent in path.parents if parent.is_relative_to(root)):
            problems.append(f"{path.relative_to(root)}: not in a CMakeLists.txt")
    return problems


def _names(cmake_lists, relative_path):
    if not cmake_lists.is_file():
        return False
    lines = cmake_lists.read_text(encoding="utf-8").splitlines()
    words = {word for line in lines for word in re.split(r"[\s()]+", line.split("#")[0])}
    return relative_path.as_posix() in words


RULES = [include_directions, cuda_words, licence_lines, listed_sources]
