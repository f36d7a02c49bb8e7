# The components runtime, fleet and development. The file of a shared library has its SONAME as its name. The only symbolic link is
# the one for the linker (libgart.so), in the component development.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS gart gart_cpu EXPORT gart
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS gart_fleet EXPORT gart
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT fleet NAMELINK_COMPONENT development)
if(TARGET gart_mpi)  # its own component, because it needs MPI
  install(TARGETS gart_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi NAMELINK_SKIP)
endif()
install(TARGETS gart_generate EXPORT gart
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS gart_static gart_fleet_static gart_generate_static EXPORT gart ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/gart DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(gart_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/gart)
string(TOUPPER "${CMAKE_BUILD_TYPE}" gart_configuration)
if(NOT gart_configuration)
  set(gart_configuration NOCONFIG)
endif()
configure_package_config_file(package/gartConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/gartConfig.cmake INSTALL_DESTINATION ${gart_cmake})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/gartConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT gart NAMESPACE gart:: FILE gartTargets.cmake DESTINATION ${gart_cmake} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/gartConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/gartConfigVersion.cmake
        DESTINATION ${gart_cmake} COMPONENT development)

# pkg-config derives the prefix from the path of this file.
file(RELATIVE_PATH gart_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(name gart gart_cpu gart_fleet gart_generate gart_static gart_fleet_static gart_generate_static)
  configure_file(package/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()
