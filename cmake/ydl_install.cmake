# What `make install` puts where: programs, the further names of ydl, manual pages, completions.
# Pages and completions are the programs' own words, so they are printed by those just built. The
# completions of all names are in one file, which bash and fish look for under each of them.
include(GNUInstallDirs)
install(TARGETS ydl ydl-node ydl-native)
install(CODE "set(FRONTS ${YDL_FRONTS})")
install(CODE "set(BUILT \"$<TARGET_FILE_DIR:ydl>\")")
install(CODE "set(BIN \"${CMAKE_INSTALL_BINDIR}\")")
install(CODE "set(MAN \"${CMAKE_INSTALL_MANDIR}\")")
install(CODE "set(SHARE \"${CMAKE_INSTALL_DATADIR}\")")
install(CODE [[
    set(ROOT "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")

    function(print_to FILE)
        cmake_path(GET FILE PARENT_PATH DIR)
        file(MAKE_DIRECTORY "${DIR}")
        execute_process(COMMAND ${ARGN} OUTPUT_FILE "${FILE}" COMMAND_ERROR_IS_FATAL ANY)
        message(STATUS "Installing: ${FILE}")
    endfunction()

    print_to("${ROOT}/${SHARE}/bash-completion/completions/ydl" "${BUILT}/ydl" completion bash)
    print_to("${ROOT}/${SHARE}/zsh/site-functions/_ydl" "${BUILT}/ydl" completion zsh)
    print_to("${ROOT}/${SHARE}/fish/vendor_completions.d/ydl.fish" "${BUILT}/ydl" completion fish)
    foreach(FRONT ${FRONTS})
        file(CREATE_LINK ydl "${ROOT}/${BIN}/${FRONT}" SYMBOLIC)
        file(CREATE_LINK ydl "${ROOT}/${SHARE}/bash-completion/completions/${FRONT}" SYMBOLIC)
        file(CREATE_LINK ydl.fish "${ROOT}/${SHARE}/fish/vendor_completions.d/${FRONT}.fish" SYMBOLIC)
    endforeach()

    set(PAGES "${BUILT}/../man")
    foreach(PROGRAM ydl ydl-node ydl-native)
        execute_process(COMMAND "${BUILT}/${PROGRAM}" help --man-dir "${PAGES}"
            COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    foreach(SECTION 1 5)
        file(GLOB FOUND "${PAGES}/*.${SECTION}")
        file(INSTALL ${FOUND} DESTINATION "${CMAKE_INSTALL_PREFIX}/${MAN}/man${SECTION}")
    endforeach()
]])
