# SPDX-License-Identifier: Apache-2.0

# What the libraries link. Used by the build and, installed, by optincConfig.cmake.

# Looks for a package; where it is absent, adds the Debian package that has it to optinc_missing.
macro(optinc_dependency debian_package package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND optinc_missing ${debian_package})
  endif()
endmacro()

set(optinc_missing "")
optinc_dependency(libeigen3-dev Eigen3 3.4 NO_MODULE)
optinc_dependency(libfmt-dev fmt 9)
optinc_dependency(libhwy-dev hwy 1.0)
optinc_dependency(nlohmann-json3-dev nlohmann_json 3.11)
optinc_dependency(libtomlplusplus-dev tomlplusplus)
optinc_dependency(libcli11-dev CLI11 2.1)
optinc_dependency(libssl-dev OpenSSL COMPONENTS Crypto)
optinc_dependency(build-essential Threads)
optinc_dependency(libhdf5-dev HDF5 1.10 COMPONENTS C)
optinc_dependency(libboost-dev Boost 1.74)
