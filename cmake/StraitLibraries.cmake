# The outside libraries, found once. tools/deps installs the packages that hold them.

find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(LIBUV REQUIRED IMPORTED_TARGET libuv)
find_package(OpenSSL 3.0 REQUIRED)
if(BUILD_TESTING)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
    find_program(STRAIT_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
    if(NOT STRAIT_PYTHON)
        find_program(STRAIT_PYTHON NAMES python3 REQUIRED)
    endif()
endif()
