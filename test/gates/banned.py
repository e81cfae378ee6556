"""Calls that are not used, each with what to use instead."""

import re

from source import C_DIRS, Tree, blank, is_test, line_of

UNBOUNDED = "no bound on what it writes: use snprintf, str_printf or struct buf"
NO_ERRORS = "cannot report bad input: use str_to_i64"
STATIC = "keeps its result in static memory"
SHELL = "runs a shell: start the program itself"
NAMES = "needs NSS, which the static program has not: use loop/resolve.h"

BANNED = {
    "strcpy": UNBOUNDED, "strcat": UNBOUNDED, "stpcpy": UNBOUNDED, "sprintf": UNBOUNDED,
    "vsprintf": UNBOUNDED, "gets": UNBOUNDED,
    "strncpy": "may leave no NUL: use snprintf or memcpy",
    "strncat": "its bound is not the buffer's: use snprintf",
    "strtok": STATIC + ": use strs_split",
    "strerror": STATIC + ": use %m or err_code",
    "asctime": STATIC, "ctime": STATIC, "localtime": STATIC + ": use localtime_r",
    "gmtime": STATIC + ": use gmtime_r", "inet_ntoa": STATIC + ": use inet_ntop",
    "getpwnam": STATIC + ": use getpwnam_r", "getpwuid": STATIC + ": use getpwuid_r",
    "readdir_r": "too small a buffer is undefined: use readdir",
    "atoi": NO_ERRORS, "atol": NO_ERRORS, "atoll": NO_ERRORS, "atof": NO_ERRORS,
    "scanf": NO_ERRORS, "fscanf": NO_ERRORS, "sscanf": NO_ERRORS,
    "system": SHELL, "popen": SHELL,
    "rand": "guessable: use getrandom", "srand": "guessable: use getrandom",
    "random": "guessable: use getrandom", "srandom": "guessable: use getrandom",
    "alloca": "the stack has no room to check for: use the heap",
    "mktemp": "a race: use mkstemp", "tmpnam": "a race: use mkstemp", "tempnam": "a race",
    "gethostbyname": NAMES, "getaddrinfo": NAMES, "getnameinfo": NAMES,
    "vfork": "use loop/proc.h or posix_spawn",
}
# Good enough for bytes that a test wrote itself.
IN_TESTS = {"sscanf"}
# A call is a name and an opening parenthesis; `x.system(` and `x->rand(` are somebody's own.
CALL = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(BANNED) + r")\s*\(")


def check(tree: Tree):
    """One line per banned call outside comments and strings."""
    for path in tree.under(C_DIRS, ".c", ".h"):
        code = blank(tree.text(path))
        for m in CALL.finditer(code):
            if m.group(1) in IN_TESTS and is_test(path):
                continue
            yield f"{path}:{line_of(code, m.start())}: {m.group(1)}: {BANNED[m.group(1)]}"


SAMPLES = (
    ({"src/a.c": 'x("strcpy(a, b)"); /* system(3) */\n// rand()\nmy_strcpy(a); snprintf(a);\n'
                 "p->system(1); strtok_r(a); int atoi;\n",
      "src/a_test.c": "sscanf(a);\n"}, None),
    ({"src/a.c": "sscanf(a);\n"}, "use str_to_i64"),
    ({"src/a.c": "\n  strcpy (a, b);\n"}, "src/a.c:2: strcpy: no bound"),
    ({"src/a_test.c": "x = atoi(y);\n"}, "atoi: cannot report bad input"),
    ({"fuzz/a.c": "system(x);\n"}, "runs a shell"),
    ({"src/a.c": "if (x)return strerror(e);\n"}, "use %m"),
    ({"src/a.h": "static inline void f(void) { alloca(9); }\n"}, "use the heap"),
    ({"src/a.c": '"\\"" ; getaddrinfo(h)\n'}, "loop/resolve.h"),
)
