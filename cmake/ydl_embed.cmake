# cmake -DFROM=DIR -DNAMES=a,b -DINTO=x.c -DHEADER=x.h -DTYPE=NAME -DTABLE=NAME -P ydl_embed.cmake
#   A C file with the bytes of these files, in a table of the struct that the header declares.
string(REPLACE "," ";" NAMES "${NAMES}")
set(DATA "")
set(ROWS "")
set(N 0)
foreach(NAME ${NAMES})
    file(READ ${FROM}/${NAME} HEX_TEXT HEX)
    string(REGEX REPLACE "(..)" "0x\\1," BYTES "${HEX_TEXT}")
    string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n"
           BYTES "${BYTES}")
    string(APPEND DATA "static const unsigned char data_${N}[] = {\n${BYTES}0x00\n};\n")
    string(APPEND ROWS "    { \"${NAME}\", data_${N}, sizeof(data_${N}) - 1 },\n")
    math(EXPR N "${N} + 1")
endforeach()
file(WRITE ${INTO} "#include \"${HEADER}\"\n\n${DATA}\nconst struct ${TYPE} ${TABLE}[] = {\n"
     "${ROWS}    { NULL, NULL, 0 },\n};\n")
