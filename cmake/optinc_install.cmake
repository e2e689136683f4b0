# SPDX-License-Identifier: Apache-2.0

# Installs program, libraries, headers and data, and exports them for find_package(optinc).
include(CMakePackageConfigHelpers)
set(optinc_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/optinc)

install(TARGETS optinc)
install(TARGETS optinc_devices optinc_noise optinc_solver optinc_cuda optinc_cli
        EXPORT optincTargets)
install(EXPORT optincTargets NAMESPACE optinc:: DESTINATION ${optinc_package_dir})
install(DIRECTORY devices noise solver cuda
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/optinc FILES_MATCHING PATTERN "*.hpp")
install(FILES apps/cli.hpp apps/command.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/optinc/apps)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/optinc PATTERN "*.py" EXCLUDE)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(
  cmake/optincConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/optincConfig.cmake
  INSTALL_DESTINATION ${optinc_package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may break users.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/optincConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/optincConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/optincConfigVersion.cmake
              cmake/optinc_dependencies.cmake
        DESTINATION ${optinc_package_dir})
