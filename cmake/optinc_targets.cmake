# SPDX-License-Identifier: Apache-2.0

# The parts of UndefinedBehaviorSanitizer that are off double the time to compile templates, and
# nearly all that they find is an error to AddressSanitizer as well.
set(optinc_sanitizers -fsanitize=address,undefined
  -fno-sanitize=null,alignment,object-size,pointer-overflow,vptr)

# Warnings and sanitizers, for our own code only; never exported. At -O3 GCC 12 takes
# "text" + std::string for a copy onto itself (its bug 105651).
add_library(optinc_flags INTERFACE)
target_compile_options(optinc_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wdouble-promotion -Wnon-virtual-dtor
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${OPTINC_WERROR}>:-Werror>
  $<$<BOOL:${OPTINC_FUZZ}>:-fsanitize=fuzzer-no-link>
  $<$<BOOL:${OPTINC_SANITIZE}>:${optinc_sanitizers}>
  $<$<BOOL:${OPTINC_SANITIZE}>:-fno-sanitize-recover=all>
  $<$<BOOL:${OPTINC_SANITIZE}>:-fno-omit-frame-pointer>)
target_link_options(optinc_flags INTERFACE
  $<$<BOOL:${OPTINC_SANITIZE}>:-fsanitize=address,undefined>)

# Sets what every library of ours has in common.
function(optinc_library target)
  add_library(optinc::${target} ALIAS optinc_${target})
  set_target_properties(optinc_${target} PROPERTIES EXPORT_NAME ${target})
  get_target_property(kind optinc_${target} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PUBLIC)
    target_link_libraries(optinc_${target} PRIVATE $<BUILD_INTERFACE:optinc_flags>)
  endif()
  target_compile_features(optinc_${target} ${scope} cxx_std_20)
  # Results must not depend on whether the compiler fuses multiply and add.
  target_compile_options(optinc_${target} ${scope} -ffp-contract=off)
  target_include_directories(optinc_${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/optinc>)
endfunction()
