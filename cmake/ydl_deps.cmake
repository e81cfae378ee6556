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
target_link_libraries(dep_uv INTERFACE pthread dl rt)
target_link_libraries(dep_crypto INTERFACE pthread dl)

find_program(PROTOC_C protoc-c REQUIRED)
find_path(PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.proto REQUIRED)
find_library(CMOCKA_LIBRARY cmocka REQUIRED)
