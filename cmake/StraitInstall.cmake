# The shared library, and what developers get of it: header, pkg-config file, CMake package. The
# program links the modules as they are. Not for the fuzzers, whose runtime is not in libraries.

if(STRAIT_FUZZ)
    return()
endif()

add_library(strait_shared SHARED $<TARGET_OBJECTS:client>)
target_link_libraries(strait_shared PRIVATE client)
target_include_directories(strait_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(strait_map ${PROJECT_SOURCE_DIR}/src/client/strait.map)
target_link_options(strait_shared PRIVATE -Wl,--version-script=${strait_map})
if(NOT STRAIT_SANITIZE) # Their runtime is in the program, or preloaded.
    target_link_options(strait_shared PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(strait_shared PROPERTIES
    LINKER_LANGUAGE C OUTPUT_NAME strait EXPORT_NAME strait LINK_DEPENDS ${strait_map}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Paths in what is installed are relative, so the tree may be moved, and PREFIX be chosen late.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Strait)
file(RELATIVE_PATH STRAIT_PC_PREFIX /${pkgconfig_dir} /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/strait.pc.in ${CMAKE_BINARY_DIR}/strait.pc @ONLY)
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/StraitConfig.cmake.in
    ${CMAKE_BINARY_DIR}/StraitConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/StraitConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)

install(TARGETS strait_shared EXPORT StraitTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    NAMELINK_COMPONENT library)
install(FILES ${PROJECT_SOURCE_DIR}/include/strait.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/strait.pc DESTINATION ${pkgconfig_dir} COMPONENT library)
install(EXPORT StraitTargets NAMESPACE Strait:: DESTINATION ${package_dir} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/StraitConfig.cmake ${CMAKE_BINARY_DIR}/StraitConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT library)
