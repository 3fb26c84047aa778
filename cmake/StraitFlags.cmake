# Compiler flags of every Strait target, gathered in the interface library strait_flags.

set(STRAIT_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (empty: none)")
option(STRAIT_COVERAGE "Instrument for gcov" OFF)
option(STRAIT_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(STRAIT_WERROR "Warnings are errors" ON)

add_library(strait_flags INTERFACE)
target_include_directories(strait_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(strait_flags INTERFACE
    _GNU_SOURCE STRAIT_VERSION="${PROJECT_VERSION}")
target_compile_options(strait_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
    -Wvla -Wformat=2 -Wundef -Wcast-align -Wimplicit-fallthrough
    $<$<BOOL:${STRAIT_WERROR}>:-Werror>
    # Sums must be the same bits on every compiler: no fused multiply-add behind our back.
    -ffp-contract=off -fno-math-errno
    -fvisibility=hidden -fno-omit-frame-pointer)

# Hardening. Clang 14 wants a second flag before it zeroes automatic variables.
target_compile_options(strait_flags INTERFACE
    -fstack-protector-strong -fstack-clash-protection -fcf-protection=full
    -ftrivial-auto-var-init=zero)
if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 16)
    target_compile_options(strait_flags INTERFACE
        -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
endif()
target_link_options(strait_flags INTERFACE
    -Wl,-z,relro,-z,now,-z,noexecstack $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)

if(STRAIT_SANITIZE)
    target_compile_options(strait_flags INTERFACE
        -fsanitize=${STRAIT_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(strait_flags INTERFACE -fsanitize=${STRAIT_SANITIZE})
else()
    # The fortified string functions hide overflows from the sanitizers, and need optimisation.
    target_compile_options(strait_flags INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE$<SEMICOLON>-D_FORTIFY_SOURCE=3>)
endif()
if(STRAIT_COVERAGE)
    target_compile_options(strait_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(strait_flags INTERFACE --coverage)
endif()
if(STRAIT_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "STRAIT_FUZZ needs clang: configure with the preset 'fuzz'")
    endif()
    target_compile_options(strait_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
