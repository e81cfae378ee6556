# Compiler and linker options, on one INTERFACE target that every module uses.
add_library(ydl_flags INTERFACE)
target_compile_definitions(ydl_flags INTERFACE _GNU_SOURCE YDL_VERSION="${YDL_VERSION}")
target_include_directories(ydl_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/proto)
target_compile_options(ydl_flags INTERFACE
    -Wall -Wextra -Wformat=2 -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wvla -Wundef -Wwrite-strings -Wno-missing-field-initializers
    -fvisibility=hidden -fno-common -fstack-protector-strong)
# Same bytes wherever the tree is checked out, the generated code's too.
add_compile_options(
    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}/=build/)
# The programs only run after they are linked statically: nothing needs to be interposable.
target_link_options(ydl_flags INTERFACE
    -Wl,-z,relro,-z,now -Wl,--as-needed -Wl,--gc-sections)
target_compile_options(ydl_flags INTERFACE -ffunction-sections -fdata-sections)

if(YDL_WERROR)
    target_compile_options(ydl_flags INTERFACE -Werror)
endif()
if(YDL_SANITIZE)
    target_compile_options(ydl_flags INTERFACE
        -fsanitize=${YDL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(ydl_flags INTERFACE -fsanitize=${YDL_SANITIZE})
else()
    # Not with a sanitizer: clang links its run time statically, and glibc must find malloc there.
    target_link_options(ydl_flags INTERFACE -Wl,--exclude-libs,ALL)
    if(CMAKE_BUILD_TYPE MATCHES "^Rel")
        target_compile_definitions(ydl_flags INTERFACE _FORTIFY_SOURCE=2)
    endif()
endif()
if(YDL_FUZZ)
    target_compile_options(ydl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(YDL_COVERAGE)
    target_compile_options(ydl_flags INTERFACE --coverage)
    target_link_options(ydl_flags INTERFACE --coverage)
endif()
