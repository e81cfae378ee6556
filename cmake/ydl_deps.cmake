# Third-party libraries, as static archives named by path: the programs need glibc and nothing else.
function(ydl_archive NAME FILE)
    find_library(YDL_${NAME}_ARCHIVE NAMES ${FILE} REQUIRED)
    add_library(dep_${NAME} STATIC IMPORTED GLOBAL)
    set_target_properties(dep_${NAME} PROPERTIES IMPORTED_LOCATION ${YDL_${NAME}_ARCHIVE})
endfunction()

ydl_archive(uv libuv_a.a)
ydl_archive(protobuf libprotobuf-c.a)
ydl_archive(crypto libcrypto.a)
ydl_archive(jansson libjansson.a)
ydl_archive(expat libexpat.a)
ydl_archive(cares libcares.a)
ydl_archive(ssl libssl.a)
ydl_archive(yaml libyaml.a)
ydl_archive(nghttp2 libnghttp2.a)
ydl_archive(z libz.a)
ydl_archive(zookeeper libzookeeper_st.a)
target_link_libraries(dep_uv INTERFACE pthread dl rt)
target_link_libraries(dep_crypto INTERFACE pthread dl)
target_link_libraries(dep_ssl INTERFACE dep_crypto)

# llhttp comes as C files, which Debian installs and we compile as they are.
find_path(LLHTTP_SOURCES llhttp.c PATHS /usr/share/llhttp REQUIRED)
find_path(LLHTTP_INCLUDE llhttp/llhttp.h PATHS /usr/share/include REQUIRED)
add_library(dep_llhttp STATIC ${LLHTTP_SOURCES}/api.c ${LLHTTP_SOURCES}/http.c
            ${LLHTTP_SOURCES}/llhttp.c)
target_include_directories(dep_llhttp PUBLIC ${LLHTTP_INCLUDE} ${LLHTTP_INCLUDE}/llhttp)
target_compile_options(dep_llhttp PRIVATE -w -O2 -ffunction-sections -fdata-sections
                       -fvisibility=hidden -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

find_program(PROTOC_C protoc-c REQUIRED)
find_path(PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.proto REQUIRED)
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
