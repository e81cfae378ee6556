# cmake -DFROM=DIR -DNAMES=a,b -DINTO=x.c -DHEADER=x.h {-DTYPE=NAME -DTABLE=NAME | -DTEXTS=c,d}
#       -P ydl_embed.cmake
#   A C file with the bytes of these files: in a table of the struct that the header declares, or
#   each as a text of its own, by these names.
string(REPLACE "," ";" NAMES "${NAMES}")
string(REPLACE "," ";" TEXTS "${TEXTS}")
set(DATA "")
set(ROWS "")
set(N 0)
foreach(NAME ${NAMES})
    file(READ ${FROM}/${NAME} HEX_TEXT HEX)
    string(REGEX REPLACE "(..)" "0x\\1," BYTES "${HEX_TEXT}")
    string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n"
           BYTES "${BYTES}")
    if(TEXTS)
        list(GET TEXTS ${N} DECLARED)
        string(PREPEND DECLARED "const char ")
    else()
        set(DECLARED "static const unsigned char data_${N}")
    endif()
    string(APPEND DATA "${DECLARED}[] = {\n${BYTES}0x00\n};\n")
    string(APPEND ROWS "    { \"${NAME}\", data_${N}, sizeof(data_${N}) - 1 },\n")
    math(EXPR N "${N} + 1")
endforeach()
if(NOT TEXTS)
    string(APPEND DATA "\nconst struct ${TYPE} ${TABLE}[] = {\n${ROWS}    { NULL, NULL, 0 },\n};\n")
endif()
file(WRITE ${INTO} "#include \"${HEADER}\"\n\n${DATA}")
