# SPDX-License-Identifier: Apache-2.0

# Everything the build needs, with one message for all that is missing.
include(optinc_dependencies)
find_path(OPTINC_RANDOM123_INCLUDE_DIR Random123/philox.h)
mark_as_advanced(OPTINC_RANDOM123_INCLUDE_DIR)
if(NOT OPTINC_RANDOM123_INCLUDE_DIR)
  list(APPEND optinc_missing librandom123-dev)
endif()
if(OPTINC_BUILD_TESTS)
  optinc_dependency(catch2 Catch2 2.13)
  optinc_dependency(python3 Python3 COMPONENTS Interpreter)
endif()
if(optinc_missing)
  list(JOIN optinc_missing " " optinc_missing_text)
  message(FATAL_ERROR
    "optinc: libraries are missing or too old (Debian packages: ${optinc_missing_text}). "
    "Install them with scripts/install_packages.sh, or: apt-get install ${optinc_missing_text}")
endif()
