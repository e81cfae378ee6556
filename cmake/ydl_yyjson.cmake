# yyjson, the JSON library of the model server: two C files in the cache of tools/setup, which fetches
# them there once; a build after that needs no network. -DYDL_YYJSON=DIR names other ones.
set(YDL_YYJSON "" CACHE PATH "directory with yyjson.c and yyjson.h; empty: from tools/setup")
set(YYJSON_DIR ${YDL_YYJSON})
if(NOT YYJSON_DIR)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/yyjson.lock)
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/setup --sources
        OUTPUT_VARIABLE YYJSON_DIR OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE FAILED)
    if(FAILED)
        message(FATAL_ERROR "The C files of yyjson could not be fetched. Run tools/setup build where "
            "there is a network, or name a directory that has them with -DYDL_YYJSON=DIR.")
    endif()
endif()
add_library(dep_yyjson STATIC ${YYJSON_DIR}/yyjson.c)
target_include_directories(dep_yyjson SYSTEM PUBLIC ${YYJSON_DIR})
# Of all that it can do we read whole documents and write single values.
target_compile_definitions(dep_yyjson PUBLIC YYJSON_DISABLE_UTILS=1)
target_compile_options(dep_yyjson PRIVATE -w -O2 -ffunction-sections -fdata-sections
    -fvisibility=hidden -ffile-prefix-map=${YYJSON_DIR}/=yyjson/)
