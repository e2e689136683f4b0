# SPDX-License-Identifier: Apache-2.0

# Generates build_info.hpp; target optinc::build_info gives its include directory.
set(OPTINC_COMMIT "unknown")
find_package(Git QUIET)
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE git_output OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET RESULT_VARIABLE git_result)
  if(git_result EQUAL 0)
    set(OPTINC_COMMIT ${git_output})
  endif()
  # A new commit or checkout adds to this log.
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE git_output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  cmake_path(ABSOLUTE_PATH git_output BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(EXISTS ${git_output})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${git_output})
  endif()
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}} -ffp-contract=off"
       OPTINC_COMPILER_FLAGS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/build_info.hpp.in
               ${PROJECT_BINARY_DIR}/generated/build_info.hpp @ONLY ESCAPE_QUOTES)
add_library(optinc_build_info INTERFACE)
add_library(optinc::build_info ALIAS optinc_build_info)
target_include_directories(optinc_build_info INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
