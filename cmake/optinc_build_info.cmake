# SPDX-License-Identifier: Apache-2.0

# Generates build_info.hpp; target optinc_build_info gives its include directory.
find_package(Git QUIET)
set(OPTINC_COMMIT "unknown")
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE OPTINC_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE git_result)
  if(NOT git_result EQUAL 0)
    set(OPTINC_COMMIT "unknown")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/build_info.hpp.in
               ${PROJECT_BINARY_DIR}/generated/build_info.hpp @ONLY)
add_library(optinc_build_info INTERFACE)
target_include_directories(optinc_build_info INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
