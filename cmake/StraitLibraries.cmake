# The outside libraries, found once. tools/deps installs the packages that hold them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(EXPAT REQUIRED expat)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(CYAML REQUIRED IMPORTED_TARGET libcyaml)
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(CBC REQUIRED cbc)
find_library(STRAIT_CBC NAMES CbcSolver HINTS ${CBC_LIBRARY_DIRS} REQUIRED)
find_library(STRAIT_CLP NAMES Clp HINTS ${CBC_LIBRARY_DIRS} REQUIRED)
find_library(STRAIT_OPENBLAS NAMES openblas HINTS ${OPENBLAS_LIBRARY_DIRS} REQUIRED)

# Nobody is linked with solvers and linear algebra: they are loaded by these names when they are
# first needed (base/dynlib.h).
foreach(library CBC CLP OPENBLAS)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${STRAIT_${library}}
        OUTPUT_VARIABLE header OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    if(NOT header MATCHES "SONAME +([^ \n]+)")
        message(FATAL_ERROR "${STRAIT_${library}} is not a shared library")
    endif()
    set(STRAIT_${library}_SONAME ${CMAKE_MATCH_1})
endforeach()

# Whoever reads no networks is not linked with expat.
find_library(STRAIT_EXPAT NAMES expat HINTS ${EXPAT_LIBRARY_DIRS} REQUIRED)
set(STRAIT_EXPAT_IF_USED "-Wl,--push-state,--as-needed,${STRAIT_EXPAT},--pop-state")
find_package(OpenSSL 3.0 REQUIRED)
if(BUILD_TESTING)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    find_program(STRAIT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
    if(NOT STRAIT_PYTHON)
        find_program(STRAIT_PYTHON NAMES python3 REQUIRED)
    endif()
endif()
